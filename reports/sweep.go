package reports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// SweepChart draws a metric of results.Metrics against swept parameters of run.
// Against one it draws a line for each strategy and setting of the other
// parameters; against two, a map of values, which needs all cells to be of one
// strategy and one setting of the rest. Without keys it takes the parameters
// that Axes finds. Cells that do not cover as many sessions as the others are
// left out and named. It fails when there is nothing to draw: an unknown metric
// or parameter, no sample, figures that are not finite.
func SweepChart(w io.Writer, format string, run *results.Run, metric string, keys ...string) error {
	s, err := sweepOf(run, metric, keys)
	if err != nil {
		return fmt.Errorf("drawing %s of a sweep: %w", metric, err)
	}
	return s.render(w, format)
}

func (s *sweep) render(w io.Writer, format string) error {
	f, err := s.layout()
	if err != nil {
		return fmt.Errorf("drawing %s of a sweep: %w", s.metric.Name, err)
	}
	return f.render(w, format)
}

// sweep is a metric over one or two parameters.
type sweep struct {
	run    *results.Run
	metric results.Metric
	axes   []Axis
	points []sweepPoint
	flat   []*results.Cell // strategies that do not have the parameters
	slice  string          // fixed values of further parameters, for people
	notes  []string
}

// sweepPoint is a cell that has the parameters of a sweep.
type sweepPoint struct {
	cell  *results.Cell
	at    [2]int // indices of values, by axis
	value float64
	group string // strategy and other parameters
}

func sweepOf(run *results.Run, metric string, keys []string) (*sweep, error) {
	m, ok := results.LookupMetric(metric)
	if !ok {
		return nil, fmt.Errorf("unknown metric %q", metric)
	}
	axes := Axes(run)
	if len(keys) > 0 {
		var err error
		if axes, err = axesNamed(axes, keys); err != nil {
			return nil, err
		}
	}
	switch len(axes) {
	case 0:
		return nil, errors.New("no parameter takes more than one value")
	case 1, 2:
	default:
		return nil, fmt.Errorf("%d parameters were swept (%s): name one or two", len(axes), keysOf(axes))
	}
	var cells []*results.Cell
	for i := range run.Cells {
		cells = append(cells, &run.Cells[i])
	}
	return newSweep(run, m, axes, cells)
}

// newSweep puts cells in their places. Cells without the parameters are flat.
func newSweep(run *results.Run, m results.Metric, axes []Axis, cells []*results.Cell) (*sweep, error) {
	s := &sweep{run: run, metric: m, axes: axes}
	partial, unsampled := 0, 0
	sessions := mostSessions(cells)
	for _, c := range cells {
		if isReference(c) {
			continue
		}
		v, ok := c.Value(m)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return nil, fmt.Errorf("cell %q: %s %v cannot be drawn", c.Cell, m.Name, v)
		case c.Sessions < sessions:
			partial++
		case !ok:
			unsampled++
		case !s.has(c):
			s.flat = append(s.flat, c)
		default:
			s.points = append(s.points, s.point(c, v))
		}
	}
	if len(s.points) == 0 {
		return nil, fmt.Errorf("no cell has a sample of %s", m.Name)
	}
	if partial > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s not drawn: fewer sessions than the others", CountOf(partial, "cell")))
	}
	if unsampled > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s without a sample of %s", CountOf(unsampled, "cell"), m.Name))
	}
	return s, s.checkPlaces()
}

// mostSessions returns the sessions of the cells that cover the most.
func mostSessions(cells []*results.Cell) int {
	most := 0
	for _, c := range cells {
		most = max(most, c.Sessions)
	}
	return most
}

// has reports whether a cell has all parameters of s.
func (s *sweep) has(c *results.Cell) bool {
	return !slices.ContainsFunc(s.axes, func(a Axis) bool { _, ok := c.Params[a.Key]; return !ok })
}

func (s *sweep) point(c *results.Cell, v float64) sweepPoint {
	p := sweepPoint{cell: c, value: v, group: groupOf(c, s.axes)}
	for i := range s.axes {
		p.at[i] = s.axes[i].index(c.Params[s.axes[i].Key])
	}
	return p
}

// checkPlaces refuses two cells in one place: one would hide the other.
func (s *sweep) checkPlaces() error {
	type place struct {
		at    [2]int
		group string
	}
	seen := map[place]string{}
	for _, p := range s.points {
		k := place{p.at, p.group}
		if len(s.axes) == 2 {
			k.group = ""
		}
		if other, ok := seen[k]; ok {
			return fmt.Errorf("cells %q and %q stand in one place of the chart: name the parameters that tell them apart", other, p.cell.Cell)
		}
		seen[k] = p.cell.Cell
	}
	return nil
}

// groupOf names the strategy and all parameters of a cell but those of axes.
func groupOf(c *results.Cell, axes []Axis) string {
	var b strings.Builder
	b.WriteString(c.Strategy)
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		if !slices.ContainsFunc(axes, func(a Axis) bool { return a.Key == k }) {
			fmt.Fprintf(&b, "\n%s=%s", k, c.Params[k])
		}
	}
	return b.String()
}

// groups returns the groups of the points in the order of the cells.
func (s *sweep) groups() []string {
	var gs []string
	for _, p := range s.points {
		if !slices.Contains(gs, p.group) {
			gs = append(gs, p.group)
		}
	}
	return gs
}

// groupNames returns the names of groups for people, and what all have in
// common but the strategy.
func groupNames(groups []string) (names []string, common string) {
	count := map[string]int{}
	for _, g := range groups {
		for _, part := range strings.Split(g, "\n")[1:] {
			count[part]++
		}
	}
	for _, g := range groups {
		parts := strings.Split(g, "\n")
		names = append(names, Printable(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return count[p] == len(groups) }), " ")))
	}
	var shared []string
	for _, part := range slices.Sorted(maps.Keys(count)) {
		if count[part] == len(groups) {
			shared = append(shared, part)
		}
	}
	return names, Printable(strings.Join(shared, " · "))
}

// best returns the points of the best value, none when no direction is better.
func (s *sweep) best() []sweepPoint {
	if s.metric.Better == results.Neither {
		return nil
	}
	sign := 1.0
	if s.metric.Better == results.Higher {
		sign = -1
	}
	least := slices.MinFunc(s.points, func(a, b sweepPoint) int { return cmp.Compare(sign*a.value, sign*b.value) })
	return slices.DeleteFunc(slices.Clone(s.points), func(p sweepPoint) bool { return p.value != least.value })
}

// bestName is what the best value of the metric is called.
func (s *sweep) bestName() string {
	if s.metric.Better == results.Higher {
		return "highest"
	}
	return "lowest"
}

// values returns the values of all points.
func (s *sweep) values() []float64 {
	vs := make([]float64, len(s.points))
	for i, p := range s.points {
		vs[i] = p.value
	}
	return vs
}

// references returns the cells that stand beside the points: the two reference
// cells when they have a sample over the same number of sessions.
func (s *sweep) references() []*results.Cell {
	var cells []*results.Cell
	for _, name := range []string{results.StrategyRecorded, results.StrategyBilled} {
		if c := s.run.Reference(name); c != nil && c.Sessions == s.points[0].cell.Sessions {
			if v, ok := c.Value(s.metric); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// facts returns the lines under the title.
func (s *sweep) facts(common string) []string {
	lines := []string{headLines(s.run)[0]}
	var second []string
	for _, t := range []string{s.slice, common} {
		if t != "" {
			second = append(second, t)
		}
	}
	second = append(second, CountOf(len(s.points), "cell"))
	return append(lines, strings.Join(second, " · "))
}

// title is the name of the metric over the parameters.
func (s *sweep) title() string {
	return metricTitle(s.metric) + " against " + Printable(keysOf(s.axes))
}

func keysOf(axes []Axis) string {
	keys := make([]string, len(axes))
	for i := range axes {
		keys[i] = axes[i].Key
	}
	return strings.Join(keys, " and ")
}

// metricTitle writes the name of a metric for people: cost_usd is Cost.
func metricTitle(m results.Metric) string {
	t := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_usd"), "_seconds"), "_", " ")
	return strings.ToUpper(t[:1]) + t[1:]
}

// axesNamed returns the axes of keys in their order.
func axesNamed(axes []Axis, keys []string) ([]Axis, error) {
	var named []Axis
	for _, k := range keys {
		i := slices.IndexFunc(axes, func(a Axis) bool { return a.Key == k })
		if i < 0 {
			return nil, fmt.Errorf("parameter %q was not swept (swept: %s)", k, cmp.Or(keysOf(axes), "none"))
		}
		named = append(named, axes[i])
	}
	return named, nil
}
