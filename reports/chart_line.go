package reports

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// stroke is how a line of data is drawn: no two strokes share colour, dashes
// or marker.
type stroke struct {
	color  color.NRGBA
	dashes []vg.Length
	marker draw.GlyphDrawer
	width  vg.Length
}

// strokes are in the order of use; those used together most differ most in
// luminance.
func strokes() []stroke {
	return []stroke{
		{color: color.NRGBA{8, 48, 107, 255}, marker: draw.CircleGlyph{}},
		{color: color.NRGBA{230, 120, 30, 255}, dashes: []vg.Length{7, 3}, marker: draw.BoxGlyph{}},
		{color: color.NRGBA{66, 146, 198, 255}, dashes: []vg.Length{2, 2}, marker: draw.PyramidGlyph{}},
		{color: color.NRGBA{110, 50, 5, 255}, dashes: []vg.Length{9, 3, 2, 3}, marker: draw.CrossGlyph{}},
		{color: color.NRGBA{60, 140, 90, 255}, dashes: []vg.Length{14, 4}, marker: draw.RingGlyph{}},
		{color: color.NRGBA{130, 130, 130, 255}, dashes: []vg.Length{4, 2}, marker: draw.PlusGlyph{}},
		{color: color.NRGBA{120, 80, 160, 255}, dashes: []vg.Length{9, 2, 2, 2, 2, 2}, marker: draw.SquareGlyph{}},
		{color: color.NRGBA{38, 38, 38, 255}, dashes: []vg.Length{1, 3}, marker: draw.TriangleGlyph{}},
	}
}

func (s stroke) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dashes}
}

// mark draws the marker at a point.
func (s stroke) mark(c *draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: s.color, Radius: 1.6 + s.width, Shape: s.marker}, at)
}

// strokesOf returns the strokes of n lines. Those drawn first are wider, so
// that they show under others with the same values.
func strokesOf(n int) []stroke {
	ss := strokes()[:n]
	for i := range ss {
		ss[i].width = 1.4 + 0.35*vg.Length(min(n-1-i, 3))
	}
	return ss
}

// keyWidth is the width of a line in a legend.
const keyWidth = 34 * vg.Length(1)

// key returns the entry of a legend for a stroke.
func (s stroke) key(name string) legendKey {
	return legendKey{name, keyWidth, func(c *draw.Canvas, x, y vg.Length) {
		y += legendBox / 2
		c.StrokeLine2(s.line(), x, y, x+keyWidth, y)
		s.mark(c, vg.Point{X: x + keyWidth/2, Y: y})
	}}
}
