package reports

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// Measures of a legend.
const (
	keyWidth  = 34 * vg.Length(1) // of a line
	legendBox = 11 * vg.Length(1) // of anything else
	capWidth  = 3 * vg.Length(1)  // of the bar of an interval
)

// addSeries adds the content of a panel: bands, the grid, then the rest.
func (s *sketch) addSeries(p *plot.Plot, of *document.Panel) {
	for i := range of.Series {
		if x := &of.Series[i]; x.Mark == document.MarkBand {
			p.Add(boxes(x))
		}
	}
	style := draw.LineStyle{Color: color.NRGBA{225, 225, 225, 255}, Width: vg.Points(0.6)}
	grid := &plotter.Grid{}
	if of.X.Grid {
		grid.Vertical = style
	}
	if of.Y.Grid {
		grid.Horizontal = style
	}
	p.Add(grid)
	var at []level
	var dotted []*document.Series
	for i := range of.Series {
		x := &of.Series[i]
		p.Add(spans(x)...)
		switch x.Mark {
		case document.MarkLine, document.MarkStep:
			p.Add(lines(x)...)
		case document.MarkDot:
			p.Add(dots(x))
			if dotted = append(dotted, x); !x.Apart {
				p.Add(s.beside(x, vg.Length(x.Style.Size)))
			}
		case document.MarkBox:
			p.Add(s.shaded(x)...)
		case document.MarkText:
			p.Add(s.beside(x, 0))
		case document.MarkLevel:
			for j, y := range x.Y {
				name := x.Texts[j]
				if s.bare {
					name = cmp.Or(x.Data, name)
				}
				at = append(at, level{y, drawable(s.fine, name), lineStyle(x)})
			}
		case document.MarkBand:
		}
	}
	for _, x := range dotted {
		if x.Apart {
			p.Add(&apart{s: s, dotted: dotted})
			break
		}
	}
	if len(at) > 0 {
		slices.SortStableFunc(at, func(a, b level) int { return cmp.Compare(a.value, b.value) })
		p.Add(levels{at, s.fine})
	}
}

// spans returns the intervals of the points of a series.
func spans(x *document.Series) (list []plot.Plotter) {
	style := draw.LineStyle{Color: color.NRGBA{110, 110, 110, 255}, Width: vg.Points(0.8)}
	if x.Unspanned {
		return nil
	}
	if len(x.XSpans) > 0 {
		bars := &plotter.XErrorBars{LineStyle: style, CapWidth: capWidth}
		for i, span := range x.XSpans {
			if span.Low != span.High {
				bars.XYs = append(bars.XYs, plotter.XY{X: x.X[i], Y: x.Y[i]})
				bars.XErrors = append(bars.XErrors, struct{ Low, High float64 }{x.X[i] - span.Low, span.High - x.X[i]})
			}
		}
		list = append(list, bars)
	}
	if len(x.YSpans) > 0 {
		bars := &plotter.YErrorBars{LineStyle: style, CapWidth: capWidth}
		for i, span := range x.YSpans {
			if span.Low != span.High {
				bars.XYs = append(bars.XYs, plotter.XY{X: x.X[i], Y: x.Y[i]})
				bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{x.Y[i] - span.Low, span.High - x.Y[i]})
			}
		}
		list = append(list, bars)
	}
	return list
}

// apart draws the texts of dots where they touch neither dots nor other texts: at the left of their dot, else at its
// right, above it or below; a text without room is left out.
type apart struct {
	s      *sketch
	dotted []*document.Series
}

// Plot implements plot.Plotter.
func (a *apart) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var taken []vg.Rectangle
	free := func(r vg.Rectangle) bool {
		return r.Min.X >= 0 && !slices.ContainsFunc(taken, func(t vg.Rectangle) bool {
			return r.Min.X < t.Max.X && t.Min.X < r.Max.X && r.Min.Y < t.Max.Y && t.Min.Y < r.Max.Y
		})
	}
	around := func(at vg.Point, x, y vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: at.X - x, Y: at.Y - y}, Max: vg.Point{X: at.X + x, Y: at.Y + y}}
	}
	for _, x := range a.dotted {
		for i := range x.X {
			r := vg.Length(x.Style.Size)
			taken = append(taken, around(vg.Point{X: toX(x.X[i]), Y: toY(x.Y[i])}, r, r))
		}
	}
	for _, x := range a.dotted {
		if !x.Apart {
			continue
		}
		labels := a.s.beside(x, vg.Length(x.Style.Size))
		for i, text := range labels.Labels {
			style := labels.TextStyle[i]
			half, away := style.Width(text)/2, labels.Offset.X
			high := style.Height("x")/2 + 1
			for _, side := range []vg.Point{{X: -1}, {X: 1}, {Y: 1}, {Y: -1}} {
				at := vg.Point{X: toX(x.X[i]) + side.X*(away+half), Y: toY(x.Y[i]) + side.Y*(high+away)}
				if side.Y == 0 && len(x.XSpans) > 0 && !x.Unspanned {
					at.Y += high // above the bar
				}
				if box := around(at, half, style.Height("x")/2); free(box) && box.Max.X < a.s.width {
					taken = append(taken, box)
					style.XAlign = draw.XCenter
					c.FillText(style, vg.Point{X: at.X, Y: at.Y + 1}, text)
					break
				}
			}
		}
	}
}

// entry returns the entry of a legend for series of one name.
func (s *sketch) entry(name string, looks []*document.Series) plot.Legend {
	l := plot.NewLegend()
	l.TextStyle = s.text
	l.Left, l.Top, l.ThumbnailWidth = true, true, legendBox
	var thumbs []plot.Thumbnailer
	for _, x := range looks {
		switch x.Mark {
		case document.MarkLine, document.MarkStep:
			l.ThumbnailWidth = keyWidth
			thumbs = append(thumbs, &plotter.Line{LineStyle: lineStyle(x)})
		case document.MarkDot:
			l.ThumbnailWidth = max(l.ThumbnailWidth, 2*vg.Length(x.Style.Size)+2)
			thumbs = append(thumbs, dotKey{glyphStyle(x)})
		case document.MarkBox, document.MarkBand:
			if len(x.Shade) > 0 {
				l.ThumbnailWidth = 3 * keyWidth
				thumbs = append(thumbs, gradient{})
				break
			}
			box := boxes(x)
			if x.Style.Hollow {
				box.Color = color.White
			}
			thumbs = append(thumbs, box)
		case document.MarkLevel, document.MarkText:
		}
	}
	l.Add(drawable(s.text, name), thumbs...)
	return l
}

// lines returns the parts of a line between its gaps; a single point becomes a dot.
func lines(x *document.Series) []plot.Plotter {
	var parts []plot.Plotter
	var points plotter.XYs
	flush := func() {
		switch len(points) {
		case 0:
		case 1:
			style := lineStyle(x)
			dot := draw.GlyphStyle{Color: style.Color, Radius: style.Width, Shape: draw.CircleGlyph{}}
			parts = append(parts, &plotter.Scatter{XYs: points, GlyphStyle: dot})
		default:
			l := &plotter.Line{XYs: points, LineStyle: lineStyle(x)}
			if x.Mark == document.MarkStep {
				l.StepStyle = plotter.PostStep
			}
			parts = append(parts, l)
		}
		points = nil
	}
	for i := range x.X {
		if math.IsNaN(x.Y[i]) {
			flush()
			continue
		}
		points = append(points, plotter.XY{X: x.X[i], Y: x.Y[i]})
	}
	flush()
	return parts
}

func lineStyle(x *document.Series) draw.LineStyle {
	style := draw.LineStyle{Color: rgb(x.Style.Color), Width: vg.Length(x.Style.Width)}
	for _, d := range x.Style.Dashes {
		style.Dashes = append(style.Dashes, vg.Length(d))
	}
	return style
}

func dots(x *document.Series) *plotter.Scatter {
	return &plotter.Scatter{XYs: xys(x), GlyphStyle: glyphStyle(x)}
}

func xys(x *document.Series) plotter.XYs {
	xys := make(plotter.XYs, len(x.X))
	for i := range x.X {
		xys[i] = plotter.XY{X: x.X[i], Y: x.Y[i]}
	}
	return xys
}

func glyphStyle(x *document.Series) draw.GlyphStyle {
	shape := [...]draw.GlyphDrawer{
		document.Circle: draw.CircleGlyph{}, document.Square: draw.BoxGlyph{}, document.Pyramid: draw.PyramidGlyph{},
		document.Cross: draw.CrossGlyph{}, document.Ring: draw.RingGlyph{}, document.Plus: draw.PlusGlyph{},
		document.OpenSquare: draw.SquareGlyph{}, document.Triangle: draw.TriangleGlyph{},
		document.Arrow: arrow{}, document.OpenArrow: arrow{open: true}, document.Stroke: stroke{},
	}[x.Style.Marker]
	return draw.GlyphStyle{Color: rgb(x.Style.Color), Radius: vg.Length(x.Style.Size), Shape: shape}
}

// dotKey is the entry of a legend for dots.
type dotKey struct{ style draw.GlyphStyle }

// Thumbnail implements plot.Thumbnailer.
func (k dotKey) Thumbnail(c *draw.Canvas) {
	at := c.Center()
	if _, above := k.style.Shape.(arrow); above {
		at.Y -= k.style.Radius
	}
	c.DrawGlyph(k.style, at)
}

// arrow is a glyph that points down at its place.
type arrow struct{ open bool }

// DrawGlyph implements draw.GlyphDrawer.
func (a arrow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius
	shape := []vg.Point{at, {X: at.X - r, Y: at.Y + 2*r}, {X: at.X + r, Y: at.Y + 2*r}}
	fill := style.Color
	if a.open {
		fill = color.White
	}
	c.FillPolygon(fill, shape)
	c.StrokeLines(draw.LineStyle{Color: style.Color, Width: vg.Points(1)}, append(shape, at))
}

// stroke is a glyph: a short vertical line.
type stroke struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (stroke) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: style.Color, Width: vg.Points(1)}
	c.StrokeLine2(line, at.X, at.Y-style.Radius, at.X, at.Y+style.Radius)
}

// boxes returns the rectangles of a series in one colour.
func boxes(x *document.Series) *plotter.Polygon {
	p := &plotter.Polygon{Color: rgb(x.Style.Color)}
	switch {
	case x.Style.Hollow:
		p.Color, p.LineStyle = nil, draw.LineStyle{Color: rgb(x.Style.Color), Width: vg.Points(2)}
	case x.Mark == document.MarkBox:
		p.LineStyle = draw.LineStyle{Color: color.White, Width: vg.Points(0.6)}
	}
	for i := range x.X {
		p.XYs = append(p.XYs, plotter.XYs{
			{X: x.X[i], Y: x.Y[i]}, {X: x.X2[i], Y: x.Y[i]}, {X: x.X2[i], Y: x.Y2[i]}, {X: x.X[i], Y: x.Y2[i]},
		})
	}
	return p
}

// shaded returns boxes in their colours, with their texts.
func (s *sketch) shaded(x *document.Series) []plot.Plotter {
	list := []plot.Plotter{boxes(x)}
	if len(x.Shade) > 0 {
		list = nil
		for i := range x.X {
			one := document.Series{Mark: x.Mark, Style: document.Style{Color: shade(x.Shade[i])}}
			one.Box(x.X[i], x.Y[i], x.X2[i], x.Y2[i], "")
			list = append(list, boxes(&one))
		}
	}
	if len(x.Texts) == 0 {
		return list
	}
	in := inside{Labels: s.beside(x, 0)}
	in.Offset = vg.Point{}
	for i := range x.X {
		fill := x.Style.Color
		if len(x.Shade) > 0 {
			fill = shade(x.Shade[i])
		}
		style := &in.TextStyle[i]
		style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
		style.Font.Size = s.inside
		if luminance(fill) < 0.5 {
			style.Color = color.White
		}
		in.XYs[i] = plotter.XY{X: (x.X[i] + x.X2[i]) / 2, Y: (x.Y[i] + x.Y2[i]) / 2}
		in.widths = append(in.widths, math.Abs(x.X2[i]-x.X[i]))
	}
	return append(list, in)
}

// inside draws the texts that fit in their boxes.
type inside struct {
	*plotter.Labels
	widths []float64 // of boxes
}

// Plot implements plot.Plotter.
func (l inside) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	shown := *l.Labels
	shown.Labels = slices.Clone(shown.Labels)
	for i, text := range shown.Labels {
		room := toX(l.XYs[i].X+l.widths[i]/2) - toX(l.XYs[i].X-l.widths[i]/2)
		if shown.TextStyle[i].Width(text)+4 > room {
			shown.Labels[i] = ""
		}
	}
	shown.Plot(c, p)
}

// GlyphBoxes returns none: the texts need no extra room.
func (inside) GlyphBoxes(*plot.Plot) []plot.GlyphBox { return nil }

// beside returns the texts of a series beside its points.
func (s *sketch) beside(x *document.Series, distance vg.Length) *plotter.Labels {
	l := &plotter.Labels{XYs: xys(x), Labels: make([]string, len(x.X)), Offset: vg.Point{X: distance + 2*lineGap, Y: 1}}
	style := s.text
	style.YAlign = draw.YCenter
	if x.Mark == document.MarkDot {
		style.Font.Size, style.Color = 8, s.fine.Color
		l.Offset.X = distance + lineGap
	}
	if x.Left {
		style.XAlign = draw.XRight
		l.Offset.X = -l.Offset.X
	}
	for i := range x.X {
		l.TextStyle = append(l.TextStyle, style)
		if len(x.Texts) > 0 {
			l.Labels[i] = drawable(style, x.Texts[i])
		}
	}
	return l
}

// level is a line across a panel.
type level struct {
	value float64
	name  string
	style draw.LineStyle
}

// levels are lines across a panel by value, with their names at the right,
// moved apart where they would touch.
type levels struct {
	list []level
	text draw.TextStyle
}

// Plot implements plot.Plotter.
func (l levels) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	style := l.text
	style.YAlign = draw.YCenter
	pitch := lineHeight(style) - 2
	at := make([]vg.Length, len(l.list))
	below := c.Min.Y - pitch
	for i, lv := range l.list {
		at[i] = max(toY(lv.value), below+pitch)
		below = at[i]
	}
	above := c.Max.Y + pitch
	for i, lv := range slices.Backward(l.list) {
		at[i] = min(at[i], above-pitch)
		above = at[i]
		y := toY(lv.value)
		c.StrokeLine2(lv.style, c.Min.X, y, c.Max.X, y)
		c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: vg.Points(0.8)}, c.Max.X, y, c.Max.X+8, at[i])
		c.FillText(style, vg.Point{X: c.Max.X + 11, Y: at[i] + 1}, lv.name)
	}
}

// GlyphBoxes reserves room at the right.
func (l levels) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	width := vg.Length(0)
	for _, lv := range l.list {
		width = max(width, l.text.Width(lv.name)+14)
	}
	return room{width}.GlyphBoxes(p)
}

// room reserves a width at the right of the data.
type room struct{ width vg.Length }

// Plot implements plot.Plotter.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (r room) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: r.width}}}}
}

// gradient is the entry of a legend for shades.
type gradient struct{}

// Thumbnail implements plot.Thumbnailer.
func (gradient) Thumbnail(c *draw.Canvas) {
	const steps = 24
	step := (c.Max.X - c.Min.X) / steps
	for i := range steps {
		part := *c
		part.Min.X = c.Min.X + vg.Length(i)*step
		part.Max.X = part.Min.X + step
		c.SetColor(rgb(shade(float64(i) / (steps - 1))))
		c.Fill(part.Rectangle.Path())
	}
}

// shade returns the colour of a share of a scale, from light to dark. Luminance
// falls monotonically, so that it reads the same in greyscale.
func shade(share float64) document.Color {
	stops := []color.NRGBA{{240, 246, 252, 255}, {158, 202, 225, 255}, {49, 110, 180, 255}, {8, 38, 90, 255}}
	at := min(max(share, 0), 1) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	mix := func(a, b uint8) document.Color {
		return document.Color(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a))))
	}
	a, b := stops[i], stops[i+1]
	return mix(a.R, b.R)<<16 | mix(a.G, b.G)<<8 | mix(a.B, b.B)
}

// luminance returns the luminance of a colour by the weights of Rec. 709, 0…1.
func luminance(c document.Color) float64 {
	x := rgb(c)
	return (0.2126*float64(x.R) + 0.7152*float64(x.G) + 0.0722*float64(x.B)) / 255
}
