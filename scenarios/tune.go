package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// Search says what Plan.Tune looks for among how many settings.
type Search struct {
	Objective string // the metric to improve
	Budget    int    // the most settings to try
}

// Check returns what is wrong with s, whatever is searched.
func (s *Search) Check() error {
	_, err := sought(s.Objective)
	if s.Budget < 1 {
		err = errors.Join(err, fmt.Errorf("--budget %d: want 1 or more", s.Budget))
	}
	return err
}

// sought returns the metric of a name: a sum over sessions or a ratio, which any part of the sessions determines.
func sought(name string) (results.Metric, error) {
	m, ok := results.LookupMetric(name)
	switch {
	case !ok:
		var known []string
		for _, m := range results.Metrics() {
			known = append(known, m.Name)
		}
		return m, fmt.Errorf("--objective: unknown metric %q%s; docs/schema.md lists all", name, nearest.Like(name, known))
	case m.Kind != results.KindSum && m.Kind != results.KindRatio:
		return m, fmt.Errorf("--objective: %s is a %s: a search wants a figure that adds up over sessions, or a ratio", name, m.Kind)
	case m.Better == results.Neither:
		return m, fmt.Errorf("--objective: neither more nor less of %s is better by itself", name)
	}
	return m, nil
}

// ErrBudget is wrapped by the error of a budget too small for a search.
var ErrBudget = errors.New("less than one setting for each")

// tuner is a search under way.
type tuner struct {
	metric   results.Metric
	sessions []string // ids, by start
	units    []stats.Units
	recorded choice
}

// choice is a setting that was simulated.
type choice struct {
	region *region
	at     point
	cell   Cell
	figure stats.Figure // the metric, by session
	cut    []bool       // by session: it ended early
}

// Tune simulates the settings that the file sweeps, or as many settings as the budget allows, and
// judges them.
func (p *Plan) Tune(ctx context.Context, file *File, corpus *traces.Corpus, search Search) (*studies.Tuning, error) {
	metric, err := sought(search.Objective)
	if err != nil {
		return nil, err
	}
	t, out := &tuner{metric: metric}, &studies.Tuning{Objective: metric}
	var list []*choice
	run, err := p.Execute(ctx, corpus, Study{
		Cells: func(sessions []*traces.Session) (d *Design, err error) {
			for _, s := range sessions {
				t.sessions = append(t.sessions, s.ID)
			}
			t.units = unitsOf(sessions)
			list, d, err = draw(file, search.Budget, p.Seed, out)
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
func draw(file *File, budget int, seed uint64, out *studies.Tuning) (list []*choice, d *Design, err error) {
	regions, d, err := file.regions()
	switch {
	case err != nil:
		return nil, nil, err
	case len(regions) == 0:
		return nil, nil, errors.New("nothing to search: the scenario has no strategy beside recorded")
	case budget < len(regions):
		return nil, nil, fmt.Errorf("--budget %d is %w of %d strategies", budget, ErrBudget, len(regions))
	}
	for i := range regions {
		out.Space = min(out.Space+regions[i].size(), math.MaxInt32)
	}
	each := budget // all points if the budget allows that, else the same number of each strategy
	if out.Space > budget {
		each = budget / len(regions)
	}
	for i := range regions {
		for _, at := range regions[i].sample(each, seed) {
			cell, err := file.cellAt(&regions[i], at)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, &choice{region: &regions[i], at: at, cell: *cell})
			d.Cells = append(d.Cells, *cell)
		}
	}
	return list, d, nil
}

// note copies the figures of settings from the rows of a run.
func (t *tuner) note(run *results.Run, list []*choice) {
	index := map[string]int{}
	for i, id := range t.sessions {
		index[id] = i
	}
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
		x.cut, x.figure = slices.Repeat([]bool{true}, len(t.sessions)), t.empty()
		for _, r := range c.Rows.All() { // a session without a row did not come to its end
			at := index[r.Session]
			if x.cut[at] = r.CutShort(); x.figure.Base != nil {
				x.figure.Part[at], x.figure.Base[at] = t.metric.Parts(r)
			} else {
				x.figure.Part[at], _ = t.metric.Value(r)
			}
		}
	}
}

// empty returns a figure of the metric that is 0 in every session.
func (t *tuner) empty() stats.Figure {
	f := stats.Figure{Part: make([]float64, len(t.sessions))}
	if t.metric.Kind == results.KindRatio {
		f.Base = make([]float64, len(t.sessions))
	}
	return f
}

// everywhere selects every session.
func everywhere(int) bool { return true }

// judge ranks settings, and says what choosing among them gains on sessions that took no part in
// the choice.
func (t *tuner) judge(out *studies.Tuning, list []*choice) {
	list = slices.DeleteFunc(list, func(x *choice) bool { return x.cut == nil }) // a stopped run leaves some without figures
	order := t.order(list, everywhere)
	for i, x := range order {
		s := studies.Setting{Cell: x.cell.Name, Ends: t.ends(x, everywhere), Edge: x.region.edge(x.at)}
		for k := range x.region.axes {
			s.Set = append(s.Set, x.region.axes[k].path+"="+x.at[k])
		}
		s.Tie = i > 0 && s.Ends == 0 && t.estimate(order[0].figure, x.figure).Verdict <= stats.Chance
		out.Settings = append(out.Settings, s)
	}
	if len(order) > 0 {
		out.HeldOut = t.heldOut(order)
	}
}

// timeBlocks is the number of blocks of consecutive sessions that are taken as units where sessions
// that follow each other are alike.
const timeBlocks = 10

// The names of the units that unitsOf returns.
const (
	unitSession = "session"
	unitBlock   = "block of time"
	unitProject = "project"
	unitPerson  = "person"
)

// unitsOf returns what may be sampled in the place of sessions, in any order: blocks of sessions that follow each other in time, the
// sessions of a project, and the sessions of a person.
func unitsOf(sessions []*traces.Session) []stats.Units {
	n := len(sessions)
	blocks, projects, people, order := make([]string, n), make([]string, n), make([]string, n), make([]int, n)
	for i, s := range sessions {
		projects[i], people[i], order[i] = s.Project, s.Person(), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sessions[a].Start, sessions[b].Start) })
	for rank, i := range order {
		blocks[i] = strconv.Itoa(rank * timeBlocks / n)
	}
	return []stats.Units{stats.UnitsBy(unitBlock, blocks), stats.UnitsBy(unitProject, projects), stats.UnitsBy(unitPerson, people)}
}

// estimate compares two settings, by the units that are least sure.
func (t *tuner) estimate(a, b stats.Figure) stats.Estimate {
	return stats.Estimator{}.One(stats.Pair{Base: a, Other: b, Relative: true, Units: t.units})
}

// heldOut chooses, in each of several rounds, on all sessions outside a block, and judges the
// choice on that block.
func (t *tuner) heldOut(list []*choice) studies.Gain {
	n := len(t.sessions)
	if n < foldBlocks {
		return studies.Gain{Share: math.NaN()}
	}
	unseen := t.empty()
	for round := range foldRepeats {
		for b := range foldBlocks {
			in := func(i int) bool { return blockOf(i, n, round) == b }
			chosen := t.order(list, func(i int) bool { return !in(i) })[0].figure
			for i := range n {
				if !in(i) {
					continue
				}
				if unseen.Part[i] += chosen.Part[i] / foldRepeats; unseen.Base != nil {
					unseen.Base[i] += chosen.Base[i] / foldRepeats
				}
			}
		}
	}
	seen := t.estimate(t.recorded.figure, t.order(list, everywhere)[0].figure)
	e := t.estimate(t.recorded.figure, unseen)
	e = e.Again().Blurred(e.Difference - seen.Difference)
	if !e.RelativeInterval.Known() && e.Pairs > 0 {
		e.Relative = math.NaN()
	}
	g := studies.Gain{Share: e.Relative, Low: e.RelativeInterval.Low, High: e.RelativeInterval.High, Level: stats.DefaultLevel,
		Detectable: e.Detectable / math.Abs(e.Base), Units: e.Units, Verdict: e.Verdict}
	if t.metric.Better == results.Lower {
		g.Share, g.Low, g.High = 0-e.Relative, -e.RelativeInterval.High, -e.RelativeInterval.Low
	}
	return g
}

// order returns settings by some sessions, best first: settings that end fewer sessions early, then by the metric.
func (t *tuner) order(list []*choice, on func(session int) bool) []*choice {
	type ranked struct {
		*choice
		ends  int
		value float64 // lower is better
	}
	all := make([]ranked, len(list))
	for i, x := range list {
		all[i] = ranked{x, t.ends(x, on), t.value(x, on)}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Or(a.ends-b.ends, cmp.Compare(a.value, b.value)) })
	out := make([]*choice, len(all))
	for i := range all {
		out[i] = all[i].choice
	}
	return out
}

// value returns the metric of a setting over some sessions, negated where more is better; NaN without a sample.
func (t *tuner) value(x *choice, on func(session int) bool) float64 {
	v, base := 0.0, 0.0
	for i := range t.sessions {
		if !on(i) {
			continue
		}
		if v += x.figure.Part[i]; x.figure.Base != nil {
			base += x.figure.Base[i]
		}
	}
	if x.figure.Base != nil {
		v /= base
	}
	if t.metric.Better == results.Higher {
		v = -v
	}
	return v
}

// ends returns how many of some sessions a setting ends early and the recording does not.
func (t *tuner) ends(x *choice, on func(session int) bool) (n int) {
	for i := range t.sessions {
		if on(i) && x.cut[i] && !t.recorded.cut[i] {
			n++
		}
	}
	return n
}
