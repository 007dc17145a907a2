package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of a map.
const (
	mapTileHeight = 24 * vg.Length(1)
	mapTileMin    = 9 * vg.Length(1) // side of a tile without its value
	mapWidth      = 560 * vg.Length(1)
	maxMapValues  = 200 // tiles that carry their values
)

// sweepMap is a metric over two parameters: a tile for each pair of values.
type sweepMap struct {
	*frame
	*sweep
	low, high float64
	write     func(float64) string
	tile      vg.Point // size
	left      vg.Length
	printed   bool // values stand in the tiles
	text      draw.TextStyle
}

func newSweepMap(s *sweep) *sweepMap {
	m := &sweepMap{sweep: s, frame: newFrame(s.title()), write: formatter(s.metric.Unit, s.values())}
	m.low, m.high = slices.Min(s.values()), slices.Max(s.values())
	m.text = m.label
	m.text.Font.Size = 9
	m.text.XAlign, m.text.YAlign = draw.XCenter, draw.YCenter
	m.measure()
	_, common := groupNames(s.groups()[:1])
	if common == "" {
		common = s.points[0].cell.Strategy
	} else {
		common = s.points[0].cell.Strategy + " · " + common
	}
	notes := append(m.notes, noteLines(s.run, func(cell string) bool {
		return slices.ContainsFunc(s.points, func(p sweepPoint) bool { return p.cell.Cell == cell })
	})...)
	for _, c := range append(s.references(), s.flat...) {
		v, _ := c.Value(s.metric)
		notes = append(notes, fmt.Sprintf("for comparison, %s: %s", shortened(Printable(c.Cell), maxNameRunes), m.write(v)))
	}
	m.marks = m.printed && slices.ContainsFunc(s.points, m.covered)
	width := max(m.left+m.tile.X*vg.Length(len(s.axes[0].Values)), linesWidth*3/4)
	height := m.line(m.label) + m.tile.Y*vg.Length(len(s.axes[1].Values)) + m.xAxisHeight()
	m.lay(width, height, s.run, s.facts(common), m.keys(), notes...)
	m.paint = m.drawTiles
	return m
}

// measure sets the size of the tiles: as wide as the values they carry, or
// small when there are too many to read.
func (m *sweepMap) measure() {
	columns, rows := len(m.axes[0].Values), len(m.axes[1].Values)
	m.printed = columns*rows <= maxMapValues
	for _, v := range m.axes[1].Values {
		m.left = max(m.left, m.small.Width(m.rowLabel(v))+tickGap)
	}
	if !m.printed {
		m.tile = vg.Point{X: max(mapWidth/vg.Length(columns), mapTileMin), Y: max(mapWidth*2/3/vg.Length(rows), mapTileMin)}
		m.tile.Y = min(m.tile.Y, mapTileHeight)
		return
	}
	for _, p := range m.points {
		m.tile.X = max(m.tile.X, m.text.Width(m.content(p))+10)
	}
	m.tile.X = max(m.tile.X, min(mapWidth/vg.Length(columns), 72))
	m.tile.Y = mapTileHeight
}

func (m *sweepMap) rowLabel(v string) string { return drawable(m.small, m.axes[1].label(v)) }

// content is what a tile carries.
func (m *sweepMap) content(p sweepPoint) string {
	if m.covered(p) {
		return "~" + m.write(p.value)
	}
	return m.write(p.value)
}

// covered reports whether the cost of a point is closer to the recorded one
// than the model error.
func (m *sweepMap) covered(p sweepPoint) bool {
	if m.metric.Name != "cost_usd" {
		return false
	}
	d, ok := m.run.VsRecorded(p.cell)
	return ok && m.run.ModelError.Covers(d)
}

// keys returns the legend: the scale of colours and the mark of the best tile.
func (m *sweepMap) keys() []legendKey {
	const width = 120 * vg.Length(1)
	keys := []legendKey{{m.write(m.low) + " … " + m.write(m.high), width, func(c *draw.Canvas, x, y vg.Length) {
		const steps = 24
		for i := range steps {
			from := x + vg.Length(i)*width/steps
			c.FillPolygon(shade(float64(i)/(steps-1)), rectangle(from, y, from+width/steps, y+legendBox))
		}
	}}}
	if m.marksBest() {
		best := m.best()
		name := fmt.Sprintf("%s: %s at %s, %s", m.bestName(), m.write(best[0].value), m.at(best[0], 0), m.at(best[0], 1))
		if n := len(best) - 1; n > 0 {
			name += fmt.Sprintf(" and %d more", n)
		}
		keys = append(keys, legendKey{name, legendBox + 3, func(c *draw.Canvas, x, y vg.Length) {
			outline(c, x+1, y, x+legendBox+1, y+legendBox)
		}})
	}
	return keys
}

func (m *sweepMap) at(p sweepPoint, axis int) string {
	a := &m.axes[axis]
	return Printable(a.Key) + " " + a.label(p.cell.Params[a.Key])
}

// marksBest reports whether some tiles are better than others.
func (m *sweepMap) marksBest() bool { return m.low < m.high && len(m.best()) > 0 }

// shade is the colour of a share of the scale, from light to dark: luminance
// falls all the way, so that it reads the same in greyscale.
func shade(share float64) color.NRGBA {
	stops := []color.NRGBA{{240, 246, 252, 255}, {158, 202, 225, 255}, {49, 110, 180, 255}, {8, 38, 90, 255}}
	at := min(max(share, 0), 1) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a))))
	}
	a, b := stops[i], stops[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// ink is the colour of text on a shade.
func ink(share float64) color.NRGBA {
	if share > 0.5 {
		return color.NRGBA{255, 255, 255, 255}
	}
	return color.NRGBA{38, 38, 38, 255}
}

// outline marks a tile so that it shows on any shade.
func outline(c *draw.Canvas, x0, y0, x1, y1 vg.Length) {
	ring := append(rectangle(x0, y0, x1, y1), vg.Point{X: x0, Y: y0})
	c.StrokeLines(draw.LineStyle{Color: color.White, Width: vg.Points(4)}, ring)
	c.StrokeLines(draw.LineStyle{Color: color.NRGBA{200, 60, 0, 255}, Width: vg.Points(2)}, ring)
}

func (m *sweepMap) share(v float64) float64 {
	if m.high == m.low {
		return 0
	}
	return (v - m.low) / (m.high - m.low)
}

func (m *sweepMap) drawTiles(c draw.Canvas) {
	columns, rows := len(m.axes[0].Values), len(m.axes[1].Values)
	p := panel{
		area: vg.Rectangle{Min: vg.Point{X: c.Min.X + m.left, Y: c.Min.Y + m.xAxisHeight()}},
		x:    scale{low: -0.5, high: float64(columns) - 0.5},
		y:    scale{low: -0.5, high: float64(rows) - 0.5},
	}
	p.area.Max = vg.Point{X: p.area.Min.X + m.tile.X*vg.Length(columns), Y: p.area.Min.Y + m.tile.Y*vg.Length(rows)}
	edges := append(rectangle(p.area.Min.X, p.area.Min.Y, p.area.Max.X, p.area.Max.Y), p.area.Min)
	c.StrokeLines(m.pens().grid, edges)
	m.drawLabels(&c, &p)
	for _, pt := range m.points {
		m.drawTile(&c, &p, pt)
	}
	if m.marksBest() {
		for _, pt := range m.best() {
			x0, y0 := m.corner(&p, pt)
			outline(&c, x0+1.5, y0+1.5, x0+m.tile.X-1.5, y0+m.tile.Y-1.5)
		}
	}
}

// corner returns the lower left corner of a tile.
func (m *sweepMap) corner(p *panel, pt sweepPoint) (x, y vg.Length) {
	return p.toX(float64(pt.at[0]) - 0.5), p.toY(float64(pt.at[1]) - 0.5)
}

func (m *sweepMap) drawTile(c *draw.Canvas, p *panel, pt sweepPoint) {
	x, y := m.corner(p, pt)
	share := m.share(pt.value)
	c.FillPolygon(shade(share), rectangle(x, y, x+m.tile.X, y+m.tile.Y))
	if m.printed {
		style := m.text
		style.Color = ink(share)
		c.FillText(style, vg.Point{X: x + m.tile.X/2, Y: y + m.tile.Y/2}, m.content(pt))
	}
}

// drawLabels names the columns and the rows that have room.
func (m *sweepMap) drawLabels(c *draw.Canvas, p *panel) {
	columns := m.columnTicks()
	p.drawX(c, m.pens(), drawable(m.label, Printable(m.axes[0].Key)), columns)
	style := m.small
	style.XAlign, style.YAlign = draw.XRight, draw.YCenter
	end := vg.Length(math.Inf(-1))
	for i, v := range m.axes[1].Values {
		if y := p.toY(float64(i)); y >= end {
			c.FillText(style, vg.Point{X: p.area.Min.X - tickGap, Y: y}, m.rowLabel(v))
			end = y + m.line(style) - lineGap
		}
	}
	c.FillText(m.label, vg.Point{X: c.Min.X, Y: p.area.Max.Y + lineGap}, drawable(m.label, Printable(m.axes[1].Key)))
}

func (m *sweepMap) columnTicks() []plot.Tick {
	axis := &m.axes[0]
	ticks := make([]plot.Tick, len(axis.Values))
	for i, v := range axis.Values {
		label := drawable(m.small, axis.label(v))
		if !axis.Numeric {
			label = fitted(m.small, label, m.tile.X-8)
		}
		ticks[i] = plot.Tick{Value: float64(i), Label: label}
	}
	return ticks
}
