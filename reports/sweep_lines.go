package reports

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// Measures of a chart of lines.
const (
	linesWidth  = 620 * vg.Length(1) // of the drawing with its labels
	linesHeight = 300 * vg.Length(1) // of the area of data
	gutterMax   = 190 * vg.Length(1) // of labels at the right
)

// layout returns the chart of s: lines over one parameter, a map over two.
func (s *sweep) layout() (*frame, error) {
	if len(s.axes) == 2 {
		return newSweepMap(s).frame, nil
	}
	l, err := newSweepLines(s)
	if err != nil {
		return nil, err
	}
	return l.frame, nil
}

// sweepLines is a metric over one parameter.
type sweepLines struct {
	*frame
	*sweep
	groups []string
	names  []string
	panel  panel
	xs     []float64 // place of every value of the axis
	levels []level
	yTicks []plot.Tick
	write  func(float64) string // values for people
}

func newSweepLines(s *sweep) (*sweepLines, error) {
	l := &sweepLines{sweep: s, frame: newFrame(s.title()), groups: s.groups(), write: formatter(s.metric.Unit, s.values())}
	if n := len(strokes()); len(l.groups) > n {
		return nil, fmt.Errorf("%d lines over %s cannot be told apart, at most %d can: name a second parameter", len(l.groups), s.axes[0].Key, n)
	}
	var common string
	l.names, common = groupNames(l.groups)
	l.place()
	drawn := map[string]bool{}
	for _, p := range s.points {
		drawn[p.cell.Cell] = true
	}
	notes := append(l.notes, noteLines(s.run, func(cell string) bool { return drawn[cell] })...)
	height := l.titleHeight() + linesHeight + l.xAxisHeight()
	l.lay(linesWidth, height, s.run, s.facts(common), l.keys(), notes...)
	l.paint = l.drawPanel
	return l, nil
}

// place sets the scales and the reference lines.
func (l *sweepLines) place() {
	axis := &l.axes[0]
	l.xs = make([]float64, len(axis.Values))
	for i, v := range axis.Values {
		l.xs[i] = float64(i)
		if axis.Numeric {
			l.xs[i] = numberOf(v)
		}
	}
	l.panel.x = xScale(l.xs)
	values := l.values()
	l.levels, values = l.sweep.levels(l.write, values)
	l.panel.y.low, l.panel.y.high = dataRange(l.metric.Unit, values)
	l.yTicks = unitTicks(l.metric.Unit, l.panel.y.low, l.panel.y.high, 6)
}

// maxLinearRatio is how far the ends of an axis may lie apart before their
// logarithms are drawn.
const maxLinearRatio = 25

// xScale spans sorted values with a margin.
func xScale(xs []float64) scale {
	low, high := xs[0], xs[len(xs)-1]
	if low > 0 && high/low > maxLinearRatio {
		margin := math.Pow(high/low, 0.04)
		return scale{low / margin, high * margin, true}
	}
	margin := 0.04 * (high - low)
	if margin == 0 {
		margin = 1
	}
	return scale{low - margin, high + margin, false}
}

// level is a value that does not depend on the axis.
type level struct {
	name  string
	value float64
	style draw.LineStyle
	band  float64 // half the height of the band around it; 0: none
}

// levels returns the reference lines and the strategies without the parameter,
// and the values that the axis must show. One that would squeeze the points
// into a small part of the chart becomes a note.
func (s *sweep) levels(write func(float64) string, values []float64) ([]level, []float64) {
	grey := color.NRGBA{96, 96, 96, 255}
	low, high := slices.Min(values), slices.Max(values)
	span := max(high-low, 0.05*math.Abs(high), minSpan(s.metric.Unit))
	var levels []level
	for _, c := range append(s.references(), s.flat...) {
		v, _ := c.Value(s.metric)
		name := shortened(Printable(c.Cell), maxNameRunes/2)
		if v < low-3*span || v > high+3*span || len(levels) == maxLevels {
			s.notes = append(s.notes, fmt.Sprintf("not drawn, %s: %s", name, write(v)))
			continue
		}
		lv := level{name: name + " " + write(v), value: v, style: draw.LineStyle{Color: grey, Width: vg.Points(1), Dashes: []vg.Length{2, 3, 6, 3}}}
		switch c.Strategy {
		case results.StrategyRecorded:
			lv.style = draw.LineStyle{Color: color.NRGBA{38, 38, 38, 255}, Width: vg.Points(1.2)}
			lv.band = s.errorBand(v)
		case results.StrategyBilled:
			lv.style = draw.LineStyle{Color: color.NRGBA{38, 38, 38, 255}, Width: vg.Points(1.2), Dashes: []vg.Length{1, 2}}
		}
		levels = append(levels, lv)
		values = append(values, v)
	}
	return levels, values
}

// maxLevels is the number of lines across the chart.
const maxLevels = 8

// errorBand returns the model error around a recorded cost, USD; other metrics
// are not billed.
func (s *sweep) errorBand(recorded float64) float64 {
	if s.metric.Name != "cost_usd" {
		return 0
	}
	rel, _ := s.run.ModelError.Relative()
	return math.Abs(rel * recorded)
}

func (l *sweepLines) keys() []legendKey {
	var keys []legendKey
	for i, name := range l.names {
		keys = append(keys, strokesOf(len(l.names))[i].key(shortened(name, maxNameRunes)))
	}
	for _, lv := range l.levels {
		if lv.band > 0 {
			rel, _ := l.run.ModelError.Relative()
			keys = append(keys, legendKey{"model error around recorded, ±" + percent(math.Abs(rel)), keyWidth,
				func(c *draw.Canvas, x, y vg.Length) {
					c.FillPolygon(bandColor, rectangle(x, y, x+keyWidth, y+legendBox))
				}})
		}
	}
	return keys
}

var bandColor = color.NRGBA{228, 228, 228, 255}

// yTitle says what the vertical axis shows.
func yTitle(m results.Metric, low float64) string {
	t := metricTitle(m) + " (" + m.Unit + ")"
	if m.Unit == results.UnitRatio {
		t = metricTitle(m) + " (%)"
	}
	if low != 0 {
		t += ", axis does not begin at 0"
	}
	return t
}

func (l *sweepLines) drawPanel(c draw.Canvas) {
	left := l.yLabelRoom(l.yTicks)
	gutter := vg.Length(0)
	for _, lv := range l.levels {
		gutter = max(gutter, l.small.Width(drawable(l.small, lv.name))+14)
	}
	p := &l.panel
	p.area = vg.Rectangle{
		Min: vg.Point{X: c.Min.X + left, Y: c.Min.Y + l.xAxisHeight()},
		Max: vg.Point{X: c.Max.X - min(gutter, gutterMax) - 4, Y: c.Max.Y - l.titleHeight()},
	}
	l.drawBands(&c)
	p.drawY(&c, l.pens(), yTitle(l.metric, p.y.low), l.yTicks)
	p.drawX(&c, l.pens(), l.xTitle(), l.xTicks())
	l.drawLevels(&c, p, l.levels)
	for i, g := range l.groups {
		l.drawGroup(&c, strokesOf(len(l.groups))[i], g)
	}
	l.drawBest(&c)
}

func (l *sweepLines) xTitle() string {
	t := drawable(l.label, Printable(l.axes[0].Key))
	if l.panel.x.log {
		t += " (logarithmic)"
	}
	return t
}

// xTicks labels every value. Labels of numbers that have no room are left out
// when drawn; texts are shortened, since nothing else says what they are.
func (l *sweepLines) xTicks() []plot.Tick {
	axis := &l.axes[0]
	room := l.panel.toX(1) - l.panel.toX(0) - 8
	ticks := make([]plot.Tick, len(l.xs))
	for i, v := range axis.Values {
		label := drawable(l.small, axis.label(v))
		if !axis.Numeric {
			label = fitted(l.small, label, room)
		}
		ticks[i] = plot.Tick{Value: l.xs[i], Label: label}
	}
	return ticks
}

// fitted shortens a text to a width, as far as three characters.
func fitted(s draw.TextStyle, text string, width vg.Length) string {
	short := text
	for n := len([]rune(text)) - 1; n >= 3 && s.Width(short) > width; n-- {
		short = shortened(text, n)
	}
	return short
}

func (l *sweepLines) drawBands(c *draw.Canvas) {
	p := &l.panel
	for _, lv := range l.levels {
		if lv.band > 0 {
			low, high := max(lv.value-lv.band, p.y.low), min(lv.value+lv.band, p.y.high)
			c.FillPolygon(bandColor, rectangle(p.area.Min.X, p.toY(low), p.area.Max.X, p.toY(high)))
		}
	}
}

// drawLevels draws lines across an area with their names at its right, set
// apart where they would touch.
func (f *frame) drawLevels(c *draw.Canvas, p *panel, levels []level) {
	levels = slices.SortedStableFunc(slices.Values(levels), func(a, b level) int { return cmp.Compare(a.value, b.value) })
	style := f.small
	style.YAlign = draw.YCenter
	pitch := f.line(f.small) - 2
	at := make([]vg.Length, len(levels))
	below := p.area.Min.Y - pitch
	for i, lv := range levels {
		at[i] = max(p.toY(lv.value), below+pitch)
		below = at[i]
	}
	above := p.area.Max.Y + pitch
	for i := len(levels) - 1; i >= 0; i-- {
		at[i] = min(at[i], above-pitch)
		above = at[i]
	}
	for i, lv := range levels {
		y := p.toY(lv.value)
		c.StrokeLine2(lv.style, p.area.Min.X, y, p.area.Max.X, y)
		c.StrokeLine2(f.pens().axis, p.area.Max.X, y, p.area.Max.X+8, at[i])
		c.FillText(style, vg.Point{X: p.area.Max.X + 11, Y: at[i] + halfDescent}, drawable(style, lv.name))
	}
}

func (l *sweepLines) drawGroup(c *draw.Canvas, s stroke, group string) {
	var points []sweepPoint
	for _, p := range l.points {
		if p.group == group {
			points = append(points, p)
		}
	}
	slices.SortFunc(points, func(a, b sweepPoint) int { return cmp.Compare(a.at[0], b.at[0]) })
	line := make([]vg.Point, len(points))
	for i, p := range points {
		line[i] = l.spot(p)
	}
	c.StrokeLines(s.line(), line)
	for _, at := range line {
		s.mark(c, at)
	}
}

func (l *sweepLines) spot(p sweepPoint) vg.Point {
	return vg.Point{X: l.panel.toX(l.xs[p.at[0]]), Y: l.panel.toY(p.value)}
}

// drawBest rings the best points and names the first.
func (l *sweepLines) drawBest(c *draw.Canvas) {
	best := l.best()
	if len(best) == 0 || len(best) == len(l.points) {
		return
	}
	dark := color.NRGBA{38, 38, 38, 255}
	for _, p := range best {
		c.DrawGlyph(draw.GlyphStyle{Color: dark, Radius: vg.Points(6), Shape: draw.RingGlyph{}}, l.spot(p))
	}
	text := l.bestName() + ": " + l.write(best[0].value) + " at " + l.axes[0].label(best[0].cell.Params[l.axes[0].Key])
	if n := len(best) - 1; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	style := l.small
	style.Color = dark
	text = drawable(style, text)
	at := l.spot(best[0])
	half := style.Width(text)/2 + 4
	at.X = min(max(at.X, l.panel.area.Min.X+half), l.panel.area.Max.X-half)
	offset := -14 * vg.Length(1)
	if l.metric.Better == results.Higher || at.Y+offset < l.panel.area.Min.Y+6 {
		offset = -offset
	}
	at.Y += offset
	boxed(c, style, at, text)
}
