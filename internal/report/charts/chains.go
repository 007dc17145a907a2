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

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// Chains reports the compactions of the cells of run. Tables for people begin
// with the least profitable; if a cell has more than most, 0 for all, they show
// only those with the lowest and the highest net. CSV has a row for every
// compaction, in the order they happened.
func Chains(run *results.Run, cells []studies.Chains, most int) *document.Document {
	d := &document.Document{
		Head: headLines(run), Notes: append(slices.Clone(chainAssumptions), errorLine(run)),
		Data: func() *document.Table { return chainData(cells) },
		JSON: func(w io.Writer) error { return chainsJSON(w, run, cells) },
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

// maxThreadRunes keeps the names of sub-agents short.
const maxThreadRunes = 12

// chainTable lays out the compactions of a cell for people, lowest net first.
// Columns without information are left out: the layer when there is only one,
// spirals when there are none.
func chainTable(c *studies.Chains, most int) *document.Table {
	list := make([]*studies.Compaction, len(c.Compactions))
	layer, spiral := "", ""
	var values []float64
	for i := range c.Compactions {
		x := &c.Compactions[i]
		list[i] = x
		values = append(values, x.CallCost.Total(), x.RewriteUSD, x.GainUSD)
		if x.Layer != list[0].Layer {
			layer = "LAYER"
		}
		if x.Spiral != "" {
			spiral = "SPIRAL"
		}
	}
	slices.SortStableFunc(list, func(a, b *studies.Compaction) int { return cmp.Compare(a.NetUSD(), b.NetUSD()) })
	money := document.Amounts(values...)
	t := &document.Table{Columns: slices.Concat(document.Left("SESSION", "THREAD"), document.Right("", "ROUND"),
		document.Left(layer, "TRIGGER"),
		document.Right(document.UnitTokens, "BEFORE", "AFTER"),
		document.Right("", "CALL", "REWRITE", "SAVED", "NET", "PAYBACK", "NEEDED", "CALLS", "END", "SINCE",
			"CHAIN"), document.Left(spiral))}
	for i := range t.Columns {
		if slices.Contains([]string{"AFTER", "CALL", "REWRITE", "SAVED", "NEEDED", "END", "SINCE"}, t.Columns[i].Title) {
			t.Columns[i].Spare = 1
		}
	}
	for i, x := range list {
		if n := len(list) - most; most > 0 && n > 0 && i >= most/2 && i < most/2+n {
			continue
		}
		t.Rows = append(t.Rows, []any{
			x.Session[:min(8, len(x.Session))], document.Shortened(x.Thread, maxThreadRunes), x.Round, x.Layer,
			triggerText(x), x.Before, x.After,
			money(x.CallCost.Total()), money(x.RewriteUSD), money(x.GainUSD), money(x.NetUSD()), x.PaidText(),
			neededText(x), x.Later, contextText(x), x.Since,
			fmt.Sprintf("%d.%d", x.Chain, x.Place), x.Spiral,
		})
	}
	if n := len(list) - len(t.Rows); n > 0 {
		t.Notes = append(t.Notes, document.Count(n, "compaction")+" in between left out (--top 0 lists them)")
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

func neededText(x *studies.Compaction) string {
	if n, ok := x.Needed(); ok {
		return document.Whole(math.Ceil(n))
	}
	return document.Dash
}

func contextText(x *studies.Compaction) string {
	if x.Later == 0 {
		return document.Dash
	}
	return document.Tokens(x.Context)
}

// chainData has a row for every compaction of every cell.
func chainData(cells []studies.Chains) *document.Table {
	t := &document.Table{Columns: document.Columns(
		"cell", "session", "thread", "round", "file", "line", "at_seconds", "layer", "what", "trigger", "measure",
		"measured", "value",
		"call_source", "calls", "before_tokens", "after_tokens", "saved_tokens", "call_usd",
	)}
	for c := range results.Class(results.NumClasses) {
		t.Columns = append(t.Columns, document.Columns("call_usd_"+c.String())...)
	}
	t.Columns = append(t.Columns, document.Columns(
		"rewritten_tokens", "rewrite_usd", "gain_usd", "net_usd", "later_calls", "payback_calls", "needed_calls",
		"context_at_end", "since_requests", "chain", "place", "recompaction", "spiral", "reported_tokens")...)
	for i := range cells {
		for j := range cells[i].Compactions {
			t.Rows = append(t.Rows, chainRecord(cells[i].Cell, &cells[i].Compactions[j]))
		}
	}
	return t
}

func chainRecord(cell string, x *studies.Compaction) []any {
	row := []any{
		cell, x.Session, x.Thread, x.Round, x.File, x.Line, x.At, x.Layer, x.What, x.Trigger, x.Measure, x.Measured,
		x.Value,
		x.Source, x.Calls, x.Before, x.After, x.Saved, x.CallCost.Total(),
	}
	for _, v := range x.CallCost {
		row = append(row, v)
	}
	var paid, needed, reported any
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

// chainsJSON writes a document of all cells, with one compaction per line.
func chainsJSON(w io.Writer, run *results.Run, cells []studies.Chains) error {
	var b bytes.Buffer
	begin, err := beginning(run, nil, "cells")
	if err != nil {
		return err
	}
	b.WriteString(begin)
	for i := range cells {
		c := &cells[i]
		head, err := json.Marshal(struct {
			Cell     string              `json:"cell"`
			Strategy string              `json:"strategy"`
			LostUSD  float64             `json:"lost_usd"`
			Totals   studies.ChainTotals `json:"totals"`
		}{c.Cell, c.Strategy, c.LostUSD, c.Totals()}, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encoding a cell: %w", err)
		}
		rows := make([]chainRow, len(c.Compactions))
		for j := range c.Compactions {
			x := &c.Compactions[j]
			rows[j] = chainRow{x, x.CallCost.Total(), costsByClass(&x.CallCost), x.NetUSD()}
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%s,\"compactions\":[", bytes.TrimSuffix(head, []byte("}")))
		if err := document.Lines(&b, "", rows, ""); err != nil {
			return err
		}
		b.Truncate(b.Len() - 2) // the separator of the lines
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	_, err = w.Write(b.Bytes())
	return err
}

type chainRow struct {
	*studies.Compaction
	CallUSD float64            `json:"call_usd"`
	ByClass map[string]float64 `json:"call_usd_by_class"`
	NetUSD  float64            `json:"net_usd"`
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

// beginning returns the start of a published document of a run, up to a list.
func beginning(run *results.Run, notes []results.Note, list string) (string, error) {
	origin := results.Origin{Provenance: run.Provenance, Workload: run.Workload, ModelError: run.ModelError,
		Notes: notes}
	text, err := json.Marshal(origin, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encoding a report: %w", err)
	}
	return fmt.Sprintf(`{"schema":%d,"provenance":%s,%q:[`, results.Schema, text, list), nil
}
