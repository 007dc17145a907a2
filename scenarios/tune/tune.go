// Package tune searches the values that a scenario sweeps for the setting with the best figure. It has no promise to importers.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
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
	case m.Kind != measures.KindSum && m.Kind != measures.KindRatio:
		return m, fmt.Errorf("--objective: %s is a %s: a search wants a figure that adds up over sessions, or a ratio", name, m.Kind)
	case m.Better == measures.Neither:
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
		if c.Strategy != measures.StrategyRecorded {
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

// region is a strategy of a scenario with the values that a search may give its
// swept parameters.
type region struct {
	strategy string
	axes     []dimension
}

// dimension is a swept parameter, its values sorted if they are numbers or times.
type dimension struct {
	scenarios.Axis
	sorted bool
}

// point is a choice in a region: a value for each dimension.
type point []string

// regionsOf returns what a search of the scenario chooses from, and a design of
// the recorded strategy alone, in which swept parameters have their default.
func regionsOf(f *scenarios.File) ([]region, *scenarios.Design, error) {
	d, err := f.First()
	if err != nil {
		return nil, nil, err
	}
	if d.Scenario.Users.Any() {
		return nil, nil, errors.New("users: a search judges by recorded sessions: sweep the values in sim run")
	}
	defaults, err := spec.Encode(scenarios.Default())
	if err != nil {
		return nil, nil, err
	}
	var list []region
	recorded, at := region{strategy: measures.StrategyRecorded}, point{}
	for _, a := range d.Axes("") {
		if n := spec.Find(defaults, strings.Split(a.Path, ".")...); n != nil {
			recorded.axes, at = append(recorded.axes, newDimension(a)), append(at, cmp.Or(spec.Flow(n), `""`))
		}
	}
	cell, err := recorded.cell(f, at)
	if err != nil {
		return nil, nil, err
	}
	cell.Rename(measures.StrategyRecorded)
	base := *d
	base.Cells = []scenarios.Cell{*cell}
	for i := range d.Cells {
		r := region{strategy: d.Cells[i].Strategy.Name}
		for _, a := range d.Axes(r.strategy) {
			if a.Path != measures.SeedParam { // the seed is no setting
				r.axes = append(r.axes, newDimension(a))
			}
		}
		if r.strategy != measures.StrategyRecorded {
			list = append(list, r)
		}
	}
	return list, &base, nil
}

func newDimension(a scenarios.Axis) dimension {
	d := dimension{Axis: a}
	d.read()
	return d
}

// read finds out whether the values are numbers or times, and sorts them if they are.
func (d *dimension) read() {
	for _, number := range []func(string) (float64, error){
		func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		func(s string) (float64, error) { v, err := time.ParseDuration(s); return v.Seconds(), err },
	} {
		d.sorted = !slices.ContainsFunc(d.Values, func(v string) bool { _, err := number(v); return err != nil })
		if d.sorted {
			slices.SortFunc(d.Values, func(a, b string) int {
				x, _ := number(a)
				y, _ := number(b)
				return cmp.Compare(x, y)
			})
			return
		}
	}
}

// size returns the number of points of a region, at most the largest int32.
func (r *region) size() int {
	n := 1
	for i := range r.axes {
		n = min(n*len(r.axes[i].Values), math.MaxInt32)
	}
	return n
}

// sample returns at most n different points of a region: all if there are no more, else those that Halton's sequence,
// scrambled after Owen (2017), comes to.
func (r *region) sample(n int, seed uint64) []point {
	if r.size() <= n {
		return r.all()
	}
	columns := len(r.axes)
	m := mat.NewDense(n, columns, nil)
	src := rand.NewPCG(seed, uint64(columns))
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(columns, src), Src: src}.Sample(m)
	var list []point
	for i := range n {
		if p := r.at(m.RawRowView(i)); !slices.ContainsFunc(list, func(q point) bool { return slices.Equal(p, q) }) {
			list = append(list, p)
		}
	}
	return list
}

// at returns the point of a region at coordinates in [0, 1).
func (r *region) at(cube []float64) point {
	p := make(point, len(r.axes))
	for i := range r.axes {
		values := r.axes[i].Values
		p[i] = values[min(int(cube[i]*float64(len(values))), len(values)-1)]
	}
	return p
}

// all returns every combination of values.
func (r *region) all() []point {
	list := []point{{}}
	for i := range r.axes {
		var longer []point
		for _, p := range list {
			for _, v := range r.axes[i].Values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		list = longer
	}
	return list
}

func (r *region) cell(f *scenarios.File, p point) (*scenarios.Cell, error) {
	own := f.Clone()
	var errs []error
	for i := range r.axes {
		errs = append(errs, own.Assign(r.axes[i].Path+"="+p[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d, err := own.First() // ignores the axes of other strategies
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(d.Cells, func(c scenarios.Cell) bool { return c.Strategy.Name == r.strategy })
	if at < 0 {
		return nil, fmt.Errorf("no cell of strategy %s", r.strategy)
	}
	c := d.Cells[at]
	params := make([][2]string, len(r.axes))
	for i := range r.axes {
		params[i] = [2]string{r.axes[i].Name, p[i]}
	}
	c.Rename(r.strategy, params...)
	return &c, nil
}

// edge says at which end of the swept range a point lies, "" for neither.
func (r *region) edge(p point) string {
	var list []string
	for i := range r.axes {
		d := &r.axes[i]
		if !d.sorted || len(d.Values) < 3 {
			continue
		}
		switch p[i] {
		case d.Values[0]:
			list = append(list, "the lowest "+d.Name)
		case d.Values[len(d.Values)-1]:
			list = append(list, "the highest "+d.Name)
		}
	}
	return strings.Join(list, " and ")
}
