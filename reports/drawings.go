package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// Drawing is a chart that can be written in the formats of ChartFormats.
type Drawing struct {
	Name string // of a file, without extension: lower-case letters, digits, - and _
	Draw func(w io.Writer, format string) error
}

// Drawings returns the charts of a run: the cost of its cells, its sweeps and,
// from the calls of some cells when given, the context of one session and hits
// over time. Calls of more cells than a chart tells apart are those of the
// recorded cell and of the cheapest others.
func Drawings(run *results.Run, calls []results.CellCalls, o ContextOptions) []Drawing {
	list := []Drawing{{"cost", func(w io.Writer, format string) error { return Chart(w, format, run) }}}
	list = append(list, SweepCharts(run)...)
	calls = slices.DeleteFunc(slices.Clone(calls), func(c results.CellCalls) bool { return len(c.Calls) == 0 })
	if len(calls) > 0 {
		calls = foremost(run, calls)
		list = append(list,
			Drawing{"context", func(w io.Writer, format string) error { return ContextChart(w, format, run, calls, o) }},
			Drawing{"hit-ratio", func(w io.Writer, format string) error { return HitChart(w, format, run, calls) }})
	}
	return list
}

// foremost returns the calls of the recorded cell and of the cheapest others,
// as many as a chart tells apart, in the order given.
func foremost(run *results.Run, calls []results.CellCalls) []results.CellCalls {
	if len(calls) <= maxCellsOfCalls {
		return calls
	}
	costs := map[string]float64{}
	for i := range run.Cells {
		c := &run.Cells[i]
		costs[c.Cell] = c.Total.CostUSD()
		if c.Strategy == results.StrategyRecorded {
			costs[c.Cell] = -1
		}
	}
	order := slices.Clone(calls)
	slices.SortStableFunc(order, func(a, b results.CellCalls) int { return cmp.Compare(costs[a.Cell], costs[b.Cell]) })
	chosen := map[string]bool{}
	for _, c := range order[:maxCellsOfCalls] {
		chosen[c.Cell] = true
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c results.CellCalls) bool { return !chosen[c.Cell] })
}

// defaultSweepMetrics are drawn when none are named.
var defaultSweepMetrics = []string{"cost_usd", "cache_hit_ratio", "compactions"}

// maxSlices is how many maps of one metric are drawn when more than two
// parameters were swept: one for each setting of the others.
const maxSlices = 12

// SweepCharts returns the charts of the swept parameters of run for each
// metric; without metrics for those of cost_usd, cache_hit_ratio and compactions
// that some cell has a sample of. Lines of strategies with the same one
// parameter share a chart, as many as it tells apart. Two parameters make a map
// for each strategy and setting of the rest. It returns nothing for a run
// without a sweep.
func SweepCharts(run *results.Run, metrics ...string) []Drawing {
	if len(metrics) == 0 {
		metrics = slices.DeleteFunc(slices.Clone(defaultSweepMetrics), func(name string) bool { return !sampled(run, name) })
	}
	var list []Drawing
	used := map[string]int{}
	for _, name := range metrics {
		for _, f := range sweepFamilies(run) {
			file := fileName("sweep", name, strings.Join(keysNamed(f.axes), "-"), f.name)
			if used[file]++; used[file] > 1 {
				file = fmt.Sprintf("%s-%d", file, used[file])
			}
			list = append(list, Drawing{file, func(w io.Writer, format string) error { return f.draw(w, format, run, name) }})
		}
	}
	return list
}

// sampled reports whether a cell that is no reference has a sample of a metric.
func sampled(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		_, ok := c.Value(m)
		return ok && !isReference(&c)
	})
}

// sweepFamily is the cells of one chart of a sweep.
type sweepFamily struct {
	axes  []Axis
	cells []*results.Cell
	name  string // what tells it from other families with these axes
	slice string // fixed values, for people
	note  string
}

func (f *sweepFamily) draw(w io.Writer, format string, run *results.Run, metric string) error {
	m, ok := results.LookupMetric(metric)
	if !ok {
		return fmt.Errorf("drawing a sweep: unknown metric %q", metric)
	}
	s, err := newSweep(run, m, f.axes, f.cells)
	if err != nil {
		return fmt.Errorf("drawing %s of a sweep: %w", metric, err)
	}
	s.slice = f.slice
	if f.note != "" {
		s.notes = append(s.notes, f.note)
	}
	return s.render(w, format)
}

// sweepFamilies groups the cells of a run by what was swept of them.
func sweepFamilies(run *results.Run) []sweepFamily {
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
	var families []sweepFamily
	var plain []*results.Cell
	shared := map[string]int{} // families over one parameter, by key
	for _, name := range strategies {
		cells := byStrategy[name]
		axes := axesOf(cells)
		switch len(axes) {
		case 0:
			plain = append(plain, cells...)
		case 1:
			if i, ok := shared[axes[0].Key]; ok {
				families[i].cells = append(families[i].cells, cells...)
				continue
			}
			shared[axes[0].Key] = len(families)
			families = append(families, sweepFamily{axes: axes, cells: cells})
		default:
			families = append(families, sliced(name, axes, cells)...)
		}
	}
	for _, i := range shared {
		families[i].cells = append(families[i].cells, plain...)
		families[i].axes = axesOf(families[i].cells)
	}
	var readable []sweepFamily
	for _, f := range families {
		readable = append(readable, f.split()...)
	}
	return readable
}

// split returns f in parts of as many lines as a chart tells apart. Cells
// without the parameter stand in each.
func (f sweepFamily) split() []sweepFamily {
	if len(f.axes) > 1 {
		return []sweepFamily{f}
	}
	key := f.axes[0].Key
	part := map[string]int{} // by group
	var parts []sweepFamily
	for _, c := range f.cells {
		g := groupOf(c, f.axes)
		if _, ok := c.Params[key]; ok {
			if _, ok := part[g]; !ok {
				part[g] = len(part) / len(strokes())
			}
		}
	}
	for i := range (len(part) + len(strokes()) - 1) / len(strokes()) {
		p := sweepFamily{axes: f.axes}
		for _, c := range f.cells {
			at, ok := part[groupOf(c, f.axes)]
			if !ok || at == i {
				p.cells = append(p.cells, c)
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// sliced returns a family over the first two axes for each setting of the
// others.
func sliced(strategy string, axes []Axis, cells []*results.Cell) []sweepFamily {
	var families []sweepFamily
	at := map[string]int{}
	for _, c := range cells {
		var fixed []string
		for _, a := range axes[2:] {
			fixed = append(fixed, a.Key+"="+c.Params[a.Key])
		}
		name := strings.Join(fixed, " · ")
		i, ok := at[name]
		if !ok {
			i = len(families)
			at[name] = i
			families = append(families, sweepFamily{axes: axes[:2], name: strategy + "-" + strings.Join(fixed, "-"), slice: Printable(name)})
		}
		families[i].cells = append(families[i].cells, c)
	}
	if n := len(families) - maxSlices; n > 0 {
		families = families[:maxSlices]
		families[maxSlices-1].note = CountOf(n, "further setting") + " of " + keysOf(axes[2:]) + " not drawn"
	}
	return families
}

func keysNamed(axes []Axis) []string {
	keys := make([]string, len(axes))
	for i := range axes {
		keys[i] = axes[i].Key
	}
	return keys
}

// fileName joins parts into a name that any file system takes.
func fileName(parts ...string) string {
	var clean []string
	for _, p := range parts {
		p = strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '-'
		}, p), "-")
		if p != "" {
			clean = append(clean, p)
		}
	}
	return strings.Join(clean, "-")
}

// undrawn names the simulated cells of a run that a chart of calls leaves out,
// in a note; none when it draws all.
func undrawn(run *results.Run, calls []results.CellCalls) []string {
	var names []string
	for i := range run.Cells {
		c := &run.Cells[i]
		drawn := slices.ContainsFunc(calls, func(k results.CellCalls) bool { return k.Cell == c.Cell })
		if c.Strategy != results.StrategyBilled && !drawn {
			names = append(names, c.Cell)
		}
	}
	const named = 3
	switch {
	case len(names) == 0:
		return nil
	case len(names) > named:
		names = append(names[:named], "and "+CountOf(len(names)-named, "other"))
	}
	return []string{"not drawn: " + strings.Join(names, ", ")}
}
