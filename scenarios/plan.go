// Package scenarios turns what a person asks for into cells, runs them, and
// puts the rows together into a run that reports can show.
//
// A scenario is a YAML file; Reference documents every key. Parse reads one,
// File.Expand gives its cells, and a Plan runs them:
//
//	file, err := scenarios.Parse(registry, text, "mine.yaml")
//	design, err := file.Expand()
//	plan := scenarios.Plan{Registry: registry, Prices: prices, Design: design}
//	run, err := plan.Run(ctx, corpus)
package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// Plan is one run: the cells of a design over sessions and a price table.
// Registry and Prices must be set; the rest has defaults.
type Plan struct {
	Registry *strategies.Registry
	Prices   *costmodel.Table
	// Design has the cells. If nil, the cells are the default scenario's under Strategies, Seed and
	// Window, which a given Design ignores.
	Design     *Design
	Strategies []string // names; DefaultStrategies when empty
	Seed       uint64
	Window     int64 // context window, tokens; 0: the window of the session's client
	// Profiles are the profiles that designs name besides default and none, by name.
	Profiles map[string]*profile.Profile
	learned  *profile.Profile // the default profile with what the sessions of the run add; learn sets it
	lessons  learning.Learned // that learn has drawn from the sessions, for the notes of conclude
	library  *needs.Library   // what later actions used in the sessions of the run, for config; Index sets it
	Workers  int              // sessions simulated at once; 0 for one per core
	Verify   bool             // check the invariants at every call, as Verify of the design does
	Strict   bool             // a model without a price is an error
	Version  string
	Done     func(finished, total int) // progress; safe for concurrent use
	// Summarize, if not nil, makes the summariser of a cell from the cell's name
	// and stub: for instance one that makes real calls.
	Summarize func(cell string, stub *summarizer.Stub) sim.Summarizer
	// Before, if not nil, is an earlier run of the same cells, sessions and prices, in which client.window was not set. What it has of sessions
	// that client.window changes nothing for is not simulated again.
	Before *results.Run
	// Lost is told on which sessions the program fails, and why; nil tells nobody.
	Lost func(texts []string)

	seen  map[string]*Sight // by session, what other programs have seen, or who drew it
	begun *running          // the run that Gather began, whose parts other programs simulate
	parts *parts            // the rows of other programs, nil if there are none

	kept   *follower                                // what the next run keeps for Follow; Keep sets it, may be nil
	record func(cell string, r *results.CallRecord) // gets every call, concurrently unless Workers is 1; set by Keep or Follow
}

// DefaultStrategies are run when nothing else is asked for.
func DefaultStrategies() []string {
	return []string{measures.StrategyRecorded, measures.StrategyOwn, measures.StrategyOwn + "/lower", measures.StrategyOwn + "/higher", "none"}
}

// Run simulates the cells of the plan, as Execute does.
func (p *Plan) Run(ctx context.Context, corpus *traces.Corpus) (*results.Run, error) {
	return p.Execute(ctx, corpus, Study{})
}

// Study is a question about sessions: which cells answer it, and what is made of their rows.
type Study struct {
	// Cells returns the cells to simulate over the sessions that made calls; nil for the plan's cells.
	Cells func(sessions []*traces.Session) (*Design, error)
	// Judge makes the answer of the run, which lacks rows if it ended early; nil for the run alone.
	Judge func(run *results.Run) error

	watch func(d *Design) *watch // follows compactions; may be nil
}

// Execute simulates the cells of a study over the sessions of a corpus and judges them. The cells always
// include the recorded strategy, with which others are compared, and the billed one. With an error, a
// cancelled context included, Execute also returns the cells complete so far, which it has judged; none
// if there is nothing to judge.
func (p *Plan) Execute(ctx context.Context, corpus *traces.Corpus, s Study) (*results.Run, error) {
	sessions := corpus.WithCalls()
	if len(sessions) == 0 {
		return nil, traces.ErrNoCalls
	}
	if s.Cells != nil {
		d, err := s.Cells(sessions)
		if err != nil {
			return nil, err
		}
		asked := *p // the caller's plan keeps its own cells
		asked.Design = d
		p = &asked
	}
	r, err := p.begin(ctx, corpus)
	if err != nil {
		return nil, err
	}
	switch {
	case s.watch != nil:
		r.watch = s.watch(r.design)
	case p.kept != nil:
		r.watch = p.kept.watch
	}
	run, err := p.finish(ctx, r)
	if run == nil || s.Judge == nil {
		return run, err
	}
	if wrong := s.Judge(run); wrong != nil {
		return nil, wrong
	}
	return run, err
}

// running is a run under way: what is simulated over which sessions, and what was seen of these.
type running struct {
	design   *Design
	sessions []*traces.Session
	seen     *survey
	configs  []sim.Config
	watch    *watch // follows compactions, for the study or for Keep; may be nil
}

// begin checks what is to be run, and learns from the sessions.
func (p *Plan) begin(ctx context.Context, corpus *traces.Corpus) (*running, error) {
	r := &running{sessions: corpus.WithCalls()}
	if len(r.sessions) == 0 {
		return nil, traces.ErrNoCalls
	}
	var err error
	if r.design, err = p.design(); err != nil {
		return nil, err
	}
	if r.seen, err = p.visit(ctx, r.design, corpus, r.sessions); err != nil {
		return nil, err
	}
	if err := p.check(r.design, r.sessions, r.seen); err != nil {
		return nil, err
	}
	p.Index(ctx, corpus)
	if err := p.learn(ctx, r.design, r.sessions, &r.seen.openings); err != nil {
		return nil, err
	}
	r.configs, err = p.configs(r.design)
	return r, err
}

// design returns the cells to run.
func (p *Plan) design() (*Design, error) {
	if p.Design != nil {
		return p.Design, nil
	}
	return p.expand("plan", p.Strategies, nil)
}

// expand returns the cells of some strategies (nil: the default's strategies) under the default
// scenario with assignments.
func (p *Plan) expand(origin string, names, assignments []string) (*Design, error) {
	s := Default()
	s.Seed, s.Client.Window = p.Seed, p.Window
	f, err := newFile(p.Registry, s)
	if err != nil {
		return nil, err
	}
	var errs []error
	if len(names) > 0 {
		errs = append(errs, f.Choose(origin, names))
	}
	for _, a := range assignments {
		errs = append(errs, f.Assign(a))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f.Expand()
}

// Index indexes what later actions used in the sessions of a corpus, once, for runs over parts of the sessions.
func (p *Plan) Index(ctx context.Context, corpus *traces.Corpus) {
	if p.library == nil {
		p.library = needs.NewLibrary(ctx, corpus)
	}
}

// Prepare learns from sessions and indexes them once, for runs over parts of the sessions.
func (p *Plan) Prepare(ctx context.Context, corpus *traces.Corpus) error {
	sessions := corpus.WithCalls()
	if len(sessions) == 0 {
		return traces.ErrNoCalls
	}
	d, err := p.design()
	if err != nil {
		return err
	}
	p.library = needs.NewLibrary(ctx, corpus)
	return p.learn(ctx, d, sessions, nil)
}

// finish completes a run that begin returned.
func (p *Plan) finish(ctx context.Context, r *running) (*results.Run, error) {
	d, sessions, seen := r.design, r.sessions, r.seen
	cells, runErr := p.rows(ctx, r)
	stopped := runErr
	var lost losses
	var broken *sim.Broken
	if errors.As(runErr, &broken) {
		stopped, lost = broken.Stopped, lossesOf(broken, d, sessions)
		if sessions = lost.leaveOut(sessions, cells, seen); len(sessions) == 0 {
			return nil, runErr
		}
		if !d.Scenario.Verify && !p.Verify {
			runErr = stopped // the run says what it lacks
		}
	}
	origin, err := p.provenance(d, seen)
	if err != nil {
		return nil, err
	}
	run := &results.Run{Provenance: origin, Workload: d.workload(p.Prices, sessions), Cells: seen.billed} // visit has billed the recordings
	if err := p.bound(ctx, d, sessions, cells, run); err != nil && ctx.Err() == nil {
		return nil, err
	} else if err != nil && stopped == nil {
		stopped, runErr = err, errors.Join(runErr, err) // who interrupts the bound still gets the rest
	}
	for _, cell := range cells {
		if cell.Rows.Len() > 0 {
			run.Cells = append(run.Cells, cell)
		}
	}
	if stopped != nil {
		if len(run.Cells) == len(seen.billed) {
			return nil, runErr // nothing was simulated
		}
		markInterrupted(run, len(r.configs), d.Scenario.Bound, stopped)
	}
	lost.tell(run)
	if p.Lost != nil {
		p.Lost(lost.texts())
	}
	if err := p.conclude(ctx, d, sessions, seen, run); err != nil {
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			return nil, err
		}
		run.Workload.Remarks = append(run.Workload.Remarks,
			"interrupted before the model error was found: the one shown is for the settings of this scenario")
		runErr = errors.Join(runErr, err)
	}
	return run, runErr
}

// rows returns the cells of a run with their rows, as far as they are complete.
func (p *Plan) rows(ctx context.Context, r *running) ([]results.Cell, error) {
	d, sessions := r.design, r.sessions
	runner := sim.Runner{Workers: p.Workers, Cohorts: d.Cohorts(sessions)}
	if p.Done != nil {
		total := len(r.configs) * len(sessions)
		runner.Done = func(n int) { p.Done(n, total) }
	}
	cells := make([]results.Cell, len(d.Cells))
	for i := range cells {
		cells[i] = d.Cells[i].result()
	}
	if p.parts != nil {
		return cells, p.parts.into(cells, len(sessions))
	}
	var keeping sync.Mutex
	runner.Keep = func(cell int, row *results.Row) {
		keeping.Lock()
		defer keeping.Unlock()
		cells[cell].Rows.Keep(row) // in order of completion; results.Run.Sum sorts them by session
	}
	if r.watch != nil {
		keep := runner.Keep
		runner.Observe = r.watch.observer
		runner.Keep = func(cell int, row *results.Row) {
			r.watch.finish(cell, row.Session)
			keep(cell, row)
		}
	}
	if p.Before != nil && runner.Cohorts == nil && r.watch == nil {
		held, err := r.held(ctx, p.Workers, p.Before, cells)
		if err != nil {
			return cells, err
		}
		runner.Skip = func(cell, session int) bool { return held[cell][session] }
	}
	_, err := runner.Run(ctx, sessions, r.configs) // the rows come through runner.Keep, one by one
	return cells, err
}

// held gives cells the rows of a run before (Plan.Before) that hold for r, and returns which these are, by cell and session.
func (r *running) held(ctx context.Context, workers int, before *results.Run, cells []results.Cell) ([][]bool, error) {
	had := make([]map[string]bool, len(cells)) // by cell, the sessions that it has
	held := make([][]bool, len(cells))
	for i := range cells {
		had[i], held[i] = map[string]bool{}, make([]bool, len(r.sessions))
		if k := slices.IndexFunc(before.Cells, func(c results.Cell) bool { return c.Cell == cells[i].Cell }); k >= 0 {
			cells[i].Rows = before.Cells[k].Rows.With()
			for s := range cells[i].Rows.Len() {
				had[i][cells[i].Rows.Session(s)] = true
			}
		}
	}
	err := parallel.Do(ctx, workers, len(r.sessions), func(s int) error {
		whole, err := r.sessions[s].Load()
		if err != nil {
			return err //nolint:wrapcheck // it names the session
		}
		for i := range cells {
			c := r.configs[i]
			c.Window = 0
			held[i][s] = had[i][whole.ID] && c.HoldsAt(r.configs[i].Window, whole)
		}
		return nil
	})
	for i := range cells {
		clear(had[i])
		for s, holds := range held[i] {
			had[i][r.sessions[s].ID] = holds
		}
		cells[i].Rows.Drop(func(session string) bool { return !had[i][session] })
	}
	return held, err //nolint:wrapcheck // of a session
}

// result returns the cell as it is reported, without rows.
func (c *Cell) result() results.Cell {
	return results.Cell{Cell: c.Name, Strategy: c.Strategy.Name, Params: c.Params}
}

// conclude adds to a run what concerns all its cells.
func (p *Plan) conclude(ctx context.Context, d *Design, sessions []*traces.Session, seen *survey, run *results.Run) error {
	run.Sum()
	lengths, err := span(ctx, p, d, sessions, run)
	if err != nil {
		return fmt.Errorf("lengths of summaries: %w", err)
	}
	if lengths == "" && p.Summarize == nil && !d.Scenario.Summarizer.Told() {
		run.Notes = append(run.Notes, drawnNotes(run)...)
	}
	annotate(run, d, p.Summarize != nil)
	run.Notes = append(run.Notes, generations(d, sessions, run)...)
	run.Notes = append(run.Notes, foundSettings(d, sessions, seen.settings, run)...)
	if !d.Scenario.Users.Any() {
		run.Notes = append(run.Notes, inSample(run)...)
		run.Notes = append(run.Notes, tellTrials(d, sessions, run, lengths)...)
	}
	run.Notes = append(run.Notes, d.earlyPrices(p.Prices, sessions)...)
	if err := p.library.Err(); err != nil {
		run.Notes = append(run.Notes, results.Note{Text: "what is forgotten is not measured where texts cannot be read: " +
			err.Error(), Metric: measures.NameRecall})
	}
	if text := lesson(&p.lessons); text != "" {
		run.Notes = append(run.Notes, results.Note{Text: text})
	}
	if err := p.modelError(ctx, d, sessions, run); err != nil {
		return fmt.Errorf("model error: %w", err)
	}
	return nil
}

// Draw draws the sessions of the plan's users, and sees what must be known of each first, as its body does not stay in memory;
// nil where the plan has none.
func (p *Plan) Draw(ctx context.Context) (*traces.Corpus, error) {
	d, err := p.design()
	if err != nil || !d.Scenario.Users.Any() {
		return nil, err
	}
	var adding sync.Mutex
	seen := map[string]*Sight{}
	c, err := d.Scenario.Users.Draw(ctx, p.Workers, func(s *traces.Session) {
		x := sightOf(s, p.Registry, p.Prices, nil)
		adding.Lock()
		defer adding.Unlock()
		seen[s.ID] = x
	})
	p.seen = seen
	return c, err
}

// Listener returns the listener that the reader of the plan's sessions must call, nil for none: what actions used is
// found in the texts. A session read without it is read again when its figures are needed.
func (p *Plan) Listener() traces.Listener {
	d, err := p.design()
	if err != nil || !slices.ContainsFunc(d.Cells, func(c Cell) bool { return c.Scenario.Needs }) {
		return nil
	}
	return needs.NewListener()
}

// priceDates returns the price dates of all cells, each once, in order.
func (d *Design) priceDates() []priceDate {
	var dates []priceDate
	for i := range d.Cells {
		if at := d.Cells[i].Scenario.Prices.At; !slices.Contains(dates, at) {
			dates = append(dates, at)
		}
	}
	return dates
}
