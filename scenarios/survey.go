package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Sight is what must be known of a session before the first is simulated, and its billed
// rows, which need no simulation. One program can write it and another read it.
type Sight struct {
	Head    traces.Head
	Digest  prompt.Digest
	Windows []ModelWindow
	// Settings are the settings of the client that the recording shows, where the default does not explain its compactions.
	Settings sim.Settings
	Opening  profile.Openings
	Billed   []results.Row // by date of prices: no model
}

// ModelWindow is a context window of a model in recorded calls, tokens.
type ModelWindow struct {
	Model  string
	Window int64
}

// survey combines the sights of all sessions.
type survey struct {
	digests  []prompt.Digest // by session
	windows  windows
	settings map[string]sim.Settings // by session, where there are some
	openings profile.Openings
	billed   []results.Cell // one for each date of prices
}

// windows are the context windows that models have in sessions.
type windows map[ModelWindow]bool

// windowsOf returns the windows that models have in a session.
func windowsOf(s *traces.Session, prices sim.Prices) (list []ModelWindow) {
	for _, model := range s.Models {
		list = append(list, ModelWindow{model, sim.Limits(s, model, prices).Window})
	}
	return list
}

func (w windows) add(list []ModelWindow) {
	for _, m := range list {
		w[m] = true
	}
}

// visit visits every session once while it is in memory, except the sessions whose sights are kept or came from another program.
func (p *Plan) visit(ctx context.Context, d *Design, corpus *traces.Corpus, sessions []*traces.Session) (*survey, error) {
	x := &survey{digests: make([]prompt.Digest, len(sessions)), windows: windows{}, settings: map[string]sim.Settings{}}
	for _, date := range d.billedAt() {
		x.billed = append(x.billed, d.billedCell(date))
	}
	var adding sync.Mutex
	err := p.sights(ctx, d, corpus, sessions, func(i int, sight *Sight) error {
		adding.Lock()
		defer adding.Unlock()
		x.add(i, sight)
		if set := sight.Settings; len(set.List) > 0 || set.Unfit {
			x.settings[sessions[i].ID] = set
		}
		return nil
	})
	return x, err
}

func (x *survey) add(i int, sight *Sight) {
	x.digests[i] = sight.Digest
	x.openings.Join(&sight.Opening)
	x.windows.add(sight.Windows)
	for k := range sight.Billed {
		x.billed[k].Rows.Keep(&sight.Billed[k])
	}
}

// sights calls f with the sight of each session, concurrently.
func (p *Plan) sights(
	ctx context.Context, d *Design, corpus *traces.Corpus, sessions []*traces.Session, f func(i int, sight *Sight) error,
) error {
	var dates []time.Time
	for _, date := range d.billedAt() {
		at, err := date.On()
		if err != nil {
			return fmt.Errorf("prices.at: %w", err)
		}
		dates = append(dates, at)
	}
	key, together := "", 1
	store, folder := corpus.Kept()
	if store != nil {
		together = sightsTogether
		key = fmt.Sprintf("sights and settings %q %s %v", folder, p.Prices.Key(), dates)
	}
	err := parallel.Do(ctx, p.Workers, (len(sessions)+together-1)/together, func(n int) error {
		from := n * together
		kept := sightsIn(store, key, n)
		for i, s := range sessions[from:min(from+together, len(sessions))] {
			x := cmp.Or(p.seen[s.ID], kept.of[nameOf(s)])
			if x == nil {
				whole, err := s.Load()
				if err != nil {
					return err
				}
				x = sightOf(whole, p.Registry, p.Prices, dates)
			}
			kept.add(s, x)
			if err := f(from+i, x); err != nil {
				return err
			}
		}
		if kept.more {
			store.Put(kept.key, &kept.list)
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted before anything was simulated: %w", err)
	}
	return err
}

// sightsTogether is how many sessions have their sights in one entry of the store.
const sightsTogether = 16

// keptSights are the sights of some sessions: sights that the last run over the folder kept, by
// nameOf, and sights of this run.
type keptSights struct {
	key  string // "" without a store
	of   map[string]*Sight
	list []keptSight
	more bool // some are new
}

type keptSight struct {
	Session string
	Sight   Sight
}

// nameOf identifies a session by its key in the store and its id; it returns "" where no store has the session.
func nameOf(s *traces.Session) string {
	if key := s.StoreKey(); key != "" {
		return key + " " + s.ID
	}
	return ""
}

// sightsIn returns the n-th sights that a store has under a key.
func sightsIn(store traces.Store, key string, n int) keptSights {
	if key == "" {
		return keptSights{}
	}
	k := keptSights{key: fmt.Sprintf("%s %d", key, n), of: map[string]*Sight{}}
	var last []keptSight
	store.Get(k.key, &last)
	for i := range last {
		k.of[last[i].Session] = &last[i].Sight
	}
	return k
}

// add adds the sight of a session, if a store has the session.
func (k *keptSights) add(s *traces.Session, x *Sight) {
	if name := nameOf(s); k.key != "" && name != "" {
		k.list = append(k.list, keptSight{name, *x})
		k.more = k.more || k.of[name] == nil
	}
}

// sightOf returns the sight of a session that is in memory.
func sightOf(s *traces.Session, registry *strategies.Registry, prices *costmodel.Table, dates []time.Time) *Sight {
	x := &Sight{Digest: sessionDigest(s)}
	if len(dates) > 0 {
		table := calls.Of(s, prices)
		for _, at := range dates {
			row := sim.Billed(s, prices, at)
			table.CountMisses(&row)
			x.Billed = append(x.Billed, row)
		}
	}
	x.Opening.Add(s)
	x.Windows = windowsOf(s, prices)
	x.Settings = settingsOf(registry, s, prices)
	return x
}

// billedAt returns the price dates of what was billed, none for users, whom nobody billed.
func (d *Design) billedAt() []priceDate {
	if d.Scenario.Users.Any() {
		return nil
	}
	return d.priceDates()
}

// billedCell returns the cell of the bill at prices of a date, without rows.
func (d *Design) billedCell(date priceDate) results.Cell {
	c := results.Cell{
		Cell: measures.StrategyBilled, Strategy: measures.StrategyBilled,
		Unmeasured: append(results.Groups(), measures.NameOverflows, measures.NameAddedLatency),
	}
	if len(d.priceDates()) > 1 {
		const key = "prices.at"
		c.Params = map[string]string{key: string(date)}
		c.Cell += " " + key + "=" + string(date)
	}
	return c
}

// digest identifies sessions by what a simulation depends on: blocks, rounds
// and events. Their order does not matter.
func digest(list []prompt.Digest) prompt.Digest {
	var all prompt.Digest
	for _, d := range list {
		all.Hi ^= d.Hi
		all.Lo += d.Lo
	}
	return all
}

func sessionDigest(s *traces.Session) prompt.Digest {
	d := prompt.DigestString(s.ID).ExtendInt(uint64(s.Window))
	for i := range s.Blocks {
		b := &s.Blocks[i]
		d = d.Extend(b.Digest).ExtendInt(uint64(b.Tokens)<<8 | uint64(b.Kind))
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		d = d.ExtendInt(uint64(t.Kind)<<32 | uint64(uint32(t.ParentRound)))
		for j := range t.Rounds {
			r := &t.Rounds[j]
			d = d.Extend(prompt.DigestString(r.ID))
			for _, v := range []int64{r.Wait, r.First, r.Stream, r.Usage.Input(), r.Usage.Read, r.Usage.Output} {
				d = d.ExtendInt(uint64(v))
			}
		}
		for j := range t.Events {
			e := &t.Events[j]
			d = d.ExtendInt(uint64(e.Kind)<<56 | uint64(uint32(e.Round))<<24 ^ uint64(uint32(e.Kept)))
		}
	}
	return d
}

// A run can be split when no program holds all sessions: some look at sessions (Sights), one learns
// from what they saw (Gather), some simulate (RunPart), and one puts their rows together (Join).

// Sights returns the Sight of each session of a corpus that made calls.
func (p *Plan) Sights(ctx context.Context, corpus *traces.Corpus) ([]Sight, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	sessions := corpus.WithCalls()
	list := make([]Sight, len(sessions))
	err = p.sights(ctx, d, corpus, sessions, func(i int, sight *Sight) error {
		list[i] = *sight
		list[i].Head = sessions[i].Head()
		return nil
	})
	return list, err
}

// Gather begins a run: it checks what is to be run, learns from the sights of the
// sessions of a corpus, one for each, and returns what their rows depend on.
func (p *Plan) Gather(ctx context.Context, corpus *traces.Corpus, sights []Sight) (results.Provenance, error) {
	p.seen = map[string]*Sight{}
	for i := range sights {
		p.seen[sights[i].Head.Session.ID] = &sights[i]
	}
	var err error
	if p.begun, err = p.begin(ctx, corpus); err != nil {
		return results.Provenance{}, err
	}
	if p.begun.design.Scenario.Bound {
		return results.Provenance{}, errors.New("bound: it takes all sessions at once, and no program has them here")
	}
	return p.provenance(p.begun.design, p.begun.seen)
}

// RunPart simulates the rows of a corpus that mine selects, under the profile that Plan.Profile
// returned after Gather. A cell after the design's cells is one that the model error needs.
func (p *Plan) RunPart(
	ctx context.Context, corpus *traces.Corpus, fitted *profile.Profile, mine func(cell int, s *traces.Session) bool,
) ([]results.Cell, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	r := &running{design: d, sessions: corpus.WithCalls()}
	p.library, p.learned = needs.NewLibrary(ctx, corpus), fitted
	if r.configs, err = p.configs(d); err != nil {
		return nil, err
	}
	cells := make([]results.Cell, len(d.Cells))
	for i := range cells {
		cells[i] = d.Cells[i].result()
	}
	simulate := func(runner sim.Runner, configs []sim.Config, first int) error {
		var keeping sync.Mutex
		runner.Workers = p.Workers
		runner.Skip = func(cell, session int) bool { return !mine(first+cell, r.sessions[session]) }
		runner.Keep = func(cell int, row *results.Row) {
			keeping.Lock()
			defer keeping.Unlock()
			cells[first+cell].Rows.Keep(row)
		}
		_, err := runner.Run(ctx, r.sessions, configs)
		return err
	}
	err = simulate(sim.Runner{Cohorts: d.Cohorts(r.sessions)}, r.configs, 0)
	plain, other := p.plainly(d)
	if err = errors.Join(err, other); err == nil && plain != nil {
		cells = append(cells, plainCell())
		err = simulate(sim.Runner{}, []sim.Config{*plain}, len(d.Cells))
	}
	return cells, errors.Join(err, p.library.Err())
}

// parts are the rows that other programs have simulated.
type parts struct {
	rows  func(keep func(*results.Run) error) error
	plain *results.Cell
}

// Join finishes the run that Gather began from rows that other programs have simulated:
// rows calls keep with each run that has some. A missing row is an error.
func (p *Plan) Join(ctx context.Context, rows func(keep func(*results.Run) error) error) (*results.Run, error) {
	plain := plainCell()
	p.parts = &parts{rows, &plain}
	return p.finish(ctx, p.begun)
}

// into copies the rows of all cells.
func (x *parts) into(cells []results.Cell, sessions int) error {
	at := map[string]*results.Cell{x.plain.Cell: x.plain}
	for i := range cells {
		at[cells[i].Cell] = &cells[i]
	}
	err := x.rows(func(run *results.Run) error {
		for i := range run.Cells {
			to := at[run.Cells[i].Cell]
			if to == nil {
				return fmt.Errorf("rows of a cell %s: not of this run", run.Cells[i].Cell)
			}
			for _, row := range run.Cells[i].Rows.All() {
				to.Rows.Keep(row)
			}
		}
		return nil
	})
	for i := range cells {
		if n := cells[i].Rows.Len(); err == nil && n != sessions {
			err = fmt.Errorf("cell %s has %d rows of %d: a part is missing or came twice", cells[i].Cell, n, sessions)
		}
	}
	return err
}

// Cohorts returns the groups of sessions that share a cache, by index; nil when each session is alone.
func (d *Design) Cohorts(sessions []*traces.Session) [][]int {
	if d.Scenario.Users.Any() {
		return cohortAll.group(sessions)
	}
	return d.Scenario.Sessions.Cohort.group(sessions)
}
