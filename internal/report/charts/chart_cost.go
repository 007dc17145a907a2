package reports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
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
// draws the reference cells and the cheapest others. Drawing fails when there is nothing
// to draw: no cells, no cost, or figures that are negative or not finite.
func Chart(run *results.Run) Drawing {
	return drawing("cost", func() (*document.Chart, error) { return costChart(run) })
}

// costBar is the cost of one cell.
type costBar struct {
	cell      *results.Cell
	parts     []float64 // USD by token class, then storage
	total     float64   // USD
	reference bool      // billed or recorded
}

// costBars returns the bars of run from top to bottom.
func costBars(run *results.Run) ([]costBar, error) {
	if len(run.Cells) == 0 {
		return nil, errors.New("the run has no cells")
	}
	var bars []costBar
	var highest float64
	for i := range run.Cells {
		c := &run.Cells[i]
		b := costBar{cell: c, reference: isReference(c)}
		b.parts = append(slices.Clone(c.Total.CostByClass()[:]), c.Total.Figures[results.StorageUSD])
		for _, v := range b.parts {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return nil, fmt.Errorf("cell %q: cost %v cannot be drawn", c.Cell, v)
			}
			b.total += v
		}
		highest = max(highest, b.total)
		bars = append(bars, b)
	}
	if highest == 0 || math.IsInf(highest, 0) {
		return nil, fmt.Errorf("the highest cost of all cells is $%v", highest)
	}
	return bars, nil
}

// worthABar returns the reference cells and the cheapest others, in their order.
func worthABar(bars []costBar) []costBar {
	if len(bars) <= maxBars {
		return bars
	}
	var totals []float64
	for _, b := range bars {
		if !b.reference {
			totals = append(totals, b.cell.Total.RankUSD())
		}
	}
	slices.Sort(totals)
	room := max(maxBars-(len(bars)-len(totals)), 1)
	highest := totals[min(room, len(totals))-1]
	return slices.DeleteFunc(slices.Clone(bars), func(b costBar) bool {
		if b.reference {
			return false
		}
		if b.cell.Total.RankUSD() > highest || room == 0 {
			return true
		}
		room--
		return false
	})
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
	all, err := costBars(run)
	if err != nil {
		return nil, err
	}
	bars := worthABar(all)
	drawn := map[string]bool{}
	var totals []float64
	for _, b := range bars {
		drawn[b.cell.Cell] = true
		totals = append(totals, b.total)
	}
	notes := cellNotes(run, func(cell string) bool { return drawn[cell] })
	if n := len(all) - len(bars); n > 0 {
		notes = append(notes, fmt.Sprintf("the %s of the highest cost have no bar", document.Count(n, "cell")))
	}
	amounts := document.Series{Mark: document.MarkText, Aid: true}
	whole := document.Series{Mark: document.MarkText, Data: "total"}
	spans, high := make([]document.Span, len(bars)), slices.Max(totals)
	cost, _ := results.LookupMetric(results.NameCost)
	for i, b := range bars {
		spans[i] = spanOf(run, b.cell, cost)
	}
	high = shownTo(high, spans)
	p := document.Panel{Height: barPitch * float64(len(bars)), X: unitAxis(results.UnitUSD, 0, high, 5)}
	p.X.Title, p.X.Grid = "cost (USD)", true
	parts := costParts()
	money := document.Amounts(totals...)
	swept := sweptNames(run)
	for i, b := range bars {
		y, sum := p.Y.Place(i, len(bars), shortName(b.cell, swept)), 0.0
		for k, v := range b.parts {
			if v > 0 {
				share := strconv.FormatFloat(100*v/b.total, 'f', 0, 64) + " %"
				parts[k].Box(sum, y-0.3, sum+v, y+0.3, uncrossed(share, sum, sum+v, spans[i]))
			}
			sum += v
		}
		text := money(b.total)
		if note, chance := vsRecorded(run, b.cell); note != "" && note != document.Dash {
			text += "  " + bracketed(note, chance)
		}
		spread(&whole, true, b.total, y, "", spans[i], b.cell.Sessions)
		amounts.Point(max(b.total, min(spans[i].High, high)), y, text)
	}
	notes = slices.Concat(barNotes(spans), valuesNote(run, swept), notes)
	for _, part := range parts {
		if part.Mark = document.MarkBox; len(part.X) > 0 {
			p.Series = append(p.Series, part)
		}
	}
	p.Series = append(p.Series, whole, amounts)
	return runChart(run, "Cost by strategy and token class", chartTrust(run), barsWidth, []document.Panel{p}, notes...), nil
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
	return slices.DeleteFunc(a.Differences(base, 1), func(d studies.Difference) bool {
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
		{Name: "in brackets, its interval holds 0", Mark: document.MarkBox, Style: document.Style{Color: 0xb4b4b4}},
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
