package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/needs"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// A run can be split when no program holds all sessions: some look at sessions (Sights), one learns
// from what they saw (Gather), some simulate (RunPart), and one puts their rows together (Join).

// Sights returns the Sight of each session of a corpus that made calls.
func (p *Plan) Sights(ctx context.Context, corpus *traces.Corpus) ([]Sight, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	sessions := withCalls(corpus)
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
// returned after Gather. A cell after those of the design is one that the model error needs.
func (p *Plan) RunPart(
	ctx context.Context, corpus *traces.Corpus, fitted *profile.Profile, mine func(cell int, s *traces.Session) bool,
) ([]results.Cell, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	r := &running{design: d, sessions: withCalls(corpus)}
	p.library, p.learned = needs.NewLibrary(ctx, corpus), fitted
	if r.configs, err = p.configs(d); err != nil {
		return nil, err
	}
	cells := make([]results.Cell, len(d.Cells))
	for i := range cells {
		cells[i] = d.Cells[i].result()
	}
	simulate := func(runner loop.Runner, configs []loop.Config, first int) error {
		var keeping sync.Mutex
		runner.Workers = p.Workers
		runner.Skip = func(cell, session int) bool { return !mine(first+cell, r.sessions[session]) }
		runner.Keep = func(cell int, row *results.Row) {
			keeping.Lock()
			defer keeping.Unlock()
			cells[first+cell].Keep(row)
		}
		_, err := runner.Run(ctx, r.sessions, configs)
		return err
	}
	err = simulate(loop.Runner{Cohorts: d.Cohorts(r.sessions)}, r.configs, 0)
	plain, other := p.plainly(d)
	if err = errors.Join(err, other); err == nil && plain != nil {
		cells = append(cells, plainCell())
		err = simulate(loop.Runner{}, []loop.Config{*plain}, len(d.Cells))
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
			to.Rows = append(to.Rows, run.Cells[i].Rows...)
		}
		return nil
	})
	for i := range cells {
		if n := len(cells[i].Rows); err == nil && n != sessions {
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
