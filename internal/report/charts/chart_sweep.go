package reports

import (
	"cmp"
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

// best returns the points with the best value and the word for them; none when
// no value is better than another.
func (s *sweep) best() ([]sweepPoint, string) {
	values := s.values()
	want, name := slices.Min(values), "lowest"
	if s.metric.Better == results.Higher {
		want, name = slices.Max(values), "highest"
	}
	best := slices.DeleteFunc(slices.Clone(s.points), func(p sweepPoint) bool { return p.value != want })
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
	name += ": " + s.write(want) + " at " + strings.Join(at, ", ")
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
func frame(list []*sweep, common, trust string) *document.Chart {
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
	c := runChart(first.run, listed(titles)+" by "+listed(over), trust, compacted(notes)...)
	second := []string{first.slice, common, document.Count(len(first.points), "cell")}
	second = slices.DeleteFunc(second, func(t string) bool { return t == "" })
	c.Facts = []string{headLines(first.run)[0], strings.Join(second, " · ")}
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

// Heights of panels of curves, points: of the first, and of those below it.
const (
	curveHeight = 240
	belowHeight = 110
)

// curves draws sweeps of one parameter above each other, on one axis.
func curves(list []*sweep) *document.Chart {
	tied := list[0].tied()
	var panels []document.Panel
	var common string
	spanned := false
	for i, s := range list {
		p := document.Panel{Height: curveHeight}
		if i > 0 {
			p.Height = belowHeight
		}
		names := s.lines(&p, i == 0)
		if i == 0 {
			common = names
		}
		if tied != nil {
			p.Series = append([]document.Series{tied.band(&p, i == 0)}, p.Series...)
		}
		for _, x := range p.Series {
			spanned = spanned || len(barNotes(x.YSpans)) > 0
		}
		if i < len(list)-1 {
			p.X.Title = ""
			for j := range p.X.Ticks {
				p.X.Ticks[j].Label = ""
			}
		}
		panels = append(panels, p)
	}
	if spanned {
		list[0].notes = append(list[0].notes, intervalNote)
	}
	c := frame(list, common, errorLine(list[0].run))
	c.Width, c.Panels = linesWidth, panels
	return c
}

// lines draws a line for each strategy and setting of the other parameters, and returns what all have in common.
func (s *sweep) lines(p *document.Panel, first bool) (common string) {
	xs := s.xAxis(&p.X)
	var groups []string
	for _, pt := range s.points {
		if !slices.Contains(groups, pt.group) {
			groups = append(groups, pt.group)
		}
	}
	names, common := groupNames(groups)
	styles := looksOf(len(groups))
	points := slices.Clone(s.points)
	slices.SortStableFunc(points, func(a, b sweepPoint) int { return cmp.Compare(a.at[0], b.at[0]) })
	levels, values := s.levels()
	for i, g := range groups {
		line := document.Series{Name: document.Shortened(names[i], maxNameRunes), Style: styles[i]}
		for _, pt := range points {
			if pt.group != g {
				continue
			}
			span := spanOf(s.run, pt.cell, s.metric)
			spread(&line, false, xs[pt.at[0]], pt.value, "", span, pt.cell.Sessions)
			if span.Low != span.High && len(groups) <= maxSpanned {
				values = append(values, max(span.Low, 0.7*pt.value), shownTo(pt.value, []document.Span{span}))
			}
		}
		if len(groups) > maxSpanned { // intervals that overlap show nothing
			line.YSpans = nil
		}
		p.Series = append(p.Series, line.Dotted()...)
	}
	if best, name := s.best(); len(best) > 0 {
		ring := dotsOf(name, document.Style{Color: document.Black, Marker: document.Ring, Size: 6})
		if ring.Aid = true; !first {
			ring.Name = ""
		}
		for _, pt := range best {
			ring.Point(xs[pt.at[0]], pt.value, "")
		}
		p.Series = append(p.Series, ring)
	}
	p.Y = valueAxis(s.metric.Unit, values, 6)
	p.Y.Grid = true
	p.Series = append(levels, append(p.Series, s.errorBand(p)...)...)
	unit := s.metric.Unit
	if unit == results.UnitRatio {
		unit = "%"
	}
	p.Title, p.Note = metricTitle(s.metric)+" ("+unit+")", axisNote(&p.Y)
	return common
}

// maxSpanned is the largest number of lines with intervals.
const maxSpanned = 2

// tie is the range of values of the one parameter that chance cannot tell from the best.
type tie struct {
	low, high float64
	name      string
}

// tied returns the values around the cheapest that tie with it, nil where there are several lines or no rows to compare.
func (s *sweep) tied() *tie {
	best, _ := s.best()
	if len(best) != 1 || s.metric.Name != results.NameCost ||
		slices.ContainsFunc(s.points, func(p sweepPoint) bool { return p.group != best[0].group }) {
		return nil
	}
	var axis document.Axis
	xs := s.xAxis(&axis)
	points := slices.Clone(s.points)
	slices.SortStableFunc(points, func(a, b sweepPoint) int { return cmp.Compare(a.at[0], b.at[0]) })
	at := slices.IndexFunc(points, func(p sweepPoint) bool { return p.cell == best[0].cell })
	ties := func(i int) bool {
		d, ok := s.run.ModelError.Difference(points[i].cell, best[0].cell)
		return ok && (d.Chance() || d.Known && d.Low == d.High && d.Relative == 0)
	}
	from, to := at, at
	for from > 0 && ties(from-1) {
		from--
	}
	for to < len(points)-1 && ties(to+1) {
		to++
	}
	if from == to {
		return nil
	}
	label := func(i int) string { return s.axes[0].label(points[i].cell.Params[s.axes[0].key]) }
	return &tie{xs[points[from].at[0]], xs[points[to].at[0]], "ties with the best: " + label(from) + " … " + label(to)}
}

// band draws a tie across a panel.
func (t *tie) band(p *document.Panel, named bool) document.Series {
	band := document.Series{Mark: document.MarkBand, Style: document.Style{Color: 0xdbe9f6}}
	if named {
		band.Name = t.name
	}
	band.Box(t.low, p.Y.Low, t.high, p.Y.High, "")
	return band
}

// xAxis sets the axis of the one parameter and returns the places of its
// values: numbers by size, texts one after another.
func (s *sweep) xAxis(x *document.Axis) []float64 {
	a := &s.axes[0]
	xs := make([]float64, len(a.values))
	for i, v := range a.values {
		xs[i] = float64(i)
		if a.numeric {
			xs[i] = numberOf(v)
		}
		x.Ticks = append(x.Ticks, document.Tick{Value: xs[i], Label: a.label(v)})
	}
	x.Title, x.Names = s.title(a), !a.numeric
	low, high := xs[0], xs[len(xs)-1]
	if x.Log = low > 0 && high/low > maxLinearRatio; x.Log {
		margin := math.Pow(high/low, 0.04)
		x.Title += " (logarithmic)"
		x.Low, x.High = low/margin, high*margin
		return xs
	}
	margin := 0.04 * (high - low)
	if x.Names {
		margin = 0.5
	}
	x.Low, x.High = low-margin, high+margin
	return xs
}

// title returns the label of an axis: the name of the parameter and, if the run
// has it, its unit.
func (s *sweep) title(a *axis) string {
	return axisTitle(s.run, a.key)
}

// axisTitle returns what people call a parameter.
func axisTitle(run *results.Run, key string) string {
	return document.Printable(cmp.Or(run.Provenance.Axes[key], strings.NewReplacer(".", " ", "_", " ").Replace(key)))
}

// levels returns lines across the chart for the cells beside the points, and
// the values that the axis must show. A line that would squeeze the points into
// a small part of the chart becomes a note.
func (s *sweep) levels() (list []document.Series, values []float64) {
	values = s.values()
	low, high := slices.Min(values), slices.Max(values)
	span := max(high-low, 0.05*math.Abs(high), minSpan(s.metric.Unit))
	for _, c := range s.beside() {
		v, _ := c.Value(s.metric)
		name := document.Shortened(document.Printable(c.Cell), maxNameRunes/2)
		if v < low-3*span || v > high+3*span || len(list) == maxLevels {
			s.notes = append(s.notes, "not drawn, "+name+": "+s.write(v))
			continue
		}
		style := document.Style{Color: document.Grey, Width: 1, Dashes: []float64{2, 3, 6, 3}}
		switch c.Strategy {
		case results.StrategyRecorded:
			style = document.Style{Color: document.Black, Width: 1.2}
		case results.StrategyBilled:
			style = document.Style{Color: document.Black, Width: 1.2, Dashes: []float64{1, 2}}
		}
		lv := document.Series{Mark: document.MarkLevel, Style: style, Data: name}
		lv.Point(0, v, name+" "+s.write(v))
		list = append(list, lv)
		values = append(values, v)
	}
	return list, values
}

// errorBand returns where the bill of a recorded cost may lie by the model error, USD, or by its interval where there is
// one; other metrics have no bill to compare with.
func (s *sweep) errorBand(p *document.Panel) []document.Series {
	e := s.run.ModelError
	rel, ok := e.Relative()
	recorded := s.run.Reference(results.StrategyRecorded)
	if !ok || rel == 0 || s.metric.Name != results.NameCost || recorded == nil || !slices.Contains(s.beside(), recorded) {
		return nil
	}
	under, over, text := -math.Abs(rel), math.Abs(rel), "±"+document.Percent(math.Abs(rel))
	if e.Sessions > 1 {
		under, over = e.Low, e.High
		text = document.SignedPercent(under) + " … " + document.SignedPercent(over) + " (95 %)"
	}
	v, _ := recorded.Value(s.metric)
	low, high := max(v/(1+over), p.Y.Low), min(v/(1+under), p.Y.High)
	if low >= high {
		return nil
	}
	band := document.Series{Mark: document.MarkBand, Style: document.Style{Color: 0xdadada}}
	band.Name = "bill of recorded by the model error"
	s.notes = append(s.notes, "model error around recorded: "+text)
	band.Box(p.X.Low, low, p.X.High, high, "")
	return []document.Series{band}
}
