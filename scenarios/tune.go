package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Search says what Plan.Tune looks for among how many settings.
type Search struct {
	Objectives []string // metrics; the first decides, all together make the front
	SubjectTo  []string // such as needed_recall>=0.95
	Budget     int      // the most settings to try
	Design     string   // one of Designs: how settings are chosen if there are too many
}

// Check returns what is wrong with s, whatever is searched.
func (s *Search) Check() error {
	var errs []error
	if len(s.Objectives) == 0 {
		errs = append(errs, errors.New("--objective names no metric"))
	}
	if s.Budget < 1 {
		errs = append(errs, fmt.Errorf("--budget %d: want 1 or more", s.Budget))
	}
	return errors.Join(append(errs, (&tuner{search: *s}).read())...)
}

// ErrBudget is wrapped by the error of a budget too small for a search.
var ErrBudget = errors.New("less than one setting for each")

// tuner is a search under way.
type tuner struct {
	search   Search
	design   design
	sessions []*traces.Session // by start
	index    map[string]int    // of sessions, by id
	metrics  []results.Metric  // objectives, then limits
	limits   []studies.Limit
	recorded choice
}

// choice is a setting that was simulated.
type choice struct {
	region *region
	at     point
	cell   Cell
	// parts and bases are the figures by metric and session; the base of a sum is 1.
	parts, bases [][]float64
	cut          []bool // by session: it ended early
}

// Tune simulates the settings that the file sweeps, or as many of them as the budget allows, and
// judges them.
func (p *Plan) Tune(ctx context.Context, file *File, corpus *traces.Corpus, search Search) (*studies.Tuning, error) {
	t := &tuner{search: search, sessions: withCalls(corpus), index: map[string]int{}}
	if len(t.sessions) == 0 {
		return nil, errNoCalls
	}
	for i, s := range t.sessions {
		t.index[s.ID] = i
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	regions, design, err := file.regions()
	switch {
	case err != nil:
		return nil, err
	case len(regions) == 0:
		return nil, errors.New("nothing to search: the scenario has no strategy beside recorded")
	case search.Budget < len(regions):
		return nil, fmt.Errorf("--budget %d is %w of %d strategies", search.Budget, ErrBudget, len(regions))
	}
	out := &studies.Tuning{Objectives: t.metrics[:len(search.Objectives)], Limits: t.limits}
	for i := range regions {
		out.Space = min(out.Space+regions[i].size(), math.MaxInt32)
	}
	var list []*choice
	err = drawn(regions, t.design, search.Budget, p.Seed, func(r *region, at point) error {
		cell, err := file.cellAt(r, at)
		if err == nil {
			list = append(list, &choice{region: r, at: at, cell: *cell})
			design.Cells = append(design.Cells, *cell)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	plan := *p
	plan.Design = design
	var runErr error
	if out.Run, runErr = plan.Run(ctx, corpus); out.Run == nil {
		return nil, runErr
	}
	out.Tried = len(list)
	runErr = errors.Join(runErr, t.note(out.Run, list))
	t.judge(out, list)
	return out, runErr
}

// note copies the figures of settings from the rows of a run.
func (t *tuner) note(run *results.Run, list []*choice) error {
	for i := range run.Cells {
		c := &run.Cells[i]
		x := &t.recorded
		if c.Strategy != results.StrategyRecorded {
			at := slices.IndexFunc(list, func(x *choice) bool { return x.cell.Name == c.Cell })
			if at < 0 {
				continue
			}
			x = list[at]
		}
		x.make(len(t.metrics), len(t.sessions))
		if err := c.EachRow(func(r *results.Row) error {
			x.take(t.metrics, r, t.index[r.Session])
			return nil
		}); err != nil {
			return fmt.Errorf("figures of %s: %w", c.Cell, err)
		}
	}
	return nil
}

func (x *choice) make(metrics, sessions int) {
	if x.cut != nil {
		return
	}
	x.cut = make([]bool, sessions)
	for range metrics {
		x.parts, x.bases = append(x.parts, make([]float64, sessions)), append(x.bases, make([]float64, sessions))
	}
}

func (x *choice) take(metrics []results.Metric, r *results.Row, session int) {
	x.cut[session] = r.CutShort()
	for i, m := range metrics {
		if m.Kind == results.KindRatio {
			x.parts[i][session], x.bases[i][session] = m.Parts(r)
		} else {
			x.parts[i][session], _ = m.Value(r)
		}
	}
}
