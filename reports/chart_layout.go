package reports

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// Measures of a chart.
const (
	chartMargin = 14 * vg.Length(1)
	barsWidth   = 430 * vg.Length(1) // of the area of bars with its labels
	barPitch    = 30 * vg.Length(1)  // from bar to bar
	axisHeight  = 46 * vg.Length(1)
	legendBox   = 11 * vg.Length(1)
	lineGap     = 4 * vg.Length(1)
)

// chartLayout places the parts of a chart below each other: title, facts,
// legend, bars with their axis, source.
type chartLayout struct {
	width, height      vg.Length
	bars               []costBar
	fills              []fill
	title              string
	facts              []string // lines, wrapped
	legend             [][]int  // lines of indices into fills
	source             []string // lines, wrapped
	head, small, label draw.TextStyle
}

func newChartLayout(run *results.Run, bars []costBar) *chartLayout {
	dark, grey := color.NRGBA{38, 38, 38, 255}, color.NRGBA{96, 96, 96, 255}
	l := &chartLayout{
		bars: bars, fills: fills(), title: "Cost by strategy and token class",
		head: textStyle(14, dark), small: textStyle(9, grey), label: textStyle(10, dark),
	}
	names := vg.Length(0)
	for i := range bars {
		bars[i].name = drawable(l.label, bars[i].name)
		names = max(names, l.label.Width(bars[i].name))
	}
	l.width = names + barsWidth + 2*chartMargin
	inner := l.width - 2*chartMargin
	l.facts = wrapped(l.small, inner, headLines(run)[:1])
	l.source = wrapped(l.small, inner, slices.Concat(noteLines(run), []string{sourceLine(run), trustLine(run)}))
	l.legend = l.legendLines(inner)
	l.height = 2*chartMargin + l.line(l.head) + l.line(l.small)*vg.Length(len(l.facts)+len(l.source)) +
		l.line(l.label)*vg.Length(len(l.legend)) + 3*lineGap + barPitch*vg.Length(len(bars)) + axisHeight
	return l
}

// line returns the distance between two lines of a style.
func (l *chartLayout) line(s draw.TextStyle) vg.Length { return s.Height("Ág") + lineGap }

// sourceLine says where the figures come from.
func sourceLine(run *results.Run) string {
	p := &run.Provenance
	s := "source: " + countOf(run.Workload.Sessions, "session") + " replayed by sim"
	if p.Version != "" {
		s += " " + p.Version
	}
	s += fmt.Sprintf(", seed %d", p.Seed)
	if p.Prices != "" {
		s += ", price table of " + p.Prices
	}
	return printable(s)
}

// maxNotes is the number of notes that a chart has room for.
const maxNotes = 6

// noteLines writes the footnotes of a run with the names of their cells: a
// chart has no place for marks.
func noteLines(run *results.Run) []string {
	var lines []string
	notes := run.Footnotes()
	for i, n := range notes {
		if i == maxNotes {
			lines = append(lines, "… "+countOf(len(notes)-i, "more note"))
			break
		}
		text := n.Text
		if n.Cell != "" {
			text = shortened(n.Cell, maxNameRunes) + ": " + text
		}
		lines = append(lines, printable(text))
	}
	return lines
}

// wrapped breaks texts at spaces into lines of at most width.
func wrapped(s draw.TextStyle, width vg.Length, texts []string) []string {
	var lines []string
	for _, text := range texts {
		line := ""
		for word := range strings.FieldsSeq(drawable(s, text)) {
			if line != "" && s.Width(line+" "+word) > width {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// legendLines distributes the classes that cost anything over lines.
func (l *chartLayout) legendLines(width vg.Length) [][]int {
	var lines [][]int
	x := width
	for i, f := range l.fills {
		if !l.drawn(i) {
			continue
		}
		w := l.legendWidth(f)
		if x+w > width {
			lines = append(lines, nil)
			x = 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], i)
		x += w
	}
	return lines
}

func (l *chartLayout) legendWidth(f fill) vg.Length {
	return legendBox + lineGap + l.label.Width(f.name) + 14
}

// drawn reports whether a part is not zero in some bar.
func (l *chartLayout) drawn(part int) bool {
	for _, b := range l.bars {
		if b.parts[part] > 0 {
			return true
		}
	}
	return false
}

func (l *chartLayout) draw(c draw.Canvas) {
	c.FillPolygon(color.White, rectangle(c.Min.X, c.Min.Y, c.Max.X, c.Max.Y))
	left := c.Min.X + chartMargin
	y := c.Max.Y - chartMargin
	text := func(s draw.TextStyle, txt string) {
		y -= l.line(s)
		c.FillText(s, vg.Point{X: left, Y: y + lineGap}, txt)
	}
	text(l.head, l.title)
	for _, f := range l.facts {
		text(l.small, f)
	}
	y -= lineGap
	for _, line := range l.legend {
		y -= l.line(l.label)
		l.drawLegend(c, left, y+lineGap, line)
	}
	bottom := c.Min.Y + chartMargin + lineGap + l.line(l.small)*vg.Length(len(l.source))
	l.plot().Draw(draw.Crop(c, chartMargin, -chartMargin, bottom-c.Min.Y, y-lineGap-c.Max.Y))
	y = bottom - lineGap
	for _, s := range l.source {
		text(l.small, s)
	}
}

func (l *chartLayout) drawLegend(c draw.Canvas, x, y vg.Length, parts []int) {
	for _, i := range parts {
		f := l.fills[i]
		f.draw(&c, x, y, x+legendBox, y+legendBox)
		c.FillText(l.label, vg.Point{X: x + legendBox + lineGap, Y: y + 1}, f.name)
		x += l.legendWidth(f)
	}
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
