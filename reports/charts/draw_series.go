package charts

import (
	"image/color"
	"math"

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
	var dotted []*document.Series
	for i := range of.Series {
		x := &of.Series[i]
		p.Add(spans(x)...)
		switch x.Mark {
		case document.MarkLine:
			p.Add(lines(x)...)
		case document.MarkDot:
			p.Add(dots(x))
			if dotted = append(dotted, x); !x.Apart {
				p.Add(s.beside(x, vg.Length(x.Style.Size)))
			}
		case document.MarkBox:
			p.Add(s.shade(x)...)
		case document.MarkText:
			p.Add(s.beside(x, 0))
		case document.MarkBand:
		}
	}
	for _, x := range dotted {
		if x.Apart {
			p.Add(&apart{s: s, dotted: dotted})
			break
		}
	}
}

// spans returns the intervals of the points of a series.
func spans(x *document.Series) []plot.Plotter {
	style := draw.LineStyle{Color: color.NRGBA{110, 110, 110, 255}, Width: vg.Points(0.8)}
	if x.Unspanned {
		return nil
	}
	if x.Mark != document.MarkText { // which has no colour of its own
		style.Color = rgb(x.Style.Color)
	}
	errs := func(spans []document.Span, at []float64) (points plotter.XYs, errs []struct{ Low, High float64 }) {
		for i, span := range spans {
			if span.Low != span.High {
				points = append(points, plotter.XY{X: x.X[i], Y: x.Y[i]})
				errs = append(errs, struct{ Low, High float64 }{at[i] - span.Low, span.High - at[i]})
			}
		}
		return points, errs
	}
	across, up := &plotter.XErrorBars{LineStyle: style, CapWidth: capWidth}, &plotter.YErrorBars{LineStyle: style, CapWidth: capWidth}
	across.XYs, across.XErrors = errs(x.XSpans, x.X)
	up.XYs, up.YErrors = errs(x.YSpans, x.Y)
	return []plot.Plotter{across, up}
}

func (s *sketch) entry(name string, looks []*document.Series) plot.Legend {
	l := plot.NewLegend()
	l.TextStyle = s.text
	l.Left, l.Top, l.ThumbnailWidth = true, true, legendBox
	var thumbs []plot.Thumbnailer
	for _, x := range looks {
		switch x.Mark {
		case document.MarkLine:
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
		case document.MarkText:
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
			parts = append(parts, &plotter.Line{XYs: points, LineStyle: lineStyle(x)})
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
		document.Arrow: arrow{},
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
	c.DrawGlyphNoClip(k.style, at) // it may be higher than the text
}

// arrow is a glyph that points down at its place.
type arrow struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (arrow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius
	c.FillPolygon(style.Color, []vg.Point{at, {X: at.X - r, Y: at.Y + 2*r}, {X: at.X + r, Y: at.Y + 2*r}})
}

// boxes returns the rectangles of a series in one colour.
func boxes(x *document.Series) *plotter.Polygon {
	p := &plotter.Polygon{Color: rgb(x.Style.Color)}
	switch {
	case x.Style.Hollow:
		p.Color, p.LineStyle = nil, lineStyle(x)
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

// shade returns boxes in their colours, with their texts.
func (s *sketch) shade(x *document.Series) []plot.Plotter {
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
