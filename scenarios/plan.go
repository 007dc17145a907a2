// Package scenarios turns what a person asks for into cells, runs them, and
// puts the rows together into a run that reports can show.
package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Plan is one run: strategies over sessions under one server, one summariser
// and one price table. Registry and Prices must be set; the rest has defaults.
type Plan struct {
	Registry   *strategies.Registry
	Prices     *costmodel.Table
	Strategies []string  // names; DefaultStrategies when empty
	PricesAt   time.Time // zero: each call at its own date
	Server     promptcache.Config
	Summarizer *summarizer.Stub // summarizer.Default when nil
	Seed       uint64
	Workers    int   // sessions simulated at once; 0 for one per core
	Window     int64 // context window, tokens; 0: as the session's client
	Verify     bool  // check the invariants at every call
	Strict     bool  // a model without a price is an error
	Version    string
	Done       func(finished, total int) // progress; safe for concurrent use
}

// DefaultStrategies are run when nothing else is asked for.
func DefaultStrategies() []string {
	return []string{results.StrategyRecorded, "auto-compact/167k", "auto-compact/155k", "truncate-oldest", "none"}
}

// ErrNoSessions is returned for a corpus without calls.
var ErrNoSessions = errors.New("no sessions with calls")

// Run simulates the sessions of a corpus. The recorded strategy is always among
// the cells, as the row others are compared with, and so is the billed one. A
// cancelled context gives the cells complete so far together with the error.
func (p *Plan) Run(ctx context.Context, corpus *traces.Corpus) (*results.Run, error) {
	sessions := withCalls(corpus)
	if len(sessions) == 0 {
		return nil, ErrNoSessions
	}
	if err := p.checkPrices(sessions); err != nil {
		return nil, err
	}
	names := p.names()
	cells, err := p.cells(names)
	if err != nil {
		return nil, err
	}
	runner := sim.Runner{Workers: p.Workers}
	if p.Done != nil {
		total := len(cells) * len(sessions)
		runner.Done = func(n int) { p.Done(n, total) }
	}
	rows, runErr := runner.Run(ctx, sessions, cells)
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return nil, runErr
	}
	run := &results.Run{Provenance: p.provenance(sessions), Workload: p.workload(sessions)}
	run.Cells = append(run.Cells, p.billed(sessions))
	for i, name := range names {
		cell := results.Cell{Cell: name, Strategy: name, Rows: complete(rows[i])}
		if len(cell.Rows) > 0 {
			run.Cells = append(run.Cells, cell)
		}
	}
	run.Sum()
	p.annotate(run, cells[0].Summarizer.(*summarizer.Stub))
	return run, runErr
}

// withCalls returns the sessions that made calls.
func withCalls(corpus *traces.Corpus) []*traces.Session {
	var sessions []*traces.Session
	for _, s := range corpus.Sessions {
		if s.NumCalls() > 0 {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// names returns the strategies to run, each once, the recorded one first.
func (p *Plan) names() []string {
	asked := p.Strategies
	if len(asked) == 0 {
		asked = DefaultStrategies()
	}
	names := []string{results.StrategyRecorded}
	for _, n := range asked {
		if n != results.StrategyBilled && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// cells returns a configuration for each strategy; unknown names are reported
// all at once.
func (p *Plan) cells(names []string) ([]sim.Config, error) {
	stub := p.Summarizer
	if stub == nil {
		stub = summarizer.Default()
	}
	errs := []error{p.Server.Validate(), stub.Validate()}
	var cells []sim.Config
	for _, name := range names {
		s, err := p.Registry.Strategy(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cells = append(cells, sim.Config{
			Strategy:   s,
			Server:     func() sim.Server { return promptcache.New(p.Server) },
			Summarizer: stub,
			Prices:     p.Prices,
			PricesAt:   p.PricesAt,
			Seed:       p.Seed,
			Window:     p.Window,
			Verify:     p.Verify,
		})
	}
	return cells, errors.Join(errs...)
}

// checkPrices names every model without a price. Outside strict mode their
// calls are counted and cost nothing, and the report says so.
func (p *Plan) checkPrices(sessions []*traces.Session) error {
	if !p.Strict {
		return nil
	}
	return errors.Join(p.UnknownModels(sessions)...)
}

// UnknownModels returns an error for every model of the sessions that has no
// price, naming near ones and how to bill it.
func (p *Plan) UnknownModels(sessions []*traces.Session) []error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range sessions {
		for _, m := range s.Models {
			if seen[m] {
				continue
			}
			seen[m] = true
			if _, err := p.Prices.Lookup(m, s.StartTime()); err != nil {
				errs = append(errs, fmt.Errorf("%w; --price-as %s=MODEL bills it as another", err, m))
			}
		}
	}
	return errs
}

// billed is the cell of what the sessions were billed: no model.
func (p *Plan) billed(sessions []*traces.Session) results.Cell {
	c := results.Cell{
		Cell: results.StrategyBilled, Strategy: results.StrategyBilled,
		Unmeasured: []string{"misses", "call_hit_ratio", "overflows", "added_latency_seconds"},
	}
	for _, s := range sessions {
		c.Rows = append(c.Rows, sim.Billed(s, p.Prices, p.PricesAt))
	}
	return c
}

// complete returns the rows that were simulated.
func complete(rows []results.Row) []results.Row {
	return slices.DeleteFunc(rows, func(r results.Row) bool { return r.Strategy == "" })
}
