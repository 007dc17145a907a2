package reports

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// leastRanked is the smallest number of sessions of a kind that a rank is the mean of.
const leastRanked = 3

// rankChart draws the mean rank of each cell by cost among the others, 1 for the cheapest, over all sessions and over
// those of each kind, with 95 % intervals by session.
func rankChart(run *results.Run) (*document.Chart, error) {
	base := run.Reference(results.StrategyRecorded)
	if base == nil || len(base.Rows) < leastRanked {
		return nil, errors.New("ranks need three recorded sessions")
	}
	var cells []*results.Cell
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != results.StrategyBilled && c.Covers(base) && len(c.Rows) > 0 && len(cells) < maxBars {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 {
		return nil, errors.New("there are no two strategies over the same sessions")
	}
	ranks := ranksOf(cells)
	p := document.Panel{Height: barPitch * float64(len(cells)), X: unitAxis(results.UnitCount, 0.8, float64(len(cells))+0.2, 12)}
	p.X.Title, p.X.Grid = "mean rank by cost, 1 for the cheapest", true
	swept, styles, drawn := sweptNames(run), looks(), 0
	for _, kind := range studies.ByCalls {
		var at []int
		for i, r := range base.Rows {
			if kind.Has(r.OwnCalls(), 0) {
				at = append(at, i)
			}
		}
		if len(at) < leastRanked {
			continue
		}
		style := styles[drawn]
		style.Size = 2.8
		name := kind.Name
		if kind.About != "" {
			name += " (" + kind.About + ")"
		}
		marks := dotsOf(name+", "+document.Count(len(at), "session"), style)
		for c := range cells {
			mean, half := meanOf(ranks[c], at)
			y := float64(len(cells)-1-c) + 0.27*float64(1-drawn)
			spread(&marks, true, mean, y, "", document.Span{Low: max(mean-half, 1), High: min(mean+half, float64(len(cells)))}, len(at))
		}
		p.Series = append(p.Series, marks)
		drawn++
	}
	if drawn == 0 {
		return nil, errors.New("no kind of session has three of them")
	}
	for i, c := range cells {
		p.Y.Place(i, len(cells), shortName(c, swept))
	}
	return runChart(run, "Rank of strategies by cost and kind of session", errorLine(run), barsWidth, []document.Panel{p},
		append(valuesNote(run, swept), "bars: 95 % intervals of the mean over sessions; equal costs share their ranks")...), nil
}

// ranksOf returns the rank of each cell by cost in each session; equal costs share the mean of their ranks.
func ranksOf(cells []*results.Cell) [][]float64 {
	ranks := make([][]float64, len(cells))
	for i := range cells[0].Rows {
		for _, c := range cells {
			below, equal := 0, 0
			for _, other := range cells {
				switch usd := other.Rows[i].RankUSD(); {
				case usd < c.Rows[i].RankUSD():
					below++
				case usd == c.Rows[i].RankUSD():
					equal++
				}
			}
			at := slices.Index(cells, c)
			ranks[at] = append(ranks[at], float64(below)+float64(equal+1)/2)
		}
	}
	return ranks
}

// meanOf returns the mean of some values and half of its 95 % interval by Student's distribution.
func meanOf(values []float64, at []int) (mean, half float64) {
	var list []float64
	for _, i := range at {
		list = append(list, values[i])
	}
	mean, deviation := stat.MeanStdDev(list, nil)
	n := float64(len(list))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
}

// recallChart draws the recall of each cell with its 95 % interval by session.
func recallChart(run *results.Run) (*document.Chart, error) {
	m, _ := results.LookupMetric(results.NameRecall)
	marks := dotsOf("", document.Style{Color: document.Navy, Size: 3.4})
	marks.Data = "recall"
	var names []string
	var places []float64
	swept := sweptNames(run)
	for i := range run.Cells {
		c := &run.Cells[i]
		v, ok := c.Value(m)
		if !ok || len(names) == maxBars {
			continue
		}
		names = append(names, shortName(c, swept))
		span := spanOf(run, c, m)
		if span.Low != span.High {
			span = document.Span{Low: recallAt(span.Low), High: recallAt(span.High)}
			places = append(places, span.Low)
		}
		places = append(places, recallAt(v))
		spread(&marks, true, recallAt(v), 0, document.Percent(v), span, c.Sessions)
	}
	if len(names) == 0 {
		return nil, errors.New("no strategy has a sample of recall")
	}
	p := document.Panel{Height: barPitch * float64(len(names)), X: recallAxis(slices.Min(places))}
	for i, name := range names {
		marks.Y[i] = p.Y.Place(i, len(names), name)
	}
	amounts := document.Series{Mark: document.MarkText, Aid: true}
	for i := range marks.X {
		amounts.Point(max(marks.X[i], marks.XSpans[i].High), marks.Y[i], marks.Texts[i])
	}
	marks.Texts = nil
	p.Series = []document.Series{marks, amounts}
	return runChart(run, "What is used later and still at hand", errorLine(run), barsWidth, []document.Panel{p},
		slices.Concat(barNotes(marks.XSpans), valuesNote(run, swept))...), nil
}

// missParts are the classes of misses with their colours, from dark to light by what a client can do about them.
func missParts() []document.Series {
	colors := []document.Color{0x081d58, document.Orange, document.Blue, document.Brown, 0xcde2f5, document.Purple, 0xbebebe,
		document.Green, 0x555c78, 0xe6c88c}
	var list []document.Series
	for class := prompt.MissNone + 1; int(class) < prompt.NumMissClasses; class++ {
		list = append(list, document.Series{Name: calls.Word(class.String()), Mark: document.MarkBox,
			Style: document.Style{Color: colors[(int(class)-1)%len(colors)]}})
	}
	return list
}

// missesChart draws the misses of each cell by class.
func missesChart(run *results.Run) (*document.Chart, error) {
	b := bars{run: run, metric: results.NameMisses, kinds: missParts(), ticks: 6, axis: "misses (calls)",
		inside: func(v, _ float64) string { return document.Grouped(v, 0) },
		behind: func(_ int, total float64) string { return document.Grouped(total, 0) }}
	m, _ := results.LookupMetric(results.NameMisses)
	for i := range run.Cells {
		c := &run.Cells[i]
		if _, ok := c.Value(m); ok && len(b.cells) < maxBars {
			parts := c.Total.Figures[results.MissesByClass+1:][:len(b.kinds)]
			b.cells, b.parts = append(b.cells, c), append(b.parts, parts)
		}
	}
	if !slices.ContainsFunc(b.parts, func(parts []float64) bool { return slices.Max(parts) > 0 }) {
		return nil, errors.New("there are no misses")
	}
	return b.chart("Misses of the cache by strategy and cause", errorLine(run)), nil
}
