package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/serving/live"
	"github.com/compactsim/compactsim/sim/results"
)

// remark adds the real calls to the remarks of a run; c is nil without any, err what ended it. It
// also reports calls that the server refused on w, because such a run succeeds.
func (c *liveCalls) remark(w io.Writer, run *results.Run, err error) {
	if c == nil {
		return
	}
	if run.Provenance.Switches == nil {
		run.Provenance.Switches = map[string]string{}
	}
	run.Provenance.Switches["summarizer"] = c.flags.summarizer
	r := c.opts.Shared.Report()
	if n, text := live.Refusals(r.Calls); n > 0 {
		say(w, "warning: the server refused %s: %s", document.Count(n, "real call"), text)
	}
	run.Workload.Remarks = append(run.Workload.Remarks, r.Text(c.unpriced(), err))
	for _, text := range r.Notes() {
		run.Notes = append(run.Notes, results.Note{Text: text})
	}
	if note, ok := earlier(run); ok {
		run.Notes = append(run.Notes, note)
	}
}

// earlier explains a negative waiting time, if a row of the run has one.
func earlier(run *results.Run) (results.Note, bool) {
	const name = results.NameAddedLatency
	below := slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return !slices.Contains(c.Unmeasured, name) && c.Total.Figures[results.AddedLatency] < 0
	})
	return results.Note{Metric: name, Text: "below zero: first tokens came earlier than in the recording, as less " +
		"had to be computed, by more than summaries were waited for"}, below
}

// estimateText says what real calls are expected to cost and take.
func (c *liveCalls) estimateText(e *live.Estimate) string {
	text := fmt.Sprintf("about %s, ", document.Count(e.Calls, "real call"))
	if e.Stored > 0 {
		text += fmt.Sprintf("%d of them recorded, ", e.Stored)
	}
	text += fmt.Sprintf("%s tokens in and %s out", live.Thousands(e.Usage.Input()), live.Thousands(e.Usage.Output))
	none := c.unpriced()
	if len(none) == 0 || e.MostUSD > 0 {
		text += fmt.Sprintf(": $%.2f, at most $%.2f, if none fails and nothing is read from the cache", e.USD, e.MostUSD)
	}
	if len(none) > 0 {
		text += "; " + priceless(none) + ", so no --budget-usd can hold"
	}
	if b := c.flags.Budget; b > 0 && e.USD > b {
		text += fmt.Sprintf("; the budget of $%.2f ends before", b)
	}
	return text
}

// priceless says that models have no price, and how to give them one.
func priceless(models []string) string {
	return fmt.Sprintf("no price is known for %s (--prices FILE or --price-as %s gives one)",
		strings.Join(models, ", "), document.Quoted(models[0]+"=MODEL"))
}
