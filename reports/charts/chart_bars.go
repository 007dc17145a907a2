package charts

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Measures of a chart of bars.
const (
	barsWidth  = 430
	barPitch   = 30 // from bar to bar
	maxBars    = 40 // that a page has room for
	maxTornado = 25
)

// Chart draws the cost of every cell, USD, as bars stacked by token class. If a page has no room for all, it
// draws the reference cells, the cheapest and the dearest others. Drawing fails when there is nothing
// to draw: no cells, no cost, or figures that are negative or not finite.
func Chart(run *results.Run) Drawing {
	return drawing("cost", func() (*document.Chart, error) { return costChart(run) })
}

// costParts are the names and colours of the parts of a bar. They differ in
// luminance; blue is what passes through the cache.
func costParts() []document.Series {
	return []document.Series{
		measures.ClassUncached:   {Name: "uncached input", Style: document.Style{Color: 0x6e3705}},
		measures.ClassRead:       {Name: "cache read", Style: document.Style{Color: 0xcde2f5}},
		measures.ClassWrite5m:    {Name: "cache write 5m", Style: document.Style{Color: document.Blue}},
		measures.ClassWrite1h:    {Name: "cache write 1h", Style: document.Style{Color: 0x081d58}},
		measures.ClassWriteOther: {Name: "cache write other", Style: document.Style{Color: 0x555c78}},
		measures.ClassOutput:     {Name: "output", Style: document.Style{Color: 0xe6913c}},
		measures.NumClasses:      {Name: "storage, searches", Style: document.Style{Color: 0xbebebe}},
	}
}

func costChart(run *results.Run) (*document.Chart, error) {
	run, rest := selectCells(run, maxBars)
	if len(run.Cells) == 0 {
		return nil, errors.New("the run has no cells")
	}
	b := bars{run: run, metric: measures.NameCost, kinds: costParts(), ticks: 5, axis: "cost (USD)"}
	var totals []float64
	for i := range run.Cells {
		c := &run.Cells[i]
		parts, total := append(slices.Clone(c.Total.CostByClass()[:]), c.Total.Figures[measures.StorageUSD]+c.Total.Figures[measures.SearchUSD]), 0.0
		for _, v := range parts {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return nil, fmt.Errorf("cell %q: cost %v cannot be drawn", c.Cell, v)
			}
			total += v
		}
		b.cells, b.parts, totals = append(b.cells, c), append(b.parts, parts), append(totals, total)
	}
	if highest := slices.Max(totals); highest == 0 || math.IsInf(highest, 0) {
		return nil, fmt.Errorf("the highest cost of all cells is $%v", highest)
	}
	notes := cellNotes(run)
	if rest != "" {
		notes = append(notes, rest)
	}
	money := document.Amounts(totals...)
	b.inside = func(v, total float64) string { return strconv.FormatFloat(100*v/total, 'f', 0, 64) + " %" }
	b.behind = func(i int, total float64) string {
		text := money(total)
		if note, mark := vsRecorded(run, b.cells[i]); note != "" && note != document.Dash {
			text += "  " + bracket(note, mark)
		}
		return text
	}
	return b.chart("Cost by strategy and token class", chartTrust(run, marksOf(run)), notes...), nil
}

// bars are cells, each a bar of parts with the interval of what they add up to.
type bars struct {
	run    *results.Run
	cells  []*results.Cell
	parts  [][]float64       // by cell and kind
	kinds  []document.Series // their names and colours
	metric string            // the name of what they add up to
	axis   string            // its title
	ticks  int
	inside func(part, total float64) string     // the text of a part
	behind func(cell int, total float64) string // the text at the end of a bar
}

// chart draws the bars from top to bottom.
func (b *bars) chart(title, trust string, notes ...string) *document.Chart {
	m, _ := results.LookupMetric(b.metric)
	spans, totals := make([]document.Span, len(b.cells)), make([]float64, len(b.cells))
	for i, c := range b.cells {
		spans[i] = spanOf(b.run, c, m)
		for _, v := range b.parts[i] {
			totals[i] += v
		}
	}
	high := shownTo(slices.Max(totals), spans)
	p := document.Panel{Height: barPitch * float64(len(b.cells)), X: unitAxis(m.Unit, 0, high, b.ticks)}
	p.X.Title, p.X.Grid = b.axis, true
	whole, texts := document.Series{Mark: document.MarkText, Data: "total"}, document.Series{Mark: document.MarkText, Aid: true}
	swept := sweptNames(b.run)
	for i, c := range b.cells {
		y, at := p.Y.Place(i, len(b.cells), shortName(c, swept)), 0.0
		for k, v := range b.parts[i] {
			if v > 0 {
				b.kinds[k].Box(at, y-0.3, at+v, y+0.3, uncrossed(b.inside(v, totals[i]), at, at+v, spans[i]))
			}
			at += v
		}
		spread(&whole, true, totals[i], y, "", spans[i], c.Sessions)
		texts.Point(max(totals[i], min(spans[i].High, high)), y, b.behind(i, totals[i]))
	}
	for _, kind := range b.kinds {
		if kind.Mark = document.MarkBox; len(kind.X) > 0 {
			p.Series = append(p.Series, kind)
		}
	}
	p.Series = append(p.Series, whole, texts)
	return runChart(b.run, title, trust, barsWidth, []document.Panel{p}, slices.Concat(barNotes(spans), valuesNote(b.run, swept), notes)...)
}

// leastRanked is the smallest number of sessions of a kind that a rank is the mean of.
const leastRanked = 3

// rankChart draws the mean rank of each cell by cost among all cells, 1 for the cheapest, over all
// sessions and over the sessions of each kind, with 95 % intervals by session.
func rankChart(run *results.Run) (*document.Chart, error) {
	base := run.Reference(measures.StrategyRecorded)
	if base == nil || base.Rows.Len() < leastRanked {
		return nil, errors.New("ranks need three recorded sessions")
	}
	var cells []*results.Cell
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != measures.StrategyBilled && c.Covers(base) && c.Rows.Len() > 0 && len(cells) < maxBars {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 {
		return nil, errors.New("there are no two strategies over the same sessions")
	}
	ranks := ranksOf(cells)
	p := document.Panel{Height: barPitch * float64(len(cells)), X: unitAxis(measures.UnitCount, 0.8, float64(len(cells))+0.2, 12)}
	p.X.Title, p.X.Grid = "mean rank by cost, 1 for the cheapest", true
	swept, styles, drawn := sweptNames(run), looks(), 0
	for _, kind := range studies.ByCalls {
		var at []int
		for i, r := range base.Rows.All() {
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
		return nil, errors.New("no kind has three sessions")
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
	costs := make([][]float64, len(cells))
	for at, c := range cells {
		for _, r := range c.Rows.All() {
			costs[at] = append(costs[at], r.RankUSD())
		}
	}
	for i := range costs[0] {
		for at := range cells {
			below, equal := 0, 0
			for _, other := range costs {
				switch usd := other[i]; {
				case usd < costs[at][i]:
					below++
				case usd == costs[at][i]:
					equal++
				}
			}
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
	m, _ := results.LookupMetric(measures.NameRecall)
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
	for class := exchange.MissNone + 1; int(class) < exchange.NumMissClasses; class++ {
		list = append(list, document.Series{Name: calls.Word(class.String()), Mark: document.MarkBox,
			Style: document.Style{Color: colors[(int(class)-1)%len(colors)]}})
	}
	return list
}

// missesChart draws the misses of each cell by class.
func missesChart(run *results.Run) (*document.Chart, error) {
	b := bars{run: run, metric: measures.NameMisses, kinds: missParts(), ticks: 6, axis: "misses (calls)",
		inside: func(v, _ float64) string { return numbers.Grouped(v, 0) },
		behind: func(_ int, total float64) string { return numbers.Grouped(total, 0) }}
	m, _ := results.LookupMetric(measures.NameMisses)
	for i := range run.Cells {
		c := &run.Cells[i]
		if _, ok := c.Value(m); ok && len(b.cells) < maxBars {
			parts := c.Total.Figures[measures.MissesByClass+1:][:len(b.kinds)]
			b.cells, b.parts = append(b.cells, c), append(b.parts, parts)
		}
	}
	if !slices.ContainsFunc(b.parts, func(parts []float64) bool { return slices.Max(parts) > 0 }) {
		return nil, errors.New("there are no misses")
	}
	return b.chart("Misses of the cache by strategy and cause", errorLine(run)), nil
}
