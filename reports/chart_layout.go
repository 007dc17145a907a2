package reports

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// Measures of a chart of bars.
const (
	barsWidth  = 430 * vg.Length(1) // of the area of bars with its labels
	barPitch   = 30 * vg.Length(1)  // from bar to bar
	axisHeight = 46 * vg.Length(1)
)

// chartLayout is the chart of costs.
type chartLayout struct {
	*frame
	bars  []costBar
	fills []fill
}

func newChartLayout(run *results.Run, bars []costBar) *chartLayout {
	l := &chartLayout{frame: newFrame("Cost by strategy and token class"), fills: fills()}
	l.bars, l.marks = worthABar(bars), true
	names := vg.Length(0)
	cells := map[string]bool{}
	for i := range l.bars {
		l.bars[i].name = drawable(l.label, l.bars[i].name)
		names = max(names, l.label.Width(l.bars[i].name))
		cells[l.bars[i].cell] = true
	}
	notes := noteLines(run, func(cell string) bool { return cells[cell] })
	if n := len(bars) - len(l.bars); n > 0 {
		notes = append(notes, fmt.Sprintf("the %s of the highest cost have no bar", CountOf(n, "cell")))
	}
	l.lay(names+barsWidth, barPitch*vg.Length(len(l.bars))+axisHeight, run, headLines(run)[:1], l.keys(), notes...)
	l.paint = func(c draw.Canvas) { l.plot().Draw(c) }
	return l
}

// maxBars is the number of bars that a page still shows.
const maxBars = 40

// worthABar leaves the reference cells and the cheapest others, in their order.
func worthABar(bars []costBar) []costBar {
	bars = slices.Clone(bars)
	if len(bars) <= maxBars {
		return bars
	}
	var totals []float64
	for _, b := range bars {
		if !b.reference {
			totals = append(totals, b.total)
		}
	}
	slices.Sort(totals)
	room := max(maxBars-(len(bars)-len(totals)), 1)
	highest := totals[min(room, len(totals))-1]
	return slices.DeleteFunc(bars, func(b costBar) bool {
		if b.reference {
			return false
		}
		if b.total > highest || room == 0 {
			return true
		}
		room--
		return false
	})
}

// keys returns the legend: the classes that cost anything.
func (l *chartLayout) keys() []legendKey {
	var keys []legendKey
	for i, f := range l.fills {
		if l.drawn(i) {
			keys = append(keys, f.key())
		}
	}
	return keys
}

// key returns the entry of a legend for a fill.
func (f fill) key() legendKey {
	return legendKey{f.name, legendBox, func(c *draw.Canvas, x, y vg.Length) { f.draw(c, x, y, x+legendBox, y+legendBox) }}
}

// drawn reports whether a part is not zero in some bar.
func (l *chartLayout) drawn(part int) bool {
	return slices.ContainsFunc(l.bars, func(b costBar) bool { return b.parts[part] > 0 })
}

// plot returns the bars with their axes.
func (l *chartLayout) plot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	bars := stackedBars{bars: l.bars, fills: l.fills, label: l.label}
	grid := color.NRGBA{225, 225, 225, 255}
	p.Add(gridLines{draw.LineStyle{Color: grid, Width: vg.Points(0.6)}}, bars)
	p.X.Label.Text = "cost (USD)"
	p.X.Label.TextStyle = l.label
	p.X.Label.TextStyle.XAlign = draw.XCenter
	p.X.Tick.Marker = plot.TickerFunc(usdTicks)
	p.X.Tick.Label = l.small
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.X.Width, p.X.Tick.Width = 0, 0
	p.X.Padding = 0
	p.X.Min, p.X.Max = 0, l.highest(bars)
	l.nameBars(p, bars)
	return p
}

// highest returns the end of the axis: the highest bar, and room for the amount
// behind it.
func (l *chartLayout) highest(bars stackedBars) float64 {
	room := vg.Length(0)
	highest := 0.0
	for _, b := range l.bars {
		room = max(room, l.label.Width(bars.amount(b))+3*lineGap)
		highest = max(highest, b.total)
	}
	return highest * float64(barsWidth/(barsWidth-room-2*chartMargin))
}

// nameBars labels the vertical axis with the names of the cells.
func (l *chartLayout) nameBars(p *plot.Plot, bars stackedBars) {
	ticks := make([]plot.Tick, len(l.bars))
	for i, b := range l.bars {
		ticks[i] = plot.Tick{Value: bars.at(i), Label: b.name}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Label = l.label
	p.Y.Tick.Label.XAlign = draw.XRight
	// The axis raises labels by their descent, which would put names above the
	// middle of their bars.
	descent := l.label.FontExtents().Descent / l.label.Height("Ág")
	p.Y.Tick.Label.YAlign = draw.YCenter - draw.YAlignment(descent)
	p.Y.Tick.Width = 0
	p.Y.LineStyle = draw.LineStyle{Color: color.NRGBA{96, 96, 96, 255}, Width: vg.Points(0.8)}
	p.Y.Padding = 0
	p.Y.Min, p.Y.Max = -0.5, float64(len(l.bars))-0.5
}
