package charts

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Measures of the panel of cost against recall.
const (
	frontWidth  = barsWidth
	frontHeight = 290
	frontSteps  = 60 // of the line of the bound
)

// frontPoint is a cell by its cost, USD, and by
// the share of what is needed later that it keeps.
type frontPoint struct {
	cell        *results.Cell
	usd, recall float64
	cost        document.Span // the interval of usd
	ends        int           // sessions that it ends early, without which its figures are
}

// frontPoints returns the cells with both figures.
func frontPoints(run *results.Run) []frontPoint {
	cost, _ := results.LookupMetric(measures.NameCost)
	recall, _ := results.LookupMetric(measures.NameRecall)
	var points []frontPoint
	for i := range run.Cells {
		p := frontPoint{cell: &run.Cells[i]}
		var ok, also bool
		p.usd, ok = p.cell.Value(cost)
		p.recall, also = p.cell.Value(recall)
		if !ok || !also || math.IsInf(run.RankUSD(p.cell), 1) || math.IsInf(p.usd, 0) || math.IsNaN(p.usd) {
			continue
		}
		p.cost = spanOf(run, p.cell, cost)
		points = append(points, p)
	}
	return points
}

// frontDrawing returns the chart of cost against recall, a point for each cell, and the front of the bound
// if it was computed; nil with fewer than two cells other than references. Further points are drawn beside the points of the run.
func frontDrawing(run *results.Run, further ...frontPoint) *Drawing {
	points, others := append(frontPoints(run), further...), 0
	for _, p := range points {
		if !isReference(p.cell) {
			others++
		}
	}
	if others < 2 {
		return nil
	}
	d := drawing("front", func() (*document.Chart, error) {
		var notes []string
		if len(points) <= maxFrontSpans && slices.ContainsFunc(points, func(p frontPoint) bool { return p.cost.Low != p.cost.High }) {
			notes = []string{intervalNote}
		}
		c := runChart(run, "What it costs not to forget", errorLine(run), frontWidth, []document.Panel{frontPanel(run, points)}, notes...)
		if len(further) > 0 {
			c.Facts = append(c.Facts, "†: ends sessions early; cost as on the sessions that it brings to their end")
		}
		return c, nil
	})
	return &d
}

func frontPanel(run *results.Run, points []frontPoint) document.Panel {
	var usd, recalls []float64
	for _, p := range points {
		usd, recalls = append(usd, p.usd), append(recalls, recallAt(p.recall))
		if p.cost.Low != p.cost.High {
			usd = append(usd, max(p.cost.Low, 0.5*p.usd), shownTo(p.usd, []document.Span{p.cost}))
		}
	}
	if f := run.Front; f != nil {
		for _, at := range f.Points {
			usd, recalls = append(usd, at.CostUSD, f.Least(0)), append(recalls, recallAt(at.Recall))
		}
	}
	p := document.Panel{Height: frontHeight, X: recallAxis(slices.Min(recalls)), Y: costAxis(usd)}
	p.Title, p.Note = "Cost (USD)", axisNote(&p.Y)
	p.Y.Grid, p.Y.Bare = true, true
	if run.Front != nil {
		p.Series = append(p.Series, frontLines(run.Front, &p)...)
	}
	p.Series = append(p.Series, frontDots(run, points)...)
	return p
}

// maxLinearCost is how many times the least cost a point may cost on a linear axis. Most strategies cost about what the recording does: a
// few that cost many times as much would press them into one spot.
const maxLinearCost = 5

// costAxis returns the axis of some costs, USD.
func costAxis(usd []float64) document.Axis {
	if low, high := slices.Min(usd), slices.Max(usd); low > 0 && high > maxLinearCost*low {
		return logAxis(measures.UnitUSD, 0.8*low, 1.2*high)
	}
	return valueAxis(measures.UnitUSD, usd, 6)
}

// fullRecall is the end of the recall axis: cells that forget less are drawn there.
const fullRecall = 0.999

// recallAt returns the place of a recall on its axis: the forgotten share on a
// logarithmic scale, so that 98 and 99 % are as far apart as 90 and 95 %.
func recallAt(recall float64) float64 { return -math.Log10(1 - min(max(recall, 0), fullRecall)) }

// recallAxis returns the axis from just below a place on.
func recallAxis(least float64) document.Axis {
	a := document.Axis{Title: "recall: what is used later and still at hand", Grid: true,
		Low: least - 0.1, High: recallAt(fullRecall) + 0.1,
		Real: func(at float64) float64 { return 1 - math.Pow(10, -at) }}
	for _, v := range []float64{0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, fullRecall} {
		if at := recallAt(v); at >= a.Low {
			a.Ticks = append(a.Ticks, document.Tick{Value: at, Label: strconv.FormatFloat(100*v, 'f', -1, 64) + " %"})
		}
	}
	a.Ticks[len(a.Ticks)-1].Label = "≥ 99.9 %"
	return a
}

// frontLines returns the schedules that know the future, without those that
// another beats in both figures, and the bound that none passes.
func frontLines(f *results.Front, p *document.Panel) []document.Series {
	below := document.Series{Name: "bound of full compaction, fetches left out",
		Style: document.Style{Color: document.Grey, Width: 1.2, Dashes: []float64{4, 3}}}
	for i := range frontSteps + 1 {
		x := p.X.Low + (p.X.High-p.X.Low)*float64(i)/frontSteps
		usd := f.Least(1 - math.Pow(10, -x))
		if usd > p.Y.High || usd < p.Y.Low {
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
	if len(found.X) == 1 { // no line
		dots = dots[1:]
		dots[0].Aid = false
	}
	return append([]document.Series{below}, dots...)
}

// frontDots returns the cells: cells of a sweep on a line, every other cell under its name.
func frontDots(run *results.Run, points []frontPoint) []document.Series {
	swept := sweptNames(run)
	byStrategy := map[string][]frontPoint{}
	var names []string
	for _, at := range points {
		if byStrategy[at.cell.Strategy] == nil {
			names = append(names, at.cell.Strategy)
		}
		byStrategy[at.cell.Strategy] = append(byStrategy[at.cell.Strategy], at)
	}
	styles := slices.DeleteFunc(looks(), func(s document.Style) bool {
		// Green is the colour of the front, and thin markers drown among intervals.
		return s.Color == document.Green || s.Marker == document.Cross || s.Marker == document.Plus
	})
	var list []document.Series
	for i, name := range names {
		group, style := byStrategy[name], styles[i%len(styles)]
		style.Dashes, style.Width, style.Size = nil, 1, 3.4
		line := document.Series{Style: style, Aid: true}
		marks := document.Series{Mark: document.MarkDot, Style: style, Apart: true, Data: name, Unspanned: len(points) > maxFrontSpans}
		for _, at := range group {
			text := cellName(at.cell.Cell)
			if len(group) > 1 {
				text = sweptText(at.cell, swept)
			}
			if at.ends > 0 {
				text += " †"
			}
			x := recallAt(at.recall)
			spread(&marks, false, x, at.usd, text, at.cost, at.cell.Sessions)
			line.X, line.Y = append(line.X, x), append(line.Y, at.usd)
		}
		if len(group) > 1 {
			marks.Name = name
		}
		if varied(group, swept) == 1 { // lines connect values of one parameter only
			line.Name = name
			list = append(list, line)
		}
		list = append(list, marks)
	}
	return list
}

// maxFrontSpans is the largest number of points with intervals: more cover each other.
const maxFrontSpans = 8

// varied returns how many swept parameters differ among points.
func varied(points []frontPoint, swept []string) (n int) {
	for _, name := range swept {
		if slices.ContainsFunc(points, func(p frontPoint) bool { return p.cell.Params[name] != points[0].cell.Params[name] }) {
			n++
		}
	}
	return n
}

// shortName names a cell in a chart: one of a sweep by its strategy and values.
func shortName(c *results.Cell, swept []string) string {
	if values := sweptText(c, swept); values != "" {
		return cellName(c.Strategy + " " + values)
	}
	return cellName(c.Cell)
}

// valuesNote says what the values in the names of cells are.
func valuesNote(run *results.Run, swept []string) []string {
	var list []string
	for _, key := range swept {
		list = append(list, shortTitle(axisTitle(run, key)))
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"values after names: " + document.And(list)}
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

// shortTitle returns a title without its explanation and its unit.
func shortTitle(title string) string {
	title, _, _ = strings.Cut(title, ":")
	title, _, _ = strings.Cut(title, " (")
	return title
}
