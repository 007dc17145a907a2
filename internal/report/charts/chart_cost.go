package reports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/sim/results"
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
		results.ClassUncached:   {Name: "uncached input", Style: document.Style{Color: 0x6e3705}},
		results.ClassRead:       {Name: "cache read", Style: document.Style{Color: 0xcde2f5}},
		results.ClassWrite5m:    {Name: "cache write 5m", Style: document.Style{Color: document.Blue}},
		results.ClassWrite1h:    {Name: "cache write 1h", Style: document.Style{Color: 0x081d58}},
		results.ClassWriteOther: {Name: "cache write other", Style: document.Style{Color: 0x555c78}},
		results.ClassOutput:     {Name: "output", Style: document.Style{Color: 0xe6913c}},
		results.NumClasses:      {Name: "storage", Style: document.Style{Color: 0xbebebe}},
	}
}

func costChart(run *results.Run) (*document.Chart, error) {
	run, rest := selected(run, maxBars)
	if len(run.Cells) == 0 {
		return nil, errors.New("the run has no cells")
	}
	b := bars{run: run, metric: results.NameCost, kinds: costParts(), ticks: 5, axis: "cost (USD)"}
	var totals []float64
	for i := range run.Cells {
		c := &run.Cells[i]
		parts, total := append(slices.Clone(c.Total.CostByClass()[:]), c.Total.Figures[results.StorageUSD]), 0.0
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
		if note, chance := vsRecorded(run, b.cells[i]); note != "" && note != document.Dash {
			text += "  " + bracketed(note, chance)
		}
		return text
	}
	return b.chart("Cost by strategy and token class", chartTrust(run), notes...), nil
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

// AblationDrawings returns a tornado chart for each strategy of an ablation
// that has a mechanism with an effect.
func AblationDrawings(a *studies.Ablation) []Drawing {
	var list []Drawing
	for _, base := range a.Bases {
		if len(tornadoBars(a, base)) > 0 {
			d := drawing("tornado", func() (*document.Chart, error) { return tornado(a, base) })
			d.Name = fileName("tornado", base)
			list = append(list, d)
		}
	}
	return list
}

// tornadoBars returns the changes of a strategy that cost or save anything.
func tornadoBars(a *studies.Ablation, base string) []studies.Difference {
	return slices.DeleteFunc(a.Differences(base), func(d studies.Difference) bool {
		return d.USD == 0 || math.IsNaN(d.USD) || math.IsInf(d.USD, 0)
	})
}

// tornado draws the cost of a strategy with each mechanism switched, the
// largest difference at the top.
func tornado(a *studies.Ablation, base string) (*document.Chart, error) {
	bars := tornadoBars(a, base)
	if len(bars) == 0 {
		return nil, errors.New("no mechanism makes a difference in cost")
	}
	var notes []string
	if n := len(bars) - maxTornado; n > 0 {
		bars = bars[:maxTornado]
		notes = append(notes, document.Count(n, "smaller difference")+" not drawn")
	}
	low, high := 0.0, 0.0
	var amounts []float64
	for i := range bars {
		low, high = min(low, bars[i].USD), max(high, bars[i].USD)
		amounts = append(amounts, bars[i].USD)
	}
	p := document.Panel{Height: 24 * float64(len(bars)), X: unitAxis(results.UnitUSD, low, high, 6)}
	p.X.Title, p.X.Grid, p.Y.Bare = "difference in cost when switched (USD)", true, true
	for i, t := range p.X.Ticks {
		if t.Value > 0 {
			p.X.Ticks[i].Label = "+" + t.Label
		}
	}
	series := []document.Series{
		{Name: "dearer when switched", Mark: document.MarkBox, Style: document.Style{Color: 0xd55e00}},
		{Name: "cheaper when switched", Mark: document.MarkBox, Style: document.Style{Color: 0x005aa0}},
		{Name: "in brackets, its interval contains 0", Mark: document.MarkBox, Style: document.Style{Color: 0xb4b4b4}},
		{Mark: document.MarkText}, {Mark: document.MarkText, Left: true},
	}
	money := document.Amounts(amounts...)
	for i := range bars {
		d := &bars[i]
		y := p.Y.Place(i, len(bars), document.Shortened(changeText(d.Change), maxNameRunes))
		kind, side := 0, 3
		if d.USD < 0 {
			kind, side = 1, 4
		}
		if d.Covered {
			kind = 2
		}
		series[kind].Box(min(d.USD, 0), y-0.3, max(d.USD, 0), y+0.3, "")
		text := bracketed(document.Signed(d.USD, money)+"  "+relativeText(d), d.Covered)
		series[side].Point(d.USD, y, text)
	}
	p.Series = append(slices.DeleteFunc(series, func(s document.Series) bool { return len(s.X) == 0 }),
		across(0, p.Y.Low, 0, p.Y.High))
	c := runChart(a.Run, "What each mechanism is worth: "+document.Printable(base), errorLine(a.Run), barsWidth+30, []document.Panel{p}, notes...)
	if cell := cellOf(a.Run, base); cell != nil {
		cost := cell.Total.CostUSD()
		c.Facts = append(c.Facts, "as it is: "+document.Amounts(cost)(cost))
	}
	return c, nil
}
