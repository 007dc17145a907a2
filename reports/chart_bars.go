package reports

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const barThickness = barPitch * 6 / 10

// stackedBars draws one horizontal bar a cell, the first at the top. Parts that
// are wide enough carry their share of the bar, so that they can be read
// without colours.
type stackedBars struct {
	bars  []costBar
	fills []fill
	label draw.TextStyle
}

// at returns the place of a bar on the vertical axis.
func (s stackedBars) at(i int) float64 { return float64(len(s.bars) - 1 - i) }

// amount returns what stands behind a bar.
func (s stackedBars) amount(b costBar) string {
	totals := make([]float64, len(s.bars))
	for i := range s.bars {
		totals[i] = s.bars[i].total
	}
	text := usd(b.total, usdDecimals(totals))
	if b.note != "" && b.note != "–" {
		text += "  " + b.note
	}
	return text
}

// Plot implements plot.Plotter.
func (s stackedBars) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, b := range s.bars {
		y := toY(s.at(i))
		sum := 0.0
		for part, v := range b.parts {
			x0 := toX(sum)
			sum += v
			x1 := toX(sum)
			if v == 0 {
				continue
			}
			s.fills[part].draw(&c, x0, y-barThickness/2, x1, y+barThickness/2)
			s.drawShare(&c, s.fills[part], v/b.total, x0, x1, y)
		}
		style := s.label
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: toX(sum) + 2*lineGap, Y: y}, s.amount(b))
	}
}

// drawShare writes the share of a part into it when there is room.
func (s stackedBars) drawShare(c *draw.Canvas, f fill, share float64, x0, x1, y vg.Length) {
	style := s.label
	style.Font.Size = 8.5
	style.Color = f.ink
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	text := strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
	half := style.Width(text)/2 + 2
	if x1-x0 < 2*half+4 {
		return
	}
	x := (x0 + x1) / 2
	if f.hatch != hatchNone {
		c.FillPolygon(f.color, rectangle(x-half, y-style.Height(text)/2-1, x+half, y+style.Height(text)/2+1))
	}
	c.FillText(style, vg.Point{X: x, Y: y}, text)
}

// draw fills a rectangle, hatches it and sets it off from its neighbours.
func (f fill) draw(c *draw.Canvas, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(f.color, rectangle(x0, y0, x1, y1))
	ink := f.ink
	ink.A = 120
	style := draw.LineStyle{Color: ink, Width: vg.Points(0.7)}
	clip := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}}
	for _, line := range f.hatch.lines(x0, y0, x1, y1) {
		for _, visible := range clip.ClipLinesXY(line) {
			c.StrokeLines(style, visible)
		}
	}
	edge := append(rectangle(x0, y0, x1, y1), vg.Point{X: x0, Y: y0})
	c.StrokeLines(draw.LineStyle{Color: color.White, Width: vg.Points(0.6)}, edge)
}

// lines returns the strokes of a hatch, which overhang the rectangle.
func (h hatch) lines(x0, y0, x1, y1 vg.Length) [][]vg.Point {
	const gap = 5 * vg.Length(1)
	height := y1 - y0
	var lines [][]vg.Point
	if h == hatchLevel {
		for y := y0 + gap/2; y < y1; y += gap {
			lines = append(lines, []vg.Point{{X: x0, Y: y}, {X: x1, Y: y}})
		}
	}
	for x := x0 - height + gap/2; x < x1; x += gap {
		if h == hatchUp || h == hatchCross {
			lines = append(lines, []vg.Point{{X: x, Y: y0}, {X: x + height, Y: y1}})
		}
		if h == hatchDown || h == hatchCross {
			lines = append(lines, []vg.Point{{X: x, Y: y1}, {X: x + height, Y: y0}})
		}
	}
	return lines
}

func rectangle(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// gridLines draws a vertical line at each amount of the axis.
type gridLines struct{ style draw.LineStyle }

// Plot implements plot.Plotter.
func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		x := toX(t.Value)
		c.StrokeLine2(g.style, x, c.Min.Y, x, c.Max.Y)
	}
}
