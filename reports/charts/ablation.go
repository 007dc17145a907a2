package charts

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Ablation reports what each mechanism of some strategies is worth: the figures
// of the unchanged strategy, and of the strategy with each mechanism switched, largest
// difference in cost first. CSV and JSON have a row for each with its own figures.
func Ablation(a *studies.Ablation) *document.Document {
	d := &document.Document{
		Head: headLines(a.Run),
		Notes: []string{
			"DIFFERENCE is the cost with one mechanism switched minus the cost unchanged: if positive, a mechanism taken away " +
				"(“without”) had saved that much, and one added (“with”) costs it. Differences do not add up, because " +
				"mechanisms replace each other.",
			"To repeat a line: sim run --strategy NAME --set PATH=VALUE.", ablationTrust(a),
		},
		Data: func() *document.Table {
			var rows []ablated
			for _, base := range a.Bases {
				rows = append(rows, ablatedRows(a, base)...)
			}
			return document.TableOf(ablationColumns("", rows), rows)
		},
	}
	for _, base := range a.Bases {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{ablationTable(a, base)}})
	}
	return d
}

// ablated is a strategy unchanged, or with a mechanism switched.
type ablated struct {
	cell *results.Cell
	base string
	diff *studies.Difference // nil unchanged
}

// ablatedRows returns an unchanged strategy and its changes.
func ablatedRows(a *studies.Ablation, base string) (rows []ablated) {
	cell := cellOf(a.Run, base)
	if cell == nil {
		return nil
	}
	rows = append(rows, ablated{cell, base, nil})
	for _, d := range a.Differences(base) {
		rows = append(rows, ablated{d.Changed, base, &d})
	}
	return rows
}

// blank is what people see of a figure that says nothing to them.
const blank = " "

// ablationColumns are the columns of rows. Machines have the figures of each row, people the
// figures of a change as differences from the unchanged strategy, whose name heads the table.
func ablationColumns(head string, rows []ablated) []document.ColumnOf[ablated] {
	var amounts []float64
	for _, x := range rows {
		amounts = append(amounts, x.cell.Total.CostUSD())
	}
	money := document.Amounts(amounts...)
	plain := func(name, title string, of func(ablated) any) document.ColumnOf[ablated] {
		return document.ColumnOf[ablated]{Column: document.Column{Name: name, Title: title, Right: title != head}, Of: of}
	}
	changed := func(of func(*studies.Difference) any) func(ablated) any { // empty for an unchanged strategy
		return func(x ablated) any {
			if x.diff == nil {
				return nil
			}
			return of(x.diff)
		}
	}
	list := []document.ColumnOf[ablated]{
		plain("strategy", "", func(x ablated) any { return x.base }),
		plain("set", head, func(x ablated) any {
			if x.diff == nil {
				return document.Cell{Text: "unchanged"}
			}
			return document.Cell{Value: x.diff.Set, Text: changeText(x.diff.Change)}
		}),
		plain("in_force", "", changed(func(d *studies.Difference) any { return d.On })),
		plain(measures.NameCost, "COST", func(x ablated) any {
			return document.Cell{Value: x.cell.Total.CostUSD(), Text: money(x.cell.Total.CostUSD())}
		}),
		plain("difference_usd", "DIFFERENCE", changed(func(d *studies.Difference) any {
			return document.Cell{Value: d.USD, Text: cmp.Or(differenceText(d, money), blank)}
		})),
		plain("difference_share", "%", changed(func(d *studies.Difference) any {
			return document.Cell{Value: d.Relative, Text: cmp.Or(relativeText(d), blank)}
		})),
		plain("within_model_error", "", changed(func(d *studies.Difference) any { return d.Covered })),
		plain("mark", "", changed(func(d *studies.Difference) any { return d.Mark })),
		plain("sessions_end", "", changed(func(d *studies.Difference) any { return d.Cut })),
	}
	for i, f := range studies.AblatedFigures {
		write := document.Format(f.Unit, nil)
		change := write
		if f.Unit == document.UnitRatio {
			change = document.Points
		}
		list = append(list, plain(f.Name, f.Title, func(x ablated) any {
			v := f.Of(&x.cell.Total)
			if x.diff == nil {
				return document.Cell{Value: v, Text: write(v)}
			}
			return document.Cell{Value: v, Text: cmp.Or(document.Signed(x.diff.Figures[i], change), blank)}
		}))
	}
	return list
}

// ablationTable lists an unchanged strategy and its mechanisms. Notes below name
// those without a difference and those that cannot be switched.
func ablationTable(a *studies.Ablation, base string) *document.Table {
	var none []string
	rows := slices.DeleteFunc(ablatedRows(a, base), func(x ablated) bool {
		if x.diff == nil || !x.diff.None() {
			return false
		}
		none = append(none, changeText(x.diff.Change))
		return true
	})
	t := document.TableOf(ablationColumns(base, rows), rows)
	if slices.Sort(none); len(none) > 0 {
		t.Notes = append(t.Notes, "no effect here: "+strings.Join(none, ", "))
	}
	for _, r := range a.Refused {
		if r.Base == base {
			t.Notes = append(t.Notes, "cannot be switched alone: "+r.Set+": "+r.Reason)
		}
	}
	return t
}

// changeText describes a change: with or without a mechanism, or with a value.
func changeText(c *studies.Change) string {
	switch value := strings.TrimPrefix(c.Set, c.Path+"="); value {
	case "true":
		return document.Printable("with " + c.Path)
	case "false":
		return document.Printable("without " + c.Path)
	}
	return document.Printable(c.Set)
}

func differenceText(d *studies.Difference, money func(float64) string) string {
	if d.Cut {
		return "sessions end"
	}
	return d.Mark + document.Signed(d.USD, money)
}

func relativeText(d *studies.Difference) string {
	if d.Relative == 0 || d.Cut {
		return ""
	}
	return document.SignedPercent(d.Relative)
}

// ablationTrust says how far the model is from the bill.
func ablationTrust(a *studies.Ablation) string {
	marks := ""
	for _, base := range a.Bases {
		for _, d := range a.Differences(base) {
			marks += d.Mark
		}
	}
	return errorLine(a.Run) + explained(marks)
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
	p := document.Panel{Height: 24 * float64(len(bars)), X: unitAxis(measures.UnitUSD, low, high, 6)}
	p.X.Title, p.X.Grid, p.Y.Bare = "difference in cost when switched (USD)", true, true
	for i, t := range p.X.Ticks {
		if t.Value > 0 {
			p.X.Ticks[i].Label = "+" + t.Label
		}
	}
	series := []document.Series{
		{Name: "dearer when switched", Mark: document.MarkBox, Style: document.Style{Color: 0xd55e00}},
		{Name: "cheaper when switched", Mark: document.MarkBox, Style: document.Style{Color: 0x005aa0}},
		{Name: "grey: " + uncertain + ", or sessions end", Mark: document.MarkBox, Style: document.Style{Color: 0xb4b4b4}},
		{Mark: document.MarkText}, {Mark: document.MarkText, Left: true},
	}
	money, marks := document.Amounts(amounts...), ""
	for i := range bars {
		d := &bars[i]
		y := p.Y.Place(i, len(bars), document.Shortened(changeText(d.Change), maxNameRunes))
		kind, side := 0, 3
		if d.USD < 0 {
			kind, side = 1, 4
		}
		text := bracket(document.Signed(d.USD, money)+"  "+relativeText(d), d.Mark)
		if d.Cut {
			text = differenceText(d, money)
		}
		if marks += d.Mark; d.Cut || d.Mark != "" {
			kind = 2
		}
		series[kind].Box(min(d.USD, 0), y-0.3, max(d.USD, 0), y+0.3, "")
		series[side].Point(d.USD, y, text)
	}
	p.Series = append(slices.DeleteFunc(series, func(s document.Series) bool { return len(s.X) == 0 }),
		across(0, p.Y.Low, 0, p.Y.High))
	c := runChart(a.Run, "What each mechanism is worth: "+document.Printable(base), chartTrust(a.Run, marks), barsWidth+30, []document.Panel{p}, notes...)
	if cell := cellOf(a.Run, base); cell != nil {
		cost := cell.Total.CostUSD()
		c.Facts = append(c.Facts, "unchanged: "+document.Amounts(cost)(cost))
	}
	return c, nil
}
