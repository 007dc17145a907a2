package reports

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// scale maps values to a share of a length.
type scale struct {
	low, high float64 // low < high; both > 0 when log
	log       bool
}

func (s scale) at(v float64) vg.Length {
	if s.log {
		return vg.Length(math.Log(v/s.low) / math.Log(s.high/s.low))
	}
	return vg.Length((v - s.low) / (s.high - s.low))
}

func (s scale) holds(v float64) bool { return s.low <= v && v <= s.high }

// panel is an area of a chart with two scales.
type panel struct {
	area vg.Rectangle
	x, y scale
}

func (p *panel) toX(v float64) vg.Length {
	return p.area.Min.X + p.x.at(v)*(p.area.Max.X-p.area.Min.X)
}

func (p *panel) toY(v float64) vg.Length {
	return p.area.Min.Y + p.y.at(v)*(p.area.Max.Y-p.area.Min.Y)
}

// pens are the styles of what stands around the data.
type pens struct {
	label, small draw.TextStyle
	grid, axis   draw.LineStyle
}

func (f *frame) pens() pens {
	return pens{
		label: f.label, small: f.small,
		grid: draw.LineStyle{Color: color.NRGBA{225, 225, 225, 255}, Width: vg.Points(0.6)},
		axis: draw.LineStyle{Color: color.NRGBA{96, 96, 96, 255}, Width: vg.Points(0.8)},
	}
}

// tickGap is the distance of labels from their axis.
const tickGap = 6 * vg.Length(1)

// halfDescent raises texts whose middle lies above that of their line, since
// few characters reach below the base line.
const halfDescent = 1 * vg.Length(1)

// drawY draws the grid, the labels on the left and, above them, what is shown.
func (p *panel) drawY(c *draw.Canvas, s pens, title string, ticks []plot.Tick) {
	style := s.small
	style.XAlign, style.YAlign = draw.XRight, draw.YCenter
	for _, t := range ticks {
		if !p.y.holds(t.Value) {
			continue
		}
		y := p.toY(t.Value)
		c.StrokeLine2(s.grid, p.area.Min.X, y, p.area.Max.X, y)
		c.FillText(style, vg.Point{X: p.area.Min.X - tickGap, Y: y + halfDescent}, t.Label)
	}
	c.StrokeLine2(s.axis, p.area.Min.X, p.area.Min.Y, p.area.Min.X, p.area.Max.Y)
	c.FillText(s.label, vg.Point{X: c.Min.X, Y: p.area.Max.Y + 2*lineGap}, title)
}

// drawX draws the axis with the labels that have room and what is shown.
func (p *panel) drawX(c *draw.Canvas, s pens, title string, ticks []plot.Tick) {
	c.StrokeLine2(s.axis, p.area.Min.X, p.area.Min.Y, p.area.Max.X, p.area.Min.Y)
	style := s.small
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	y := p.area.Min.Y - tickGap
	shown := thinned(ticks, p.toX, func(label string) vg.Length { return style.Width(label) + 8 })
	for i, t := range ticks {
		x := p.toX(t.Value)
		c.StrokeLine2(s.axis, x, p.area.Min.Y, x, p.area.Min.Y-3)
		if shown[i] {
			c.FillText(style, vg.Point{X: x, Y: y}, t.Label)
		}
	}
	style = s.label
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	c.FillText(style, vg.Point{X: (p.area.Min.X + p.area.Max.X) / 2, Y: y - style.Height("0") - lineGap}, title)
}

// titleHeight is the room that drawY takes above an area.
func (f *frame) titleHeight() vg.Length { return f.line(f.label) + lineGap }

// xAxisHeight is the room that drawX takes below an area.
func (f *frame) xAxisHeight() vg.Length { return tickGap + f.line(f.small) + f.line(f.label) + lineGap }

// thinned chooses labels that do not touch: from the left, and the last one
// always.
func thinned(ticks []plot.Tick, at func(float64) vg.Length, width func(string) vg.Length) []bool {
	shown := make([]bool, len(ticks))
	if len(ticks) == 0 {
		return shown
	}
	last := len(ticks) - 1
	left := func(i int) vg.Length { return at(ticks[i].Value) - width(ticks[i].Label)/2 }
	end := vg.Length(math.Inf(-1))
	for i := range last {
		right := at(ticks[i].Value) + width(ticks[i].Label)/2
		if left(i) >= end && right <= left(last) {
			shown[i], end = true, right
		}
	}
	shown[last] = true
	return shown
}

// yLabelRoom returns the width that the labels of a vertical axis take.
func (f *frame) yLabelRoom(ticks ...[]plot.Tick) vg.Length {
	room := vg.Length(0)
	for _, ts := range ticks {
		for _, t := range ts {
			room = max(room, f.small.Width(t.Label))
		}
	}
	return room + tickGap
}

// boxed writes a text on a white ground.
func boxed(c *draw.Canvas, s draw.TextStyle, at vg.Point, text string) {
	w, h := s.Width(text)/2+2, s.Height(text)/2+1
	s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
	c.FillPolygon(color.NRGBA{255, 255, 255, 220}, rectangle(at.X-w, at.Y-h, at.X+w, at.Y+h))
	c.FillText(s, at, text)
}
