package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of the chart of a comparison: small panels in columns.
const (
	corpusColumns = 5
	corpusWidth   = 132 * vg.Length(1)
	corpusHeight  = 82 * vg.Length(1)
	corpusGap     = 16 * vg.Length(1)
	corpusHead    = 16 * vg.Length(1) // room for the name above a panel
	corpusFoot    = 14 * vg.Length(1) // room for the labels below it
)

// How alike a dimension is, told by the ground of its panel and by the word
// beside its distance.
var (
	corpusGrounds = map[string]color.NRGBA{
		"alike": {232, 245, 233, 255}, "near": {255, 248, 225, 255}, "differs": {252, 228, 221, 255}, "few": {245, 245, 245, 255},
	}
	corpusPens = [2]draw.LineStyle{
		{Color: color.NRGBA{213, 94, 0, 255}, Width: vg.Points(1.4), Dashes: []vg.Length{4, 2}},
		{Color: color.NRGBA{0, 90, 160, 255}, Width: vg.Points(1.6)},
	}
)

// CorpusChart draws the distributions of both corpora, a panel for each
// dimension: the share of values up to x. The ground of a panel tells how alike
// they are.
func CorpusChart(w io.Writer, format string, c *CorpusComparison) error {
	if len(c.Dimensions) == 0 {
		return errors.New("drawing a comparison: the corpora have no dimension in common")
	}
	f := newFrame("Generated and recorded sessions: where they are alike")
	rows := (len(c.Dimensions) + corpusColumns - 1) / corpusColumns
	columns := min(corpusColumns, len(c.Dimensions))
	width := vg.Length(columns)*(corpusWidth+corpusGap) - corpusGap
	f.width = width + 2*chartMargin
	f.facts = wrapped(f.small, width, []string{c.facts()})
	f.legend = f.legendLines(width, corpusKeys(c))
	f.source = wrapped(f.small, width, []string{"sim traces compare"})
	f.height = 2*chartMargin + f.line(f.head) + f.line(f.small)*vg.Length(len(f.facts)+len(f.source)) + f.line(f.label)*vg.Length(len(f.legend)) +
		3*lineGap + vg.Length(rows)*(corpusHeight+corpusHead+corpusFoot+lineGap)
	f.paint = func(canvas draw.Canvas) {
		for i := range c.Dimensions {
			x := canvas.Min.X + vg.Length(i%corpusColumns)*(corpusWidth+corpusGap)
			y := canvas.Max.Y - vg.Length(i/corpusColumns)*(corpusHeight+corpusHead+corpusFoot+lineGap) - corpusHead
			area := vg.Rectangle{Min: vg.Point{X: x, Y: y - corpusHeight}, Max: vg.Point{X: x + corpusWidth, Y: y}}
			drawDimension(&canvas, f.pens(), area, &c.Dimensions[i])
		}
	}
	return f.render(w, format)
}

// facts says what is drawn, and how many dimensions are how alike.
func (c *CorpusComparison) facts() string {
	count := map[string]int{}
	for i := range c.Dimensions {
		count[c.Dimensions[i].fit()]++
	}
	return fmt.Sprintf(
		"share of values up to x, x logarithmic where values span decades; dimensions: %d; alike (KS ≤ 10 %%): %d; near (≤ 25 %%): %d; differs: %d; few (fewer than %d values on a side): %d",
		len(c.Dimensions), count["alike"], count["near"], count["differs"], fewValues, count["few"])
}

// corpusKeys returns the legend: the two lines and the grounds.
func corpusKeys(c *CorpusComparison) []legendKey {
	var keys []legendKey
	for k, name := range c.Names {
		pen := corpusPens[k]
		keys = append(keys, legendKey{fmt.Sprintf("%s: %s (%s)", corpusRoles[k], Printable(name), CountOf(c.Sessions[k], "session")), 2 * legendBox, func(c *draw.Canvas, x, y vg.Length) {
			c.StrokeLine2(pen, x, y+legendBox/2, x+2*legendBox, y+legendBox/2)
		}})
	}
	for _, fit := range []string{"alike", "near", "differs", "few"} {
		keys = append(keys, legendKey{fit, legendBox, func(c *draw.Canvas, x, y vg.Length) {
			c.FillPolygon(corpusGrounds[fit], rectangle(x, y, x+legendBox, y+legendBox))
			c.StrokeLines(draw.LineStyle{Color: color.NRGBA{160, 160, 160, 255}, Width: vg.Points(0.5)}, rectangle(x, y, x+legendBox, y+legendBox))
		}})
	}
	return keys
}

// drawDimension draws one panel.
func drawDimension(c *draw.Canvas, s pens, area vg.Rectangle, d *CorpusDimension) {
	c.FillPolygon(corpusGrounds[d.fit()], rectangle(area.Min.X, area.Min.Y, area.Max.X, area.Max.Y))
	name := s.small
	name.Color = s.label.Color
	c.FillText(name, vg.Point{X: area.Min.X, Y: area.Max.Y + 3}, d.title())
	p := panel{area: area, x: corpusScale(d), y: scale{high: 1}}
	c.StrokeLine2(s.grid, area.Min.X, p.toY(0.5), area.Max.X, p.toY(0.5))
	for k := len(d.Values) - 1; k >= 0; k-- {
		if len(d.Values[k]) > 0 {
			c.StrokeLines(corpusPens[k], p.shares(d.Values[k]))
		}
	}
	c.StrokeLine2(s.axis, area.Min.X, area.Min.Y, area.Max.X, area.Min.Y)
	style := s.small
	style.Font.Size = 8
	style.YAlign = draw.YTop
	low, high := p.x.low, p.x.high
	c.FillText(style, vg.Point{X: area.Min.X, Y: area.Min.Y - 2}, corpusLabel(low, d.Unit))
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: area.Max.X, Y: area.Min.Y - 2}, corpusLabel(high, d.Unit))
	style.XAlign = draw.XCenter
	style.Color = s.label.Color
	c.FillText(style, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Min.Y - 2}, d.verdict())
}

// verdict says below a panel how alike the corpora are.
func (d *CorpusDimension) verdict() string {
	if one := d.only(); one >= 0 {
		return corpusRoles[one] + " only · " + d.fit()
	}
	return "KS " + percent(d.KS) + " · " + d.fit()
}

// corpusLabel writes an end of a panel's scale so shortly that the verdict has room
// beside it.
func corpusLabel(x float64, unit string) string {
	if unit == "seconds" {
		switch {
		case x >= 48*3600:
			return fmt.Sprintf("%.0f d", x/86400)
		case x >= 3600:
			return fmt.Sprintf("%.0f h", x/3600)
		case x >= 60:
			return fmt.Sprintf("%.0f m", x/60)
		case x >= 1:
			return fmt.Sprintf("%.0f s", x)
		}
	}
	if x >= 10_000 {
		return fmt.Sprintf("%.0fk", x/1000)
	}
	return corpusFigure(x)
}

// corpusScale spans both samples but for their outermost half per cent.
func corpusScale(d *CorpusDimension) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for k := range d.Values {
		if len(d.Values[k]) > 0 {
			low, high = min(low, d.quantile(k, 0.005)), max(high, d.quantile(k, 0.995))
		}
	}
	if d.Unit == "share" {
		return scale{low: min(math.Floor(10*low)/10, 0.9), high: 1}
	}
	if high > 30*max(low, 1) || d.Unit == "seconds" || d.Unit == "tokens" {
		low = max(low, high/1e6, 0.001)
		if d.Unit != "seconds" {
			low = max(low, 1)
		}
		return scale{low: low, high: max(high, low*2), log: true}
	}
	return scale{low: low, high: max(high, low+1)}
}

// shares returns the steps of the share of sorted values up to x.
func (p *panel) shares(values []float64) []vg.Point {
	at := func(x, share float64) vg.Point {
		return vg.Point{X: p.toX(min(max(x, p.x.low), p.x.high)), Y: p.toY(share)}
	}
	points := []vg.Point{at(p.x.low, 0)}
	last := math.Inf(-1)
	for i, v := range values {
		if i+1 < len(values) && values[i+1] == v {
			continue
		}
		x := at(v, 0).X
		if float64(x)-last < 0.8 && i+1 < len(values) {
			continue // less than a dot from the last step
		}
		last = float64(x)
		points = append(points, vg.Point{X: x, Y: points[len(points)-1].Y}, at(v, float64(i+1)/float64(len(values))))
	}
	return append(points, at(p.x.high, 1))
}
