// Package tune searches the values that a scenario sweeps for the setting with the best figure. It has no promise to importers.
package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// Search says what Run looks for among how many settings.
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
	choose.Choice
	sessions []string // ids, by start
}

// tried is a setting that was simulated.
type tried struct {
	choose.Setting
	region *region
	at     point
	cell   scenarios.Cell
}

// Run simulates the settings that the file sweeps, or as many settings as the budget allows, and
// judges them.
func Run(
	ctx context.Context, p *scenarios.Plan, file *scenarios.File, corpus *traces.Corpus, search Search,
) (*studies.Tuning, error) {
	metric, err := sought(search.Objective)
	if err != nil {
		return nil, err
	}
	t, out := &tuner{Choice: choose.Choice{Metric: metric}}, &studies.Tuning{Objective: metric}
	var list []*tried
	run, err := p.Execute(ctx, corpus, scenarios.Study{
		Cells: func(sessions []*traces.Session) (d *scenarios.Design, err error) {
			for _, s := range sessions {
				t.sessions = append(t.sessions, s.ID)
			}
			t.Sessions, t.Units = len(sessions), choose.UnitsOf(sessions)
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
func draw(file *scenarios.File, budget int, seed uint64, out *studies.Tuning) (list []*tried, d *scenarios.Design, err error) {
	regions, d, err := regionsOf(file)
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
			cell, err := regions[i].cell(file, at)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, &tried{region: &regions[i], at: at, cell: *cell})
			d.Cells = append(d.Cells, *cell)
		}
	}
	return list, d, nil
}

// note copies the figures of settings from the rows of a run.
func (t *tuner) note(run *results.Run, list []*tried) {
	index := map[string]int{}
	for i, id := range t.sessions {
		index[id] = i
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		x := &t.Recorded
		if c.Strategy != results.StrategyRecorded {
			at := slices.IndexFunc(list, func(x *tried) bool { return x.cell.Name == c.Cell })
			if at < 0 {
				continue
			}
			x = &list[at].Setting
		}
		x.Cut, x.Figure = slices.Repeat([]bool{true}, len(t.sessions)), t.Empty()
		for _, r := range c.Rows.All() { // a session without a row did not come to its end
			at := index[r.Session]
			if x.Cut[at] = r.CutShort(); x.Figure.Base != nil {
				x.Figure.Part[at], x.Figure.Base[at] = t.Metric.Parts(r)
			} else {
				x.Figure.Part[at], _ = t.Metric.Value(r)
			}
		}
	}
}

// judge ranks settings, and says what choosing among them gains on sessions that took no part in
// the choice.
func (t *tuner) judge(out *studies.Tuning, list []*tried) {
	list = slices.DeleteFunc(list, func(x *tried) bool { return x.Cut == nil }) // a stopped run leaves some without figures
	figures := make([]choose.Setting, len(list))
	for i, x := range list {
		figures[i] = x.Setting
	}
	var ranked []choose.Setting
	for i, at := range t.Order(figures, choose.Everywhere) {
		x := list[at]
		ranked = append(ranked, x.Setting)
		s := studies.Setting{Cell: x.cell.Name, Ends: t.Ends(&x.Setting, choose.Everywhere), Edge: x.region.edge(x.at)}
		for k := range x.region.axes {
			s.Set = append(s.Set, x.region.axes[k].Path+"="+x.at[k])
		}
		s.Tie = i > 0 && s.Ends == 0 && t.Estimate(ranked[0].Figure, x.Figure).Verdict <= stats.Chance
		out.Settings = append(out.Settings, s)
	}
	if len(ranked) > 0 {
		out.HeldOut = t.HeldOut(ranked)
	}
}
