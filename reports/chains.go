package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/results"
)

// ChainOptions select what a report of compactions shows.
type ChainOptions struct {
	// MaxRows is the most compactions of one cell that tables for people list, 0
	// for all: of more they show those of the least and of the highest net.
	MaxRows int
}

// Chains writes the compactions of the cells of run in a format of Formats, in
// tables for people the least profitable first.
func Chains(w io.Writer, format string, run *results.Run, cells []results.Chains, o ChainOptions) error {
	switch format {
	case "json":
		return chainsJSON(w, run, cells)
	case "csv":
		return ChainsCSV(w, cells)
	}
	var b bytes.Buffer
	for _, line := range headLines(run) {
		fmt.Fprintln(&b, line)
	}
	if format == "markdown" {
		fmt.Fprintln(&b)
	}
	var none []string
	for i := range cells {
		c := &cells[i]
		if len(c.Compactions) == 0 && c.LostUSD == 0 {
			none = append(none, c.Cell)
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", chainTitle(format, c))
		if err := chainSheet(c, o.MaxRows).Write(&b, format); err != nil {
			return err
		}
	}
	if len(none) > 0 {
		fmt.Fprintf(&b, "\nno compactions: %s\n", Printable(strings.Join(none, ", ")))
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(append(chainAssumptions(), errorLine(run)), "\n"))
	return flush(w, &b)
}

func chainTitle(format string, c *results.Chains) string {
	if format == "markdown" {
		return "## " + escapeMarkdown(Printable(c.Cell)) + "\n"
	}
	return Printable(c.Cell)
}

// chainAssumptions says what the figures rest on.
func chainAssumptions() []string {
	return []string{
		"NET is SAVED less CALL and REWRITE, until the next compaction of the conversation or its end. Each call saves the tokens that are",
		"gone at its price of reading, of writing when it found the cache cold; a branch saves for its parent. NEEDED are the calls that pay on",
		"a warm cache. The next compaction would have taken out the same tokens: nets are against waiting for it and do not add up to the",
		"difference to a run without any. Not counted: what other calls on the prefix save, updates of a memory, what was forgotten.",
	}
}

// byNet returns the compactions of a cell, those of the least net first.
func byNet(c *results.Chains) []*results.Compaction {
	list := make([]*results.Compaction, len(c.Compactions))
	for i := range c.Compactions {
		list[i] = &c.Compactions[i]
	}
	slices.SortStableFunc(list, func(a, b *results.Compaction) int { return cmp.Compare(a.NetUSD(), b.NetUSD()) })
	return list
}

// chainSheet lays out the compactions of a cell for people.
func chainSheet(c *results.Chains, most int) *Sheet {
	list := byNet(c)
	s := &Sheet{Columns: chainColumns(list)}
	money := chainMoney(list)
	for i, x := range list {
		if n := len(list) - most; most > 0 && n > 0 && i >= most/2 && i < most/2+n {
			continue
		}
		s.Rows = append(s.Rows, []any{
			short(x.Session), shortened(x.Thread, maxThreadRunes), x.Round, x.Layer, triggerText(x), float64(x.Before), float64(x.After),
			money(x.CallCost.Total()), money(x.RewriteUSD), money(x.GainUSD), money(x.NetUSD()), paidText(x), neededText(x), x.Later, contextText(x), x.Since,
			fmt.Sprintf("%d.%d", x.Chain, x.Place), x.Spiral,
		})
	}
	if n := len(list) - len(s.Rows); n > 0 {
		s.Notes = append(s.Notes, CountOf(n, "compaction")+" in between left out (--all lists them)")
	}
	s.Notes = append(s.Notes, totalsLines(c)...)
	return s
}

// chainMoney returns how amounts are written: all of a table alike.
func chainMoney(list []*results.Compaction) func(float64) string {
	var amounts []float64
	for _, x := range list {
		amounts = append(amounts, x.CallCost.Total(), x.RewriteUSD, x.GainUSD)
	}
	decimals := usdDecimals(amounts)
	return func(v float64) string { return usd(v, decimals) }
}

// maxThreadRunes keeps the names of sub-agents short.
const maxThreadRunes = 12

// chainColumns are the columns for people. What says nothing is left out: the
// layer when there is one, spirals when there is none.
func chainColumns(list []*results.Compaction) []SheetColumn {
	layer, spiral := "", ""
	for _, x := range list {
		if x.Layer != list[0].Layer {
			layer = "LAYER"
		}
		if x.Spiral != "" {
			spiral = "SPIRAL"
		}
	}
	right := func(title, unit string) SheetColumn { return SheetColumn{Title: title, Unit: unit, Right: true} }
	return []SheetColumn{
		{Title: "SESSION"}, {Title: "THREAD"}, right("ROUND", ""), {Title: layer}, {Title: "TRIGGER"},
		right("BEFORE", results.UnitTokens), right("AFTER", results.UnitTokens), right("CALL", ""),
		right("REWRITE", ""), right("SAVED", ""), right("NET", ""),
		right("PAYBACK", ""), right("NEEDED", ""), right("CALLS", ""), right("END", ""), right("SINCE", ""),
		right("CHAIN", ""), {Title: spiral},
	}
}

func triggerText(x *results.Compaction) string {
	if x.Measure == "" {
		return x.Trigger
	}
	text := fmt.Sprintf("%s ≥ %s", Grouped(float64(x.Measured), 0), Grouped(float64(x.Value), 0))
	if x.Measure != "client_tokens" {
		text = x.Measure + " " + text
	}
	return text
}

func paidText(x *results.Compaction) string {
	switch {
	case !x.Priced():
		return "no price"
	case x.PaidAfter == 0:
		return "never"
	}
	return Grouped(float64(x.PaidAfter), 0)
}

func neededText(x *results.Compaction) string {
	n, ok := x.Needed()
	if !ok {
		return "–"
	}
	return Grouped(math.Ceil(n), 0)
}

func contextText(x *results.Compaction) string {
	if x.Later == 0 {
		return "–"
	}
	return tokens(float64(x.Context))
}

// totalsLines sum up a cell.
func totalsLines(c *results.Chains) []string {
	t := c.Totals()
	amounts := []float64{t.CallUSD, t.RewriteUSD, t.GainUSD, t.NetUSD, c.LostUSD}
	decimals := usdDecimals(amounts)
	money := func(v float64) string { return usd(v, decimals) }
	line := CountOf(t.Compactions, "compaction")
	if t.Unpriced > 0 {
		line += fmt.Sprintf(", %d of models without a price", t.Unpriced)
	}
	if priced := t.Compactions - t.Unpriced; priced > 0 {
		line += fmt.Sprintf(": %d paid back (%s", t.PaidBack, percent(float64(t.PaidBack)/float64(priced)))
		if t.PaidBack > 0 {
			line += fmt.Sprintf(", median after %s", CountOf(t.MedianPayback, "call"))
		}
		line += fmt.Sprintf("), %d net-negative; longest chain %d, %s", t.NetNegative, t.ChainMax, CountOf(t.Spirals, "spiral"))
	}
	balance := fmt.Sprintf("saved %s, less calls %s and re-writing %s", money(t.GainUSD), money(t.CallUSD), money(t.RewriteUSD))
	if c.LostUSD > 0 {
		balance += fmt.Sprintf(" and %s in calls that led to no compaction", money(c.LostUSD))
	}
	return []string{line, balance + ": net " + money(t.NetUSD)}
}

// ChainsCSV writes a row for every compaction of every cell, in the order they
// happened.
func ChainsCSV(w io.Writer, cells []results.Chains) error {
	names := []string{
		"cell", "session", "thread", "round", "file", "line", "at_seconds", "layer", "what", "trigger", "measure", "measured", "value",
		"call_source", "calls", "before_tokens", "after_tokens", "saved_tokens", "call_usd",
	}
	for c := range results.Class(results.NumClasses) {
		names = append(names, "call_usd_"+c.String())
	}
	names = append(names, "rewritten_tokens", "rewrite_usd", "gain_usd", "net_usd", "later_calls", "payback_calls", "needed_calls",
		"context_at_end", "since_requests", "chain", "place", "recompaction", "spiral", "reported_tokens")
	s := &Sheet{}
	for _, name := range names {
		s.Columns = append(s.Columns, SheetColumn{Name: name})
	}
	for i := range cells {
		for j := range cells[i].Compactions {
			s.Rows = append(s.Rows, chainRecord(cells[i].Cell, &cells[i].Compactions[j]))
		}
	}
	return s.Write(w, "csv")
}

func chainRecord(cell string, x *results.Compaction) []any {
	row := []any{
		cell, x.Session, x.Thread, x.Round, x.File, x.Line, x.At, x.Layer, x.What, x.Trigger, x.Measure, x.Measured, x.Value,
		x.Source, x.Calls, x.Before, x.After, x.Saved, x.CallCost.Total(),
	}
	for _, v := range x.CallCost {
		row = append(row, v)
	}
	var paid, needed, reported any = "", "", ""
	if x.PaidAfter > 0 {
		paid = x.PaidAfter
	}
	if n, ok := x.Needed(); ok {
		needed = n
	}
	if x.Reported > 0 {
		reported = x.Reported
	}
	return append(row, x.Rewritten, x.RewriteUSD, x.GainUSD, x.NetUSD(), x.Later, paid, needed,
		x.Context, x.Since, x.Chain, x.Place, x.Recompaction, x.Spiral, reported)
}

// chainsJSON writes a document of all cells, a compaction on a line.
func chainsJSON(w io.Writer, run *results.Run, cells []results.Chains) error {
	var b bytes.Buffer
	origin := results.Origin{Provenance: run.Provenance, Workload: run.Workload, ModelError: run.ModelError}
	if err := appendJSON(&b, fmt.Sprintf(`{"schema":%d,"provenance":`, results.Schema), origin); err != nil {
		return err
	}
	b.WriteString(`,"cells":[`)
	for i := range cells {
		c := &cells[i]
		head := struct {
			Cell     string              `json:"cell"`
			Strategy string              `json:"strategy"`
			LostUSD  float64             `json:"lost_usd"`
			Totals   results.ChainTotals `json:"totals"`
		}{c.Cell, c.Strategy, c.LostUSD, c.Totals()}
		if err := appendJSON(&b, separator(i), head); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the closing brace
		b.WriteString(`,"compactions":[`)
		for j := range c.Compactions {
			x := &c.Compactions[j]
			row := struct {
				*results.Compaction
				CallUSD float64            `json:"call_usd"`
				ByClass map[string]float64 `json:"call_usd_by_class"`
				NetUSD  float64            `json:"net_usd"`
			}{x, x.CallCost.Total(), costsByClass(&x.CallCost), x.NetUSD()}
			if err := appendJSON(&b, separator(j), row); err != nil {
				return err
			}
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	return flush(w, &b)
}

func separator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

func appendJSON(b *bytes.Buffer, before string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding a report: %w", err)
	}
	b.WriteString(before)
	b.Write(text)
	return nil
}

// costsByClass returns the amounts that are not zero by token class, USD.
func costsByClass(c *results.Cost) map[string]float64 {
	m := map[string]float64{}
	for class, v := range c {
		if v != 0 {
			m[results.Class(class).String()] = v
		}
	}
	return m
}
