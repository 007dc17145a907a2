package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// AblationDrawings returns a tornado chart for each strategy of an ablation that
// has a mechanism which makes a difference.
func AblationDrawings(a *results.Ablation) []Drawing {
	var list []Drawing
	for _, base := range a.Bases {
		if len(tornadoBars(a, base)) > 0 {
			list = append(list, Drawing{fileName("tornado", base), func(w io.Writer, format string) error { return Tornado(w, format, a, base) }})
		}
	}
	return list
}

// Tornado draws what switching each mechanism of a strategy makes of its cost,
// the largest difference at the top, in a format of ChartFormats.
func Tornado(w io.Writer, format string, a *results.Ablation, base string) error {
	bars := tornadoBars(a, base)
	if len(bars) == 0 {
		return errors.New("drawing a tornado chart: no mechanism makes a difference in cost")
	}
	return newTornado(a, base, bars).render(w, format)
}

// tornadoBar is the difference of one change, USD.
type tornadoBar struct {
	name    string
	usd     float64
	text    string
	covered bool
}

// tornadoBars returns the changes of a strategy that cost or save anything.
func tornadoBars(a *results.Ablation, base string) []tornadoBar {
	var bars []tornadoBar
	list := a.Differences(base, 1)
	amounts := []float64{}
	for i := range list {
		amounts = append(amounts, list[i].USD)
	}
	decimals := usdDecimals(amounts)
	for i := range list {
		d := &list[i]
		if d.USD == 0 || math.IsNaN(d.USD) || math.IsInf(d.USD, 0) {
			continue
		}
		bars = append(bars, tornadoBar{
			shortened(changeText(d.Change), maxNameRunes), d.USD, differenceText(d, decimals) + "  " + relativeText(d), d.Covered,
		})
	}
	return bars
}

// maxTornado is the number of bars that tell a story; the rest is smaller.
const maxTornado = 25

// Measures of a tornado chart.
const (
	tornadoWidth = 460 * vg.Length(1) // of the area of bars with its amounts
	tornadoPitch = 24 * vg.Length(1)
)

// tornado is a chart of differences to both sides of a line.
type tornado struct {
	*frame
	bars    []tornadoBar
	dearer  fill
	cheaper fill
}

func newTornado(a *results.Ablation, base string, bars []tornadoBar) *tornado {
	white := color.NRGBA{255, 255, 255, 255}
	t := &tornado{
		frame: newFrame("What each mechanism is worth: " + Printable(base)), bars: bars,
		dearer:  fill{name: "dearer when switched", color: color.NRGBA{213, 94, 0, 255}, ink: white},
		cheaper: fill{name: "cheaper when switched", color: color.NRGBA{0, 114, 178, 255}, ink: white, hatch: hatchUp},
	}
	var notes []string
	if n := len(bars) - maxTornado; n > 0 {
		t.bars = bars[:maxTornado]
		notes = append(notes, CountOf(n, "smaller difference")+" not drawn")
	}
	names := vg.Length(0)
	keys := []legendKey{}
	for i := range t.bars {
		t.bars[i].name = drawable(t.label, t.bars[i].name)
		names = max(names, t.label.Width(t.bars[i].name))
	}
	for _, f := range t.fills() {
		keys = append(keys, f.key())
	}
	facts := headLines(a.Run)[:1]
	if cost, ok := costOf(a.Run, base); ok {
		facts = append(facts, fmt.Sprintf("as it is: %s", usd(cost, usdDecimals([]float64{cost}))))
	}
	t.lay(names+tornadoWidth, tornadoPitch*vg.Length(len(t.bars))+axisHeight, a.Run, facts, keys, notes...)
	t.paint = func(c draw.Canvas) { t.plot().Draw(c) }
	return t
}

func costOf(run *results.Run, cell string) (float64, bool) {
	for i := range run.Cells {
		if run.Cells[i].Cell == cell {
			return run.Cells[i].Total.CostUSD(), true
		}
	}
	return 0, false
}

// fills returns the fills in use, and one for what the model error covers.
func (t *tornado) fills() []fill {
	var up, down, covered bool
	for _, b := range t.bars {
		up, down, covered = up || b.usd > 0, down || b.usd < 0, covered || b.covered
	}
	var list []fill
	if up {
		list = append(list, t.dearer)
	}
	if down {
		list = append(list, t.cheaper)
	}
	if covered {
		pale := fill{name: "~ within the model error", color: pale(t.dearer.color), ink: color.NRGBA{96, 96, 96, 255}}
		list = append(list, pale)
	}
	return list
}

// pale returns a colour that steps back.
func pale(c color.NRGBA) color.NRGBA {
	light := func(v uint8) uint8 { return v + (255-v)*3/5 }
	return color.NRGBA{light(c.R), light(c.G), light(c.B), 255}
}

// plot returns the bars with their axes.
func (t *tornado) plot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	grid := color.NRGBA{225, 225, 225, 255}
	p.Add(gridLines{draw.LineStyle{Color: grid, Width: vg.Points(0.6)}}, t)
	p.X.Label.Text = "difference in cost when switched (USD)"
	p.X.Label.TextStyle = t.label
	p.X.Label.TextStyle.XAlign = draw.XCenter
	p.X.Tick.Marker = plot.TickerFunc(signedTicks)
	p.X.Tick.Label = t.small
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.X.Width, p.X.Tick.Width, p.X.Padding = 0, 0, 0
	p.X.Min, p.X.Max = t.reach()
	ticks := make([]plot.Tick, len(t.bars))
	for i, b := range t.bars {
		ticks[i] = plot.Tick{Value: t.at(i), Label: b.name}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Label = t.label
	p.Y.Tick.Label.XAlign = draw.XRight
	descent := t.label.FontExtents().Descent / t.label.Height("Ág") // as nameBars has it
	p.Y.Tick.Label.YAlign = draw.YCenter - draw.YAlignment(descent)
	p.Y.Tick.Width, p.Y.Width, p.Y.Padding = 0, 0, 0
	p.Y.Min, p.Y.Max = -0.5, float64(len(t.bars))-0.5
	return p
}

// at returns the place of a bar on the vertical axis.
func (t *tornado) at(i int) float64 { return float64(len(t.bars) - 1 - i) }

// reach returns the ends of the axis: the longest bars and room for the amounts
// behind them, on both sides.
func (t *tornado) reach() (low, high float64) {
	room := vg.Length(0)
	for _, b := range t.bars {
		room = max(room, t.label.Width(b.text)+3*lineGap)
		low, high = min(low, b.usd), max(high, b.usd)
	}
	sides := vg.Length(1)
	if low < 0 && high > 0 {
		sides = 2
	}
	unit := (high - low) / float64(tornadoWidth-sides*room-2*chartMargin) // USD a point
	if low < 0 {
		low -= unit * float64(room)
	}
	if high > 0 {
		high += unit * float64(room)
	}
	return low, high
}

// Plot implements plot.Plotter.
func (t *tornado) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	zero := toX(0)
	for i, b := range t.bars {
		y, end := toY(t.at(i)), toX(b.usd)
		f := t.dearer
		style := t.label
		style.YAlign = draw.YCenter
		text := vg.Point{X: end + 2*lineGap, Y: y}
		if b.usd < 0 {
			f = t.cheaper
			style.XAlign = draw.XRight
			text.X = end - 2*lineGap
		}
		if b.covered {
			f.color, f.ink = pale(f.color), color.NRGBA{96, 96, 96, 255}
		}
		half := tornadoPitch * 3 / 10
		f.draw(&c, min(zero, end), y-half, max(zero, end), y+half)
		c.FillText(style, text, b.text)
	}
	c.StrokeLine2(draw.LineStyle{Color: color.NRGBA{96, 96, 96, 255}, Width: vg.Points(0.8)}, zero, c.Min.Y, zero, c.Max.Y)
}

// signedTicks labels differences to both sides of zero.
func signedTicks(low, high float64) []plot.Tick {
	step := niceStep((high - low) / 6)
	decimals := 0
	if step < 1 {
		decimals = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		label := signed(i*step, func(v float64) string { return usd(v, decimals) })
		if i == 0 {
			label = "$0"
		}
		ticks = append(ticks, plot.Tick{Value: i * step, Label: label})
	}
	return ticks
}
