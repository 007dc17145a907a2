package charts

import (
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// curves draws metrics over one parameter above each other, on one axis.
func curves(list []*metricSweep) *document.Chart {
	tied := list[0].tied()
	var panels []document.Panel
	spanned := false
	for i, s := range list {
		p := document.Panel{Height: curveHeight}
		if i > 0 {
			p.Height = belowHeight
		}
		s.lines(&p, i == 0)
		if band := tied; len(band.X) > 0 {
			band.Y, band.Y2 = []float64{p.Y.Low}, []float64{p.Y.High}
			p.Series = append([]document.Series{band}, p.Series...)
			tied.Name = "" // in the legend once
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
	return frame(list, errorLine(list[0].run), linesWidth, panels)
}

// lines draws a line for each strategy, as many as can be told apart.
func (s *metricSweep) lines(p *document.Panel, first bool) {
	xs := s.xAxis(&p.X)
	var names []string
	for _, pt := range s.points {
		if !slices.Contains(names, pt.cell.Strategy) {
			names = append(names, pt.cell.Strategy)
		}
	}
	if n := len(names) - len(looks()); n > 0 {
		names = names[:len(looks())]
		s.notes = append(s.notes, document.Count(n, "line")+" not drawn: more cannot be told apart")
		s.points = slices.DeleteFunc(s.points, func(pt sweepPoint) bool { return !slices.Contains(names, pt.cell.Strategy) })
	}
	levels, values := s.levels(xs)
	for i, style := range looksOf(len(names)) {
		line := document.Series{Name: document.Shortened(document.Printable(names[i]), maxNameRunes), Style: style}
		for _, pt := range s.points {
			if pt.cell.Strategy != names[i] {
				continue
			}
			span := spanOf(s.run, pt.cell, s.metric)
			spread(&line, false, xs[pt.at[0]], pt.value, "", span, pt.cell.Sessions)
			if span.Low != span.High && len(names) <= maxSpanned {
				values = append(values, max(span.Low, 0.7*pt.value), shownTo(pt.value, []document.Span{span}))
			}
		}
		if len(names) > maxSpanned { // intervals that overlap show nothing
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
	p.Series = append(p.Series, levels...)
	p.Y = valueAxis(s.metric.Unit, values, 6)
	p.Y.Grid = true
	unit := s.metric.Unit
	if unit == measures.UnitRatio {
		unit = "%"
	}
	p.Title, p.Note = metricTitle(s.metric)+" ("+unit+")", axisNote(&p.Y)
}

// tied returns a band of the values around the cheapest that chance cannot tell from it, an empty one where there are
// several lines or no rows to compare.
func (s *metricSweep) tied() (band document.Series) {
	best, _ := s.best()
	if len(best) != 1 || s.metric.Name != measures.NameCost ||
		slices.ContainsFunc(s.points, func(p sweepPoint) bool { return p.cell.Strategy != best[0].cell.Strategy }) {
		return band
	}
	ties := func(i int) bool {
		d, ok := s.run.ModelError.Difference(s.points[i].cell, best[0].cell)
		return ok && (d.Mark() != "" || d.Relative == 0)
	}
	from := slices.IndexFunc(s.points, func(p sweepPoint) bool { return p.cell == best[0].cell })
	to := from
	for from > 0 && ties(from-1) {
		from--
	}
	for to < len(s.points)-1 && ties(to+1) {
		to++
	}
	if from == to {
		return band
	}
	var axis document.Axis
	xs, a := s.xAxis(&axis), &s.axes[0]
	band = document.Series{Mark: document.MarkBand, Style: document.Style{Color: 0xdbe9f6}}
	low, high := s.points[from].at[0], s.points[to].at[0]
	band.Name = "ties with the best: " + a.label(a.values[low]) + " … " + a.label(a.values[high])
	band.Box(xs[low], 0, xs[high], 0, "")
	return band
}

// xAxis sets the axis of the one parameter and returns the places of its
// values: numbers by size, texts one after another.
func (s *metricSweep) xAxis(x *document.Axis) []float64 {
	a := &s.axes[0]
	xs := make([]float64, len(a.values))
	for i, v := range a.values {
		xs[i] = float64(i)
		if a.numeric {
			xs[i] = numberOf(v)
		}
		x.Ticks = append(x.Ticks, document.Tick{Value: xs[i], Label: a.label(v)})
	}
	x.Title, x.Names = axisTitle(s.run, a.key), !a.numeric
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

// levels returns lines across the chart for the cells beside the points, and
// the values that the axis must show. A line that would squeeze the points into
// a small part of the chart becomes a note.
func (s *metricSweep) levels(xs []float64) (list []document.Series, values []float64) {
	values = s.values()
	low, high := slices.Min(values), slices.Max(values)
	span := max(high-low, 0.05*math.Abs(high), minSpan(s.metric.Unit))
	for _, c := range s.beside() {
		v, _ := c.Value(s.metric)
		name := document.Shortened(document.Printable(c.Cell), maxNameRunes)
		if v < low-3*span || v > high+3*span || len(list) == maxLevels {
			s.notes = append(s.notes, "not drawn, "+name+": "+s.write(v))
			continue
		}
		style := document.Style{Color: document.Grey, Width: 1, Dashes: []float64{2, 3, 6, 3}}
		switch c.Strategy {
		case measures.StrategyRecorded:
			style = document.Style{Color: document.Black, Width: 1.2}
		case measures.StrategyBilled:
			style = document.Style{Color: document.Black, Width: 1.2, Dashes: []float64{1, 2}}
		}
		level := document.Series{Name: name, Style: style}
		level.Point(xs[0], v, "")
		level.Point(xs[len(xs)-1], v, "")
		list = append(list, level)
		values = append(values, v)
	}
	return list, values
}

// tiles draws a map of two parameters: a tile for each pair of values.
func (s *metricSweep) tiles() *document.Chart {
	columns, rows := len(s.axes[0].values), len(s.axes[1].values)
	values := s.values()
	low, high := slices.Min(values), slices.Max(values)
	tiles := document.Series{Name: strings.ToLower(metricTitle(s.metric)) + " " + s.write(low) + " … " + s.write(high), Data: s.metric.Name, Mark: document.MarkBox}
	printed, marked, widest := columns*rows <= maxMapValues, false, 0
	for _, pt := range s.points {
		text := ""
		if printed {
			text = s.write(pt.value)
			if d, ok := s.run.VsRecorded(pt.cell); s.metric.Name == measures.NameCost && ok && d.Mark() != "" {
				text, marked = bracket(text, d.Mark()), true
			}
			widest = max(widest, len([]rune(text)))
		}
		pt.tile(&tiles, text)
		tiles.Values, tiles.Sessions = append(tiles.Values, pt.value), append(tiles.Sessions, pt.cell.Sessions)
		tiles.Shade = append(tiles.Shade, (pt.value-low)/max(high-low, math.SmallestNonzeroFloat64))
	}
	width, height := max(9, float64(linesWidth)/float64(columns)), 24.0
	if printed {
		width = max(5*float64(widest)+10, min(width, 72))
	} else {
		height = min(max(9, linesWidth*2/3/float64(rows)), height)
	}
	p := document.Panel{Title: axisTitle(s.run, s.axes[1].key), Height: height * float64(rows),
		X: places(&s.axes[0]), Y: places(&s.axes[1]), Series: []document.Series{tiles}}
	p.X.Title, p.X.Names = axisTitle(s.run, s.axes[0].key), !s.axes[0].numeric
	if best, name := s.best(); len(best) > 0 {
		outline := document.Series{Name: name, Mark: document.MarkBox, Aid: true, Style: document.Style{Color: 0xc83c00, Hollow: true, Width: 2}}
		for _, pt := range best {
			pt.tile(&outline, "")
		}
		p.Series = append(p.Series, outline)
	}
	for _, c := range s.beside() {
		v, _ := c.Value(s.metric)
		s.notes = append(s.notes, "for comparison, "+cellName(c.Cell)+": "+s.write(v))
	}
	trust := errorLine(s.run)
	if marked {
		trust = chartTrust(s.run, marksOf(s.run))
	}
	return frame([]*metricSweep{s}, trust, max(width*float64(columns), linesWidth*3/4), []document.Panel{p})
}

func (p *sweepPoint) tile(to *document.Series, text string) {
	x, y := float64(p.at[0]), float64(p.at[1])
	to.Box(x-0.5, y-0.5, x+0.5, y+0.5, text)
}

// places returns an axis with the values of a parameter beside each other.
func places(a *axis) document.Axis {
	x := document.Axis{Low: -0.5, High: float64(len(a.values)) - 0.5}
	for i, v := range a.values {
		x.Ticks = append(x.Ticks, document.Tick{Value: float64(i), Label: a.label(v)})
	}
	if a.numeric {
		x.Real = func(at float64) float64 { return numberOf(a.values[int(math.Round(at))]) }
	}
	return x
}
