package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/internal/results/studies"
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
	t := &tuner{search: search, index: map[string]int{}}
	if err := t.read(); err != nil {
		return nil, err
	}
	out := &studies.Tuning{Objectives: t.metrics[:len(search.Objectives)], Limits: t.limits}
	var list []*choice
	run, err := p.Execute(ctx, corpus, Study{
		Cells: func(sessions []*traces.Session) (d *Design, err error) {
			t.sessions = sessions
			for i, s := range sessions {
				t.index[s.ID] = i
			}
			list, d, err = t.draw(file, p.Seed, out)
			return d, err
		},
		Judge: func(run *results.Run) error {
			out.Run, out.Tried = run, len(list)
			t.note(run, list)
			t.judge(out, list)
			return nil
		},
	})
	if run == nil {
		return nil, err
	}
	return out, err
}

// draw returns the settings to try and the design with their cells, and sets how many there are to choose from.
func (t *tuner) draw(file *File, seed uint64, out *studies.Tuning) (list []*choice, d *Design, err error) {
	regions, d, err := file.regions()
	switch {
	case err != nil:
		return nil, nil, err
	case len(regions) == 0:
		return nil, nil, errors.New("nothing to search: the scenario has no strategy beside recorded")
	case t.search.Budget < len(regions):
		return nil, nil, fmt.Errorf("--budget %d is %w of %d strategies", t.search.Budget, ErrBudget, len(regions))
	}
	for i := range regions {
		out.Space = min(out.Space+regions[i].size(), math.MaxInt32)
	}
	err = drawn(regions, t.design, t.search.Budget, seed, func(r *region, at point) error {
		cell, err := file.cellAt(r, at)
		if err == nil {
			list = append(list, &choice{region: r, at: at, cell: *cell})
			d.Cells = append(d.Cells, *cell)
		}
		return err
	})
	return list, d, err
}

// note copies the figures of settings from the rows of a run.
func (t *tuner) note(run *results.Run, list []*choice) {
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
		for _, r := range c.Rows {
			x.take(t.metrics, r, t.index[r.Session])
		}
	}
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

// everywhere selects every session.
func everywhere(int) bool { return true }

// judge ranks settings, and says what choosing among them gains on sessions that took no part in
// the choice.
func (t *tuner) judge(out *studies.Tuning, list []*choice) {
	list = slices.DeleteFunc(list, func(x *choice) bool { return x.cut == nil }) // a stopped run leaves some without figures
	order := t.order(list, everywhere)
	for i, x := range order {
		s := studies.Setting{Cell: x.cell.Name, Keeps: t.keeps(x, everywhere), Edge: x.region.edge(x.at)}
		for k := range x.region.axes {
			s.Set = append(s.Set, x.region.axes[k].path+"="+x.at[k])
		}
		s.Tie = i > 0 && s.Keeps && t.estimate(order[0], x).Verdict <= stats.Chance
		s.Front = s.Keeps && len(t.metrics) > 1 && !slices.ContainsFunc(order, func(y *choice) bool {
			return t.keeps(y, everywhere) && dominates(t.turned(y), t.turned(x))
		})
		out.Settings = append(out.Settings, s)
	}
	if len(order) > 0 {
		out.HeldOut = t.heldOut(order)
	}
}

// turned returns the objectives of a setting and the metrics of the limits, negated where needed so that lower is
// better.
func (t *tuner) turned(x *choice) []float64 {
	list := t.values(x, everywhere)
	for i := range t.limits {
		v := t.value(x, len(t.search.Objectives)+i, everywhere)
		if t.limits[i].Least {
			v = -v
		}
		list = append(list, v)
	}
	return list
}

// timeBlocks is the number of blocks of consecutive sessions that are taken as units where sessions
// that follow each other are alike.
const timeBlocks = 10

// estimate compares two settings in the first objective: session by session or by block of time,
// whichever is less sure.
func (t *tuner) estimate(a, b *choice) stats.Estimate {
	p := stats.Pair{Base: t.figure(a), Other: t.figure(b), Relative: true}
	e := stats.Estimator{}.One(p)
	if len(t.sessions) <= timeBlocks {
		return e
	}
	p.Base, p.Other = p.Base.Blocks(timeBlocks), p.Other.Blocks(timeBlocks)
	if blocks := (stats.Estimator{}).One(p); blocks.Detectable > e.Detectable {
		return blocks
	}
	return e
}

// figure returns the first objective of a setting.
func (t *tuner) figure(x *choice) stats.Figure {
	if t.metrics[0].Kind == results.KindRatio {
		return stats.Figure{Part: x.parts[0], Base: x.bases[0]}
	}
	return stats.Figure{Part: x.parts[0]}
}

// heldOut chooses, in each of several rounds, on all sessions but those of a block, and judges the
// choice on that block.
func (t *tuner) heldOut(list []*choice) studies.Gain {
	n := len(t.sessions)
	if n < foldBlocks {
		return studies.Gain{Share: math.NaN()}
	}
	unseen := &choice{parts: [][]float64{make([]float64, n)}, bases: [][]float64{make([]float64, n)}}
	for round := range foldRepeats {
		for b := range foldBlocks {
			in := func(i int) bool { return blockOf(i, n, round) == b }
			chosen := t.order(list, func(i int) bool { return !in(i) })[0]
			for i := range n {
				if in(i) {
					unseen.parts[0][i] += chosen.parts[0][i] / foldRepeats
					unseen.bases[0][i] += chosen.bases[0][i] / foldRepeats
				}
			}
		}
	}
	seen := t.estimate(&t.recorded, t.order(list, everywhere)[0])
	e := t.estimate(&t.recorded, unseen)
	e = e.Again().Blurred(e.Difference - seen.Difference)
	if !e.RelativeInterval.Known() && e.Pairs > 0 {
		e.Relative = math.NaN()
	}
	g := studies.Gain{Share: e.Relative, Low: e.RelativeInterval.Low, High: e.RelativeInterval.High, Level: stats.DefaultLevel,
		Detectable: e.Detectable / math.Abs(e.Base), Verdict: e.Verdict}
	if t.metrics[0].Better == results.Lower {
		g.Share, g.Low, g.High = 0-e.Relative, -e.RelativeInterval.High, -e.RelativeInterval.Low
	}
	return g
}
