package charts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Measures of charts of a sweep, points, and their limits.
const (
	linesWidth     = 560
	curveHeight    = 240 // of the first panel of curves
	belowHeight    = 110 // of those below it
	maxMapValues   = 200 // tiles that show their values
	maxLevels      = 8   // lines across a chart
	maxSpanned     = 2   // lines with intervals
	maxLinearRatio = 25  // largest ratio of the ends of a linear axis; beyond it the axis is logarithmic
)

// sweep is the cells of one chart: curves over one parameter, a map over two.
type sweep struct {
	run   *results.Run
	axes  []axis
	cells []*results.Cell
	flat  []*results.Cell // strategies without the parameters
	name  string          // of the strategy of a map
	notes []string
}

// sweepDrawings returns the charts of the swept parameters of run: over one parameter cost, recall and hit ratio in one
// chart, over two a map of the cost; metrics takes others in their place. Strategies with the same single parameter share
// a chart; more parameters make a map for each strategy. Without a sweep or a figure it returns nothing.
func sweepDrawings(run *results.Run, metrics ...string) (list []Drawing) {
	if len(metrics) == 0 {
		metrics = slices.DeleteFunc([]string{measures.NameCost, measures.NameRecall, measures.NameHitRatio},
			func(name string) bool { return !sampled(run, name) })
		if len(metrics) == 0 {
			return nil
		}
	}
	for _, s := range sweeps(run) {
		file := []string{"sweep"}
		if len(s.axes) > 1 {
			file = append(file, metrics[0])
		}
		for i := range s.axes {
			file = append(file, s.axes[i].key)
		}
		d := drawing("sweep", func() (*document.Chart, error) { return s.chart(metrics) })
		d.Name = fileName(append(file, s.name)...)
		list = append(list, d)
	}
	return list
}

// sampled reports whether a cell other than a reference has a sample of a metric.
func sampled(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		_, ok := c.Value(m)
		return ok && !isReference(&c)
	})
}

// sweeps groups the cells of a run by their swept parameters: those over one parameter first.
func sweeps(run *results.Run) (list []sweep) {
	byStrategy := map[string][]*results.Cell{}
	var strategies []string
	for i := range run.Cells {
		c := &run.Cells[i]
		if isReference(c) {
			continue
		}
		if byStrategy[c.Strategy] == nil {
			strategies = append(strategies, c.Strategy)
		}
		byStrategy[c.Strategy] = append(byStrategy[c.Strategy], c)
	}
	var plain []*results.Cell
	var maps []sweep
	for _, name := range strategies {
		cells := byStrategy[name]
		switch axes := axesOf(cells); len(axes) {
		case 0:
			plain = append(plain, cells...)
		case 1:
			if i := slices.IndexFunc(list, func(s sweep) bool { return s.axes[0].key == axes[0].key }); i >= 0 {
				list[i].cells = append(list[i].cells, cells...)
			} else {
				list = append(list, sweep{run: run, axes: axes, cells: cells})
			}
		default: // at the first setting of those beyond the two with the most values
			s := sweep{run: run, axes: axes[:2], name: name}
			for _, c := range cells {
				if !slices.ContainsFunc(axes[2:], func(a axis) bool { return c.Params[a.key] != cells[0].Params[a.key] }) {
					s.cells = append(s.cells, c)
				}
			}
			if n := len(cells) - len(s.cells); n > 0 {
				s.notes = append(s.notes, document.Count(n, "cell")+" with other settings not drawn")
			}
			maps = append(maps, s)
		}
	}
	for i := range list {
		s := &list[i]
		all := append(s.cells, plain...)
		s.cells = nil
		for _, c := range all {
			if _, ok := c.Params[s.axes[0].key]; ok {
				s.cells = append(s.cells, c)
			} else {
				s.flat = append(s.flat, c)
			}
		}
		s.axes = axesOf(s.cells)
	}
	return append(list, maps...)
}

// chart draws metrics over the parameters: over one a curve for each, one above the other, over two a map of the first.
func (s *sweep) chart(metrics []string) (*document.Chart, error) {
	var list []*metricSweep
	for _, name := range metrics {
		m, ok := results.LookupMetric(name)
		if !ok {
			return nil, fmt.Errorf("unknown metric %q", name)
		}
		if of := s.measure(m); len(of.points) > 0 {
			list = append(list, of)
		} else if len(list) == 0 {
			return nil, fmt.Errorf("no cell has a sample of %s", name)
		}
	}
	if len(s.axes) == 2 {
		return list[0].tiles(), nil
	}
	return curves(list), nil
}

// metricSweep is a metric over the parameters of a sweep.
type metricSweep struct {
	*sweep
	metric results.Metric
	points []sweepPoint         // in the order of their places
	notes  []string             // of the sweep and of the metric
	write  func(float64) string // formats values for people
}

// sweepPoint is a cell at its place.
type sweepPoint struct {
	cell  *results.Cell
	at    [2]int // indices of values, by axis
	value float64
}

// measure assigns the cells that all did the same work to places.
func (s *sweep) measure(m results.Metric) *metricSweep {
	of := &metricSweep{sweep: s, metric: m, notes: slices.Clone(s.notes)}
	sessions, left := 0, 0
	for _, c := range s.cells {
		sessions = max(sessions, c.Sessions)
	}
	for _, c := range s.cells {
		p := sweepPoint{cell: c}
		for i := range s.axes {
			p.at[i] = s.axes[i].index(c.Params[s.axes[i].key])
		}
		var ok bool
		if p.value, ok = c.Value(m); !ok || min(p.at[0], p.at[1]) < 0 || math.IsNaN(p.value) || math.IsInf(p.value, 0) || c.Sessions < sessions ||
			c.Total.CutShort() && m.Unit == measures.UnitUSD {
			left++
			continue
		}
		of.points = append(of.points, p)
	}
	if left > 0 {
		of.notes = append(of.notes, document.Count(left, "cell")+" not drawn: without a sample, of fewer sessions than other cells, or cut short")
	}
	slices.SortStableFunc(of.points, func(a, b sweepPoint) int { return cmp.Compare(a.at[0], b.at[0]) })
	of.write = document.Format(m.Unit, of.values())
	return of
}

func (s *metricSweep) values() []float64 {
	vs := make([]float64, len(s.points))
	for i, p := range s.points {
		vs[i] = p.value
	}
	return vs
}

// best returns the points with the best value, and says where they are; none when
// no value is better than another.
func (s *metricSweep) best() (best []sweepPoint, name string) {
	want := slices.Min(s.values())
	if s.metric.Better == measures.Higher {
		want = slices.Max(s.values())
	}
	best = slices.DeleteFunc(slices.Clone(s.points), func(p sweepPoint) bool { return p.value != want })
	if s.metric.Better == measures.Neither || len(best) == len(s.points) {
		return nil, ""
	}
	var at []string
	for _, a := range s.axes {
		text := a.label(best[0].cell.Params[a.key])
		if len(s.axes) > 1 {
			text = shortTitle(axisTitle(s.run, a.key)) + " " + text
		}
		at = append(at, text)
	}
	name = "best: " + s.write(want) + " at " + strings.Join(at, ", ")
	if n := len(best) - 1; n > 0 {
		name += " and " + strconv.Itoa(n) + " more"
	}
	return best, name
}

// beside returns the cells that do not depend on the parameters: the reference
// cells over the same number of sessions, and the flat ones.
func (s *metricSweep) beside() (cells []*results.Cell) {
	for _, name := range []string{measures.StrategyRecorded, measures.StrategyBilled} {
		if c := s.run.Reference(name); c != nil && c.Sessions == s.points[0].cell.Sessions {
			cells = append(cells, c)
		}
	}
	return slices.DeleteFunc(append(cells, s.flat...), func(c *results.Cell) bool {
		_, ok := c.Value(s.metric)
		return !ok
	})
}

// frame returns a chart of metrics over the same cells.
func frame(list []*metricSweep, trust string, width float64, panels []document.Panel) *document.Chart {
	first, drawn := list[0], []string(nil)
	for _, p := range first.points {
		drawn = append(drawn, p.cell.Cell)
	}
	var notes, titles, over []string
	for i, s := range list {
		title := metricTitle(s.metric)
		if i > 0 {
			title = strings.ToLower(title)
		}
		titles = append(titles, title)
		for _, note := range s.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	notes = append(notes, cellNotes(first.run, drawn...)...)
	for _, a := range first.axes {
		over = append(over, shortTitle(axisTitle(first.run, a.key)))
	}
	c := runChart(first.run, document.And(titles)+" by "+document.And(over), trust, width, panels, notes...)
	facts := document.Count(len(first.points), "cell")
	if first.name != "" {
		facts = first.name + " · " + facts
	}
	c.Facts = append(c.Facts, document.Printable(facts))
	return c
}

// metricTitle returns the name of a metric for people: Cost for cost_usd.
func metricTitle(m results.Metric) string {
	switch m.Name {
	case measures.NameRecall:
		return "Recall"
	case measures.NameHitRatio:
		return "Read from the cache"
	}
	t := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_usd"), "_seconds"), "_", " ")
	return strings.ToUpper(t[:1]) + t[1:]
}

// axis is a parameter that takes several values under one strategy.
type axis struct {
	key     string
	values  []string // each once: by size if all are numbers, else in the order of the cells
	numeric bool     // all values are numbers or durations such as 5m and 1h
}

// axesOf returns the swept parameters of cells, the one with the most values first.
func axesOf(cells []*results.Cell) []axis {
	values := map[string][]string{}
	swept := map[string]bool{}
	first := map[[2]string]string{} // value by strategy and key
	for _, c := range cells {
		for k, v := range c.Params {
			at := [2]string{c.Strategy, k}
			if f, ok := first[at]; !ok {
				first[at] = v
			} else if f != v {
				swept[k] = true
			}
			if !slices.Contains(values[k], v) {
				values[k] = append(values[k], v)
			}
		}
	}
	var axes []axis
	for _, k := range slices.Sorted(maps.Keys(swept)) {
		axes = append(axes, newAxis(k, values[k]))
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(len(b.values), len(a.values)) })
	return axes
}

// newAxis sorts the values of a parameter.
func newAxis(key string, values []string) axis {
	a := axis{key: key, values: values}
	a.numeric = !slices.ContainsFunc(values, func(v string) bool { return math.IsNaN(numberOf(v)) })
	if a.numeric {
		slices.SortStableFunc(a.values, func(v, w string) int { return cmp.Compare(numberOf(v), numberOf(w)) })
	}
	return a
}

// index returns the index of a value among a's values.
func (a *axis) index(value string) int { return slices.Index(a.values, value) }

// label formats a value compactly: 167k for 167000.
func (a *axis) label(value string) string {
	if v := numberOf(value); a.numeric && len(value) > 4 && v == math.Trunc(v/1000)*1000 && value == document.Plain(v) {
		return document.Plain(v/1000) + "k"
	}
	return document.Shortened(document.Printable(value), maxValueRunes)
}

// maxValueRunes is the largest length of values at an axis, characters.
const maxValueRunes = 18

// numberOf returns the number of a value, or of a duration its seconds, NaN for any other text.
func numberOf(value string) float64 {
	if v, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(v, 0) {
		return v
	}
	if d, err := time.ParseDuration(value); err == nil {
		return d.Seconds()
	}
	return math.NaN()
}

// axisTitle returns what people call a parameter.
func axisTitle(run *results.Run, key string) string {
	return document.Printable(cmp.Or(run.Provenance.Axes[key], strings.NewReplacer(".", " ", "_", " ").Replace(key)))
}
