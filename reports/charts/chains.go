package charts

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Chains reports the compactions of the cells of run. Tables for people begin
// with the least profitable; if a cell has more than most, 0 for all, they show
// only those with the lowest and the highest net. CSV and JSON have a row for
// every compaction, in the order they happened.
func Chains(run *results.Run, cells []studies.Chains, most int) *document.Document {
	all := make([]*studies.Chains, len(cells))
	for i := range cells {
		all[i] = &cells[i]
	}
	d := &document.Document{
		Head: headLines(run), Notes: append(slices.Clone(chainAssumptions), errorLine(run)),
		Data: func() *document.Table { return chainData(all...) },
	}
	var none []string
	for i := range cells {
		c := &cells[i]
		if len(c.Compactions) == 0 && c.LostUSD == 0 {
			none = append(none, c.Cell)
			continue
		}
		d.Sections = append(d.Sections, document.Section{Name: c.Cell, Blocks: []document.Block{chainTable(c, most)}})
	}
	if len(none) > 0 {
		d.Notes = append([]string{"no compactions: " + strings.Join(none, ", "), ""}, d.Notes...)
	}
	d.Notes = append(d.Notes, ownNote(run)...)
	return d
}

// chainAssumptions state the assumptions behind the figures.
var chainAssumptions = []string{
	"NET is SAVED minus CALL and REWRITE, up to the next compaction of the conversation or its end. Each later call saves " +
		"the price of the tokens that are gone: of reading them, or of writing them if it found the cache cold. What a branch " +
		"saves counts for its parent. NEEDED is the number of calls after which a compaction pays on a warm cache.",
	"NET compares with waiting for the next compaction, which would have removed the same tokens; NET values do not add up " +
		"to the difference from a run without compactions. Not counted: what other calls on the prefix save, updates of a " +
		"memory, and what was forgotten.",
}

// chained is a compaction with its cell.
type chained struct {
	*studies.Compaction
	cell string
}

type chainColumn = document.ColumnOf[chained]

func plain(name, title string, of func(chained) any) chainColumn {
	return chainColumn{Column: document.Column{Name: name, Title: title}, Of: of}
}

// right returns a column of numbers; of columns that have to go for lack of room the one with the largest spare is the first.
func right(name, title, unit string, spare int, of func(chained) any) chainColumn {
	return chainColumn{Column: document.Column{Name: name, Title: title, Unit: unit, Right: true, Spare: spare}, Of: of}
}

// known returns a number, and for people a text beside it; 0 is not known.
func known(n int64, text string) any {
	if n == 0 {
		return document.Cell{Text: text}
	}
	return document.Cell{Value: n, Text: text}
}

// chainColumns are the columns of compactions, with the format of amounts for people. A column without a title is for
// machines alone, one without a name for people.
func chainColumns(money func(float64) string) []chainColumn {
	of := func(name string, of func(chained) any) chainColumn { return plain(name, "", of) }
	usd := func(name, title string, spare int, of func(chained) float64) chainColumn {
		return right(name, title, "", spare, func(x chained) any { return document.Cell{Value: of(x), Text: money(of(x))} })
	}
	list := []chainColumn{
		of("cell", func(x chained) any { return x.cell }),
		plain("session", "SESSION", func(x chained) any { return document.Cell{Value: x.Session, Text: x.Session[:min(8, len(x.Session))]} }),
		plain("thread", "THREAD", func(x chained) any {
			return document.Cell{Value: x.Thread, Text: document.Shortened(x.Thread, maxThreadRunes)}
		}),
		right("round", "ROUND", "", 0, func(x chained) any { return x.Round }),
		of("file", func(x chained) any { return x.File }),
		of("line", func(x chained) any { return x.Line }),
		of("at_seconds", func(x chained) any { return x.At }),
		plain("layer", "LAYER", func(x chained) any { return x.Layer }),
		of("what", func(x chained) any { return x.What }),
		plain("trigger", "TRIGGER", func(x chained) any { return document.Cell{Value: x.Trigger, Text: triggerText(x.Compaction)} }),
		of("measure", func(x chained) any { return x.Measure }),
		of("measured", func(x chained) any { return x.Measured }),
		of("value", func(x chained) any { return x.Value }),
		of("call_source", func(x chained) any { return x.Source }),
		of("calls", func(x chained) any { return x.Calls }),
		right("before_tokens", "BEFORE", document.UnitTokens, 0, func(x chained) any { return x.Before }),
		right("after_tokens", "AFTER", document.UnitTokens, 1, func(x chained) any { return x.After }),
		of("saved_tokens", func(x chained) any { return x.Saved }),
		usd("call_usd", "CALL", 1, func(x chained) float64 { return x.CallCost.Total() }),
	}
	for class := range measures.Class(measures.NumClasses) {
		list = append(list, of("call_usd_"+class.String(), func(x chained) any { return x.CallCost[class] }))
	}
	return append(list,
		of("rewritten_tokens", func(x chained) any { return x.Rewritten }),
		usd("rewrite_usd", "REWRITE", 1, func(x chained) float64 { return x.RewriteUSD }),
		usd("gain_usd", "SAVED", 1, func(x chained) float64 { return x.GainUSD }),
		usd("net_usd", "NET", 0, func(x chained) float64 { return x.NetUSD() }),
		right("payback_calls", "PAYBACK", "", 0, func(x chained) any { return known(int64(x.PaidAfter), x.PaidText()) }),
		right("needed_calls", "NEEDED", "", 1, func(x chained) any {
			if n, ok := x.Needed(); ok {
				return document.Cell{Value: n, Text: document.Whole(math.Ceil(n))}
			}
			return document.Cell{Text: document.Dash}
		}),
		right("later_calls", "CALLS", "", 0, func(x chained) any { return x.Later }),
		right("context_at_end", "END", document.UnitTokens, 1, func(x chained) any {
			if x.Later == 0 {
				return document.Cell{Value: x.Context, Text: document.Dash}
			}
			return x.Context
		}),
		right("since_requests", "SINCE", "", 1, func(x chained) any { return x.Since }),
		right("", "CHAIN", "", 0, func(x chained) any { return fmt.Sprintf("%d.%d", x.Chain, x.Place) }),
		of("chain", func(x chained) any { return x.Chain }),
		of("place", func(x chained) any { return x.Place }),
		of("recompaction", func(x chained) any { return x.Recompaction }),
		plain("spiral", "SPIRAL", func(x chained) any { return x.Spiral }),
		of("reported_tokens", func(x chained) any { return known(x.Reported, "") }))
}

// maxThreadRunes keeps the names of sub-agents short.
const maxThreadRunes = 12

// chainTable lays out the compactions of a cell for people, lowest net first.
// Columns without information are left out: the layer when there is only one,
// spirals when there are none.
func chainTable(c *studies.Chains, most int) *document.Table {
	rows := chainRows(c)
	var values []float64
	for _, x := range rows {
		values = append(values, x.CallCost.Total(), x.RewriteUSD, x.GainUSD)
	}
	without := map[string]bool{
		"layer":  !slices.ContainsFunc(rows, func(x chained) bool { return x.Layer != rows[0].Layer }),
		"spiral": !slices.ContainsFunc(rows, func(x chained) bool { return x.Spiral != "" }),
	}
	columns := slices.DeleteFunc(chainColumns(document.Amounts(values...)), func(c document.ColumnOf[chained]) bool { return without[c.Name] })
	slices.SortStableFunc(rows, func(a, b chained) int { return cmp.Compare(a.NetUSD(), b.NetUSD()) })
	left := len(rows) - most
	if most > 0 && left > 0 {
		rows = slices.Delete(rows, most/2, most/2+left)
	}
	t := document.TableOf(columns, rows)
	if most > 0 && left > 0 {
		t.Notes = append(t.Notes, document.Count(left, "compaction")+" in between left out (--top 0 lists them)")
	}
	t.Notes = append(t.Notes, c.Told()...)
	return t
}

func triggerText(x *studies.Compaction) string {
	if x.Measure == "" {
		return x.Trigger
	}
	text := document.Whole(x.Measured) + " ≥ " + document.Whole(x.Value)
	if x.Measure != "client_tokens" {
		text = x.Measure + " " + text
	}
	return text
}

func chainRows(cells ...*studies.Chains) (rows []chained) {
	for _, c := range cells {
		for i := range c.Compactions {
			rows = append(rows, chained{&c.Compactions[i], c.Cell})
		}
	}
	return rows
}

// chainData has a row for every compaction of some cells.
func chainData(cells ...*studies.Chains) *document.Table {
	columns := slices.DeleteFunc(chainColumns(document.Amounts()), func(c document.ColumnOf[chained]) bool { return c.Name == "" })
	return document.TableOf(columns, chainRows(cells...))
}

// ChainDrawings returns the charts of compactions: what each cost, and what later calls saved by it.
func ChainDrawings(run *results.Run, cells []studies.Chains) []Drawing {
	return []Drawing{drawing("compactions", func() (*document.Chart, error) { return chainChart(run, cells) })}
}

func chainChart(run *results.Run, cells []studies.Chains) (*document.Chart, error) {
	var list []document.Series
	var costs, gains []float64
	var notes []string
	styles := looks()
	for i := range cells {
		totals := cells[i].Totals()
		if totals.Compactions == totals.Unpriced {
			continue
		}
		if len(list) == len(styles) {
			notes = append(notes, cellName(cells[i].Cell)+" not drawn: there are too many strategies")
			continue
		}
		style := styles[len(list)]
		style.Size = 2.8
		name := calledName(run, cells[i].Cell)
		dots := dotsOf(name+", "+document.Whole(int64(totals.PaidBack))+" of "+
			document.Count(totals.Compactions-totals.Unpriced, "compaction")+" paid back", style)
		dots.Data = name
		for j := range cells[i].Compactions {
			x := &cells[i].Compactions[j]
			if !x.Priced() {
				continue
			}
			cost := x.CallCost.Total() + x.RewriteUSD
			costs, gains = append(costs, cost), append(gains, x.GainUSD)
			dots.Point(cost, x.GainUSD, "")
		}
		list = append(list, dots)
	}
	if len(costs) == 0 {
		return nil, errors.New("there are no compactions with a price")
	}
	p := document.Panel{Title: "What later calls saved (USD)", Height: 300}
	p.X, p.Y = balanceAxes(costs, gains)
	p.X.Title, p.X.Grid, p.Y.Grid = "what the compaction cost: its call and writing again (USD)", true, true
	p.Series = list
	if low, high := max(p.X.Low, p.Y.Low), min(p.X.High, p.Y.High); low < high {
		line := across(low, low, high, high)
		line.Name = "paid back above"
		p.Series = append(p.Series, line)
	}
	return runChart(run, "What compactions cost and paid back", errorLine(run), squareWidth, []document.Panel{p}, notes...), nil
}

// balanceAxes returns axes of USD for what compactions cost and saved: both logarithmic or neither, so that the line between
// those that paid back and others is straight.
func balanceAxes(costs, gains []float64) (x, y document.Axis) {
	all := slices.Concat(costs, gains)
	if least := slices.Min(all); least > 0 && slices.Max(all)/least > maxLinearRatio {
		return logAxis(measures.UnitUSD, 0.8*slices.Min(costs), 1.2*slices.Max(costs)),
			logAxis(measures.UnitUSD, 0.8*slices.Min(gains), 1.2*slices.Max(gains))
	}
	of := func(values []float64) document.Axis {
		low, high := min(slices.Min(values), 0), max(slices.Max(values), minSpan(measures.UnitUSD))
		return unitAxis(measures.UnitUSD, low, high+0.08*(high-low), 6)
	}
	return of(costs), of(gains)
}
