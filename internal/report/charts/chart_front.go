package reports

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// Measures of the panel of cost against recall.
const (
	frontWidth  = barsWidth
	frontHeight = 290
	frontSteps  = 60 // of the line of the bound
)

// frontPoint is a cell by its cost, USD, and by
// the share of what is needed later that it keeps, both with their intervals.
type frontPoint struct {
	cell          *results.Cell
	usd, recall   float64
	cost, recalls results.Interval
}

// frontPoints returns the cells with both figures.
func frontPoints(run *results.Run) []frontPoint {
	cost, _ := results.LookupMetric(results.NameCost)
	recall, _ := results.LookupMetric(results.NameRecall)
	var points []frontPoint
	for i := range run.Cells {
		p := frontPoint{cell: &run.Cells[i]}
		var ok, also bool
		p.usd, ok = p.cell.Value(cost)
		p.recall, also = p.cell.Value(recall)
		if !ok || !also || p.cell.Total.CutShort() || math.IsInf(p.usd, 0) || math.IsNaN(p.usd) {
			continue
		}
		if p.cost, ok = p.cell.Interval(cost); !ok {
			p.cost = results.Interval{Low: p.usd, High: p.usd}
		}
		if p.recalls, ok = p.cell.Interval(recall); !ok {
			p.recalls = results.Interval{Low: p.recall, High: p.recall}
		}
		points = append(points, p)
	}
	return points
}

// frontDrawing returns a panel of cost against recall as a separate chart.
func frontDrawing(run *results.Run, p document.Panel) Drawing {
	return Drawing{Name: "front", chart: func() (*document.Chart, error) {
		c := runChart(run, "What it costs not to forget", errorLine(run))
		c.Facts, c.Width, c.Panels = headLines(run)[:1], frontWidth, []document.Panel{p}
		return c, nil
	}}
}

// frontPanel draws cost against recall, a point for each cell, and the front of the bound
// if it was computed; false with fewer than two cells other than references.
func frontPanel(run *results.Run) (document.Panel, bool) {
	points := frontPoints(run)
	others := 0
	var usd, recalls []float64
	for _, p := range points {
		if !isReference(p.cell) {
			others++
		}
		usd = append(usd, p.cost.Low, p.cost.High)
		recalls = append(recalls, p.recall, p.recalls.Low)
	}
	if others < 2 {
		return document.Panel{}, false
	}
	if f := run.Front; f != nil {
		for _, at := range f.Points {
			usd, recalls = append(usd, at.CostUSD, f.Least(0)), append(recalls, at.Recall)
		}
	}
	p := document.Panel{Height: frontHeight, X: recallAxis(slices.Min(recalls)),
		Title: "cost (USD) against recall: cheap and faithful is at the lower right"}
	low, high := slices.Min(usd), slices.Max(usd)
	p.Y = unitAxis(results.UnitUSD, max(0, low-0.08*(high-low)), high+0.05*(high-low)+minSpan(results.UnitUSD), 6)
	p.Y.Grid, p.Y.Bare = true, true
	p.Series = append(p.Series, frontBars(points))
	if run.Front != nil {
		p.Series = append(p.Series, frontLines(run.Front, &p)...)
	}
	p.Series = append(p.Series, frontDots(run, points, &p)...)
	return p, true
}

// fullRecall is the end of the recall axis: cells that forget less are drawn there.
const fullRecall = 0.999

// recallAt returns the place of a recall on its axis: the forgotten share on a
// logarithmic scale, so that 98 and 99 % are as far apart as 90 and 95 %.
func recallAt(recall float64) float64 { return -math.Log10(1 - min(max(recall, 0), fullRecall)) }

// recallAxis returns the axis from just below a recall on.
func recallAxis(least float64) document.Axis {
	a := document.Axis{Title: "recall: what is used later and still at hand", Grid: true,
		Low: recallAt(least) - 0.1, High: recallAt(fullRecall) + 0.1,
		Says: func(at float64) string {
			if at >= recallAt(fullRecall) {
				return "99.9 % or more"
			}
			return document.Percent(1 - math.Pow(10, -at))
		}}
	for _, v := range []float64{0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, fullRecall} {
		if at := recallAt(v); at >= a.Low {
			a.Ticks = append(a.Ticks, document.Tick{Value: at, Label: strconv.FormatFloat(100*v, 'f', -1, 64) + " %"})
		}
	}
	a.Ticks[len(a.Ticks)-1].Label = "≥ 99.9 %"
	return a
}

// frontBars returns the intervals of points: vertical for cost, horizontal for recall.
func frontBars(points []frontPoint) document.Series {
	bars := document.Series{Name: "intervals of costs and of what summaries keep",
		Style: document.Style{Color: 0xc4c4c4, Width: 0.8}}
	for _, p := range points {
		at := recallAt(p.recall)
		bars.X = append(bars.X, at, at, 0, recallAt(p.recalls.Low), recallAt(p.recalls.High), 0)
		bars.Y = append(bars.Y, p.cost.Low, p.cost.High, math.NaN(), p.usd, p.usd, math.NaN())
	}
	return bars
}

// frontLines returns the schedules that know the future, without those that
// another beats in both figures, and the bound that none passes.
func frontLines(f *results.Front, p *document.Panel) []document.Series {
	below := document.Series{Name: "bound of full compaction, fetches left out",
		Style: document.Style{Color: document.Grey, Width: 1.2, Dashes: []float64{4, 3}}}
	for i := range frontSteps + 1 {
		x := p.X.Low + (p.X.High-p.X.Low)*float64(i)/frontSteps
		usd := f.Least(1 - math.Pow(10, -x))
		if usd > p.Y.High {
			usd = math.NaN()
		}
		below.X, below.Y = append(below.X, x), append(below.Y, usd)
	}
	found := document.Series{Name: "best schedules, the future known",
		Style: document.Style{Color: document.Green, Width: 1.6, Marker: document.Ring, Size: 3}}
	points := slices.Clone(f.Points)
	slices.SortFunc(points, func(a, b results.FrontPoint) int { return cmp.Compare(a.Recall, b.Recall) })
	for i, at := range points {
		beaten := slices.ContainsFunc(points[i+1:], func(b results.FrontPoint) bool {
			return b.CostUSD <= at.CostUSD
		})
		if !beaten {
			found.X, found.Y = append(found.X, recallAt(at.Recall)), append(found.Y, at.CostUSD)
		}
	}
	dots := found.Dotted()
	dots[1].Texts = nil
	return append([]document.Series{below}, dots...)
}

// frontDots returns the cells: those of a sweep on a line, each other one under its name.
func frontDots(run *results.Run, points []frontPoint, p *document.Panel) []document.Series {
	swept := sweptNames(run)
	byStrategy := map[string][]frontPoint{}
	var names []string
	for _, at := range points {
		if byStrategy[at.cell.Strategy] == nil {
			names = append(names, at.cell.Strategy)
		}
		byStrategy[at.cell.Strategy] = append(byStrategy[at.cell.Strategy], at)
	}
	var room labels
	for _, at := range points {
		x, y := frontWidth*p.X.At(recallAt(at.recall)), frontHeight*p.Y.At(at.usd)
		room = append(room, label{x - 4, x + 4, y - 4, y + 4})
	}
	styles := slices.DeleteFunc(looks(), func(s document.Style) bool { return s.Color == document.Green }) // the colour of the front
	var list []document.Series
	for i, name := range names {
		group, style := byStrategy[name], styles[i%len(styles)]
		style.Dashes, style.Width, style.Size = nil, 1, 3.4
		var line document.Series
		line.Style = style
		right := document.Series{Mark: document.MarkDot, Style: style}
		left := right
		left.Left = true
		for _, at := range group {
			text := cellName(at.cell.Cell)
			if len(group) > 1 {
				text = sweptText(at.cell, swept)
			}
			x := recallAt(at.recall)
			side, text := room.place(frontWidth*p.X.At(x), frontHeight*p.Y.At(at.usd), text)
			if side > 0 {
				right.Point(x, at.usd, text)
			} else {
				left.Point(x, at.usd, text)
			}
			line.X, line.Y = append(line.X, x), append(line.Y, at.usd)
		}
		if len(group) > 1 {
			right.Name, left.Name = name, name
		}
		if varied(group, swept) == 1 { // lines connect values of one parameter only
			line.Name = name
			list = append(list, line)
		}
		list = append(list, right, left)
	}
	return slices.DeleteFunc(list, func(s document.Series) bool { return len(s.X) == 0 })
}

// varied returns how many swept parameters differ among points.
func varied(points []frontPoint, swept []string) (n int) {
	for _, name := range swept {
		if slices.ContainsFunc(points, func(p frontPoint) bool { return p.cell.Params[name] != points[0].cell.Params[name] }) {
			n++
		}
	}
	return n
}

// label is the area of a text or of a dot, points.
type label struct{ left, right, below, over float64 }

// labels are the occupied areas.
type labels []label

// Measures of a label beside a dot, points.
const (
	labelRune   = 4.4
	labelHeight = 9
	labelAway   = 8
)

// place finds free room for the text of a dot at its right, 1, or its left, −1;
// intervals reach further to the right. A text without room is left out.
func (l *labels) place(x, y float64, text string) (side int, shown string) {
	width := labelRune * float64(len([]rune(text)))
	for _, side := range []int{-1, 1} {
		a := label{x + labelAway, x + labelAway + width, y - labelHeight/2, y + labelHeight/2}
		if side < 0 {
			a.left, a.right = x-labelAway-width, x-labelAway
		}
		taken := slices.ContainsFunc(*l, func(b label) bool {
			return a.left < b.right && b.left < a.right && a.below < b.over && b.below < a.over
		})
		if !taken && a.left > 0 {
			*l = append(*l, a)
			return side, text
		}
	}
	return 1, ""
}

// shortName names a cell in a chart. If the name of a cell of a sweep is too long, that is its strategy and values.
func shortName(c *results.Cell, swept []string) string {
	if len([]rune(c.Cell)) > maxNameRunes && len(c.Params) > 0 {
		return cellName(c.Strategy + " " + sweptText(c, swept))
	}
	return cellName(c.Cell)
}

// sweptText names a cell of a sweep by its values alone.
func sweptText(c *results.Cell, swept []string) string {
	var parts []string
	for _, name := range swept {
		if v, ok := c.Params[name]; ok {
			a := newAxis(name, []string{v})
			parts = append(parts, a.label(v))
		}
	}
	return strings.Join(parts, " ")
}
