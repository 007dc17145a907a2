// Package fleet simulates the users of several organisations on one clock with
// a shared cache: what a scope that everyone shares saves, what an upgrade of
// the client costs, what users who exceed their plan's quota do to the cache,
// and how many calls are in flight at once.
//
// A fleet is a YAML file; Text("reference") explains every key. Load reads one,
// File.Generate makes its people and their sessions, and a Runner simulates them under
// each of its strategies, and once more for everything it is to be compared without:
//
//	file, err := fleet.Load("office", fleet.Inputs{})
//	people, err := file.Generate(ctx, 0)
//	runner := fleet.Runner{Registry: registry, Prices: prices}
//	result, err := runner.Simulate(ctx, people)
//
// Every session is a function of the fleet's seed, the name of its organisation,
// and the user's and the session's ordinals. Adding users, organisations or days
// leaves the sessions of the others as they are.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Runner simulates fleets. Registry and Prices must be set.
type Runner struct {
	Registry *strategies.Registry
	Prices   loop.Prices
	// Workers is the number of cores to use: on the sessions of users while they
	// are drawn, then on clocks. Each strategy and each comparison has one clock
	// for all sessions that may meet in a cache. 0 means one per core; the result
	// does not depend on it.
	Workers int
	Verify  bool // check the invariants at every call
	// Done, if not nil, is called with the number of sessions simulated so far and
	// their total. It must be safe for concurrent use.
	Done func(finished, total int)
}

// cell is one run of the fleet.
type cell struct {
	strategy *strategies.Strategy
	without  variant
	persons  []loop.Person
	rows     []results.Row
	meter    *meter
}

// Simulate simulates a population under the strategies of its fleet. If the context is
// cancelled, or something fails, it returns what is finished with the error: strategies
// with all their clocks, and comparisons that are finished too. A clock that stopped
// half-way does not count. The result is nil if no strategy is finished.
func (r *Runner) Simulate(ctx context.Context, p *Population) (*studies.Fleet, error) {
	cells, err := r.cells(p)
	if err != nil {
		return nil, err
	}
	at, err := p.file.pricesAt()
	if err != nil {
		return nil, fmt.Errorf("prices_at: %w", err)
	}
	err = r.pool(ctx, p, cells, at)
	done := finished(cells)
	if err == nil {
		return r.report(p, done), nil
	}
	err = fmt.Errorf("fleet %s: %w", p.file.Name, err)
	if len(done) == 0 {
		return nil, err
	}
	out := r.report(p, done)
	out.Notes = append(out.Notes, fmt.Sprintf("stopped early: %d of %d strategies are finished; "+
		"comparisons that are not are left out", len(out.Cells), len(p.file.Strategies)))
	return out, err
}

// report makes the result of a population from its runs, with the models that have
// no price.
func (r *Runner) report(p *Population, cells []cell) *studies.Fleet {
	out := p.report(cells)
	seen := map[string]bool{}
	for _, s := range p.Sessions {
		for _, model := range s.Models {
			if seen[model] {
				continue
			}
			seen[model] = true
			if _, err := r.Prices.Lookup(model, s.StartTime()); err != nil {
				out.Unpriced = append(out.Unpriced, model)
			}
		}
	}
	slices.Sort(out.Unpriced)
	return out
}

// finished returns the finished runs; a comparison only with the run that it is
// compared with.
func finished(cells []cell) []cell {
	var list []cell
	base := false
	for i := range cells {
		c := &cells[i]
		if c.without == "" {
			base = c.meter != nil
		}
		if base && c.meter != nil {
			list = append(list, *c)
		}
	}
	return list
}

// cells returns the runs to make, strategy by strategy, the fleet as it is first.
func (r *Runner) cells(p *Population) ([]cell, error) {
	var list []cell
	persons := map[variant][]loop.Person{}
	var errs []error
	fits := p.file.fits()
	for _, name := range p.file.Strategies {
		s, err := r.Registry.Strategy(name)
		if err == nil {
			err = fits(s) // a file may have been read without a registry
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, w := range p.variants() {
			if persons[w] == nil {
				persons[w] = p.persons(w)
			}
			rows := make([]results.Row, len(p.Sessions))
			list = append(list, cell{strategy: s, without: w, persons: persons[w], rows: rows})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", p.file.Name, err)
	}
	return list, nil
}

// variants returns the fleet as it is and without each thing it is compared
// without, if it has that.
func (p *Population) variants() []variant {
	f := p.file
	list := []variant{""}
	for _, name := range f.Compare {
		has := len(f.Upgrades) > 0
		switch name {
		case studies.WithoutGlobalScope:
			has = f.Client.GlobalScope
		case studies.WithoutOverage:
			has = slices.ContainsFunc(p.people, func(who person) bool { return len(who.overages) > 0 })
		}
		if has && !slices.Contains(list, variant(name)) {
			list = append(list, variant(name))
		}
	}
	return list
}

// job is a clock: sessions of a cell that may meet in the cache.
type job struct {
	cell     *cell
	sessions []int  // by index in the population
	meter    *meter // nil until it has been simulated
}

// meeting is where sessions may find what others wrote: the cache of a
// provider, and in it the part of an organisation, or −1 for everyone's.
type meeting struct {
	provider string
	org      int32
}

// jobs divides the runs into clocks, run by run and largest first. Sessions
// that cannot meet do not affect each other, so each meeting has its own clock:
// that suits a core's own memory better, and several clocks run at once.
func (p *Population) jobs(cells []cell) []job {
	var list []job
	for i := range cells {
		at, from := map[meeting]int{}, len(list)
		shared := p.shared(cells[i].without)
		for k := range p.Sessions {
			m := p.meeting(k, shared)
			j, ok := at[m]
			if !ok {
				j = len(list)
				at[m] = j
				list = append(list, job{cell: &cells[i]})
			}
			list[j].sessions = append(list[j].sessions, k)
		}
		slices.SortStableFunc(list[from:], func(a, b job) int { return len(b.sessions) - len(a.sessions) })
	}
	return list
}

// shared reports for each organisation whether a user's client marks anything for
// everyone.
func (p *Population) shared(without variant) []bool {
	list := make([]bool, len(p.file.Orgs))
	if !p.file.Client.GlobalScope || without == studies.WithoutGlobalScope {
		return list
	}
	for i := range p.people {
		who := &p.people[i]
		if who.provider() == client.ProviderFirstParty && !who.mcp {
			list[who.org] = true
		}
	}
	return list
}

// meeting returns where a session meets others.
func (p *Population) meeting(session int, shared []bool) meeting {
	who := &p.people[p.of[session].user]
	m := meeting{provider: who.provider(), org: who.org}
	if m.provider == client.ProviderFirstParty && shared[m.org] {
		m.org = -1
	}
	return m
}

// pool runs the clocks of all cells on the workers and combines their meters.
func (r *Runner) pool(ctx context.Context, p *Population, cells []cell, prices time.Time) error {
	jobs := p.jobs(cells)
	done := progress{total: len(cells) * len(p.Sessions), tell: r.Done}
	defer sum(jobs)
	return parallel.Do(ctx, parallel.Workers(r.Workers, len(jobs)), len(jobs), func(k int) error {
		err := r.run(ctx, p, &jobs[k], prices)
		if err == nil {
			done.add(len(jobs[k].sessions))
		}
		return err
	})
}

// sum combines the meters of the clocks of each run if all of them are
// finished.
func sum(jobs []job) {
	cut := map[*cell]bool{}
	for i := range jobs {
		cut[jobs[i].cell] = cut[jobs[i].cell] || jobs[i].meter == nil
	}
	for i := range jobs {
		switch c := jobs[i].cell; {
		case cut[c]:
		case c.meter == nil:
			c.meter = jobs[i].meter
		default:
			c.meter.add(jobs[i].meter)
		}
	}
}

// progress reports how many sessions have been simulated.
type progress struct {
	finished atomic.Int64
	total    int
	tell     func(finished, total int) // nil for nobody
}

// add counts so many sessions more.
func (p *progress) add(sessions int) {
	if n := p.finished.Add(int64(sessions)); p.tell != nil {
		p.tell(int(n), p.total)
	}
}

// run simulates the sessions of a clock.
func (r *Runner) run(ctx context.Context, p *Population, j *job, prices time.Time) error {
	sessions := make([]*traces.Session, len(j.sessions))
	all := make([]int, len(j.sessions))
	for i, k := range j.sessions {
		sessions[i], all[i] = p.Sessions[k], i
	}
	meter := newMeter(p, j.sessions)
	config := loop.Config{
		Overflow: loop.OverflowAnswer, // a session that ends early cannot be compared with its variants
		Strategy: j.cell.strategy, Summarizer: summarizer.Default(),
		Prices: r.Prices, PricesAt: prices, Seed: p.file.Seed, Window: p.file.Window, Verify: r.Verify,
		Server: func(traces.Cache) loop.Server {
			return &metered{Anthropic: promptcache.New(p.file.Server.cache()), meter: meter}
		},
		Person: func(i int, _ *traces.Session) loop.Person { return j.cell.persons[j.sessions[i]] },
	}
	runner := loop.Runner{Workers: 1, Cohorts: [][]int{all}}
	rows, err := runner.Run(ctx, sessions, []loop.Config{config})
	if err != nil {
		return err
	}
	for i, k := range j.sessions {
		j.cell.rows[k] = rows[0][i]
	}
	j.meter = meter
	return nil
}
