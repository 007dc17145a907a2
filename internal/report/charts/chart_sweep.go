package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// Limits of charts of a sweep.
const (
	linesWidth     = 560
	mapWidth       = 560
	maxMapValues   = 200 // tiles that show their values
	maxLevels      = 8   // lines across a chart
	maxLinearRatio = 25  // largest ratio of the ends of a linear axis; beyond it the axis is logarithmic
)

// sweep is a metric over one or two parameters.
type sweep struct {
	*sweepFamily
	run    *results.Run
	metric results.Metric
	points []sweepPoint
	flat   []*results.Cell // strategies without the parameters
	notes  []string
	write  func(float64) string // formats values for people
}

// sweepPoint is a cell that has the parameters of a sweep.
type sweepPoint struct {
	cell  *results.Cell
	at    [2]int // indices of values, by axis
	value float64
	group string // strategy and other parameters
}

// chart draws metrics over the parameters of a family: over one a curve for each, one above the other, over two a map of
// the first. Cells that cover fewer sessions than the others are left out and named.
func (f *sweepFamily) chart(run *results.Run, metrics ...string) (*document.Chart, error) {
	var list []*sweep
	for _, name := range metrics {
		m, ok := results.LookupMetric(name)
		if !ok {
			return nil, fmt.Errorf("unknown metric %q", name)
		}
		s := &sweep{sweepFamily: f, run: run, metric: m}
		if err := s.place(); err != nil {
			if len(list) > 0 {
				continue
			}
			return nil, err
		}
		s.write = document.Format(m.Unit, s.values())
		list = append(list, s)
	}
	if len(f.axes) == 2 {
		return list[0].tiles(), nil
	}
	return curves(list), nil
}

// place assigns the cells to places. Two cells in one place are an error, because one would hide the other.
func (s *sweep) place() error {
	partial, unsampled, cut, sessions := 0, 0, 0, 0
	for _, c := range s.cells {
		sessions = max(sessions, c.Sessions)
	}
	seen := map[string]string{}
	for _, c := range s.cells {
		v, ok := c.Value(s.metric)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("cell %q: %s %v cannot be drawn", c.Cell, s.metric.Name, v)
		case c.Sessions < sessions:
			partial++
		case !ok:
			unsampled++
		case c.Total.CutShort() && s.metric.Unit == results.UnitUSD:
			cut++ // cheap because of the work it leaves out
		case slices.ContainsFunc(s.axes, func(a axis) bool { _, ok := c.Params[a.key]; return !ok }):
			s.flat = append(s.flat, c)
		default:
			p := sweepPoint{cell: c, value: v, group: groupOf(c, s.axes)}
			for i := range s.axes {
				p.at[i] = s.axes[i].index(c.Params[s.axes[i].key])
			}
			place := fmt.Sprint(p.at)
			if len(s.axes) == 1 {
				place += p.group
			}
			if other, ok := seen[place]; ok {
				return fmt.Errorf("cells %q and %q share one place of the chart", other, c.Cell)
			}
			seen[place] = c.Cell
			s.points = append(s.points, p)
		}
	}
	if len(s.points) == 0 {
		return fmt.Errorf("no cell has a sample of %s", s.metric.Name)
	}
	if s.note != "" {
		s.notes = append(s.notes, s.note)
	}
	if len(s.axes) == 1 {
		s.limit()
	}
	if partial > 0 {
		s.notes = append(s.notes, document.Count(partial, "cell")+" not drawn: fewer sessions than the others")
	}
	if unsampled > 0 {
		s.notes = append(s.notes, document.Count(unsampled, "cell")+" without a sample of "+s.metric.Name)
	}
	if cut > 0 {
		s.notes = append(s.notes, document.Count(cut, "cell")+" not drawn: sessions end early")
	}
	return nil
}

// limit leaves out the lines beyond those that a chart can distinguish.
func (s *sweep) limit() {
	var groups []string
	for _, p := range s.points {
		if !slices.Contains(groups, p.group) {
			groups = append(groups, p.group)
		}
	}
	most := len(looks())
	if n := len(groups) - most; n > 0 {
		s.points = slices.DeleteFunc(s.points, func(p sweepPoint) bool { return slices.Contains(groups[most:], p.group) })
		s.notes = append(s.notes, document.Count(n, "line")+" not drawn: more cannot be told apart")
	}
}

// groupOf names the strategy and all parameters of a cell except those of axes.
func groupOf(c *results.Cell, axes []axis) string {
	var b strings.Builder
	b.WriteString(c.Strategy)
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		if !slices.ContainsFunc(axes, func(a axis) bool { return a.key == k }) {
			fmt.Fprintf(&b, "\n%s=%s", k, c.Params[k])
		}
	}
	return b.String()
}

// groupNames returns the names of groups for people, and what all have in
// common besides the strategy.
func groupNames(groups []string) (names []string, common string) {
	count := map[string]int{}
	for _, g := range groups {
		for _, part := range strings.Split(g, "\n")[1:] {
			count[part]++
		}
	}
	for _, g := range groups {
		parts := slices.DeleteFunc(strings.Split(g, "\n"), func(p string) bool { return count[p] == len(groups) })
		names = append(names, document.Printable(strings.Join(parts, " ")))
	}
	shared := slices.DeleteFunc(slices.Sorted(maps.Keys(count)), func(p string) bool { return count[p] < len(groups) })
	return names, document.Printable(strings.Join(shared, " · "))
}

// values returns the values of all points.
func (s *sweep) values() []float64 {
	vs := make([]float64, len(s.points))
	for i, p := range s.points {
		vs[i] = p.value
	}
	return vs
}

// best returns the points with the best value, and says where they are; none when
// no value is better than another.
func (s *sweep) best() (best []sweepPoint, name string) {
	want := slices.Min(s.values())
	if s.metric.Better == results.Higher {
		want = slices.Max(s.values())
	}
	best = slices.DeleteFunc(slices.Clone(s.points), func(p sweepPoint) bool { return p.value != want })
	if s.metric.Better == results.Neither || len(best) == len(s.points) {
		return nil, ""
	}
	var at []string
	for _, a := range s.axes {
		text := a.label(best[0].cell.Params[a.key])
		if len(s.axes) > 1 {
			text = shortTitle(s.title(&a)) + " " + text
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
// cells with a sample over the same number of sessions, and the flat ones.
func (s *sweep) beside() []*results.Cell {
	var cells []*results.Cell
	for _, name := range []string{results.StrategyRecorded, results.StrategyBilled} {
		if c := s.run.Reference(name); c != nil && c.Sessions == s.points[0].cell.Sessions {
			if v, ok := c.Value(s.metric); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
				cells = append(cells, c)
			}
		}
	}
	return append(cells, s.flat...)
}

// frame returns a chart of sweeps over the same cells with what all have in common.
func frame(list []*sweep, common, trust string, width float64, panels []document.Panel) *document.Chart {
	first, drawn := list[0], map[string]bool{}
	for _, p := range first.points {
		drawn[p.cell.Cell] = true
	}
	var notes, titles, over []string
	for i, s := range list {
		title := metricTitle(s.metric)
		if i > 0 {
			title = strings.ToLower(title)
		}
		titles = append(titles, title)
		notes = append(notes, s.notes...)
	}
	notes = append(notes, cellNotes(first.run, func(cell string) bool { return drawn[cell] })...)
	for i := range first.axes {
		over = append(over, shortTitle(first.title(&first.axes[i])))
	}
	c := runChart(first.run, listed(titles)+" by "+listed(over), trust, width, panels, compacted(notes)...)
	second := []string{common, document.Count(len(first.points), "cell")}
	second = slices.DeleteFunc(second, func(t string) bool { return t == "" })
	c.Facts = append(c.Facts, strings.Join(second, " · "))
	return c
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// compacted returns texts without repetitions, in their order.
func compacted(texts []string) (list []string) {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// metricTitle returns the name of a metric for people: Cost for cost_usd.
func metricTitle(m results.Metric) string {
	switch m.Name {
	case results.NameRecall:
		return "Recall"
	case results.NameHitRatio:
		return "Read from the cache"
	}
	t := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_usd"), "_seconds"), "_", " ")
	return strings.ToUpper(t[:1]) + t[1:]
}
