package reports

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

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
	return frame(list, common, errorLine(list[0].run), linesWidth, panels)
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
	p.Series = append(levels, p.Series...)
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
	ties := func(i int) bool { return s.ties(points[i].cell, best[0].cell) }
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

// ties reports whether chance explains by how much a cell is dearer than the best.
func (s *sweep) ties(c, best *results.Cell) bool {
	d, ok := s.run.ModelError.Difference(c, best)
	return ok && (d.Chance() || d.Known && d.Low == d.High && d.Relative == 0)
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
