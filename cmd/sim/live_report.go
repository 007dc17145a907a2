package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// remark says in a run what its real calls were, and where its summaries come
// from; c is nil for a run without any, err what ended it. Calls that the server
// refused are reported on w too: such a run ends well and has none of their summaries.
func (c *liveCalls) remark(w io.Writer, run *results.Run, err error) {
	if c == nil {
		return
	}
	if run.Provenance.Switches == nil {
		run.Provenance.Switches = map[string]string{}
	}
	run.Provenance.Switches["summarizer"] = c.flags.summarizer
	c.flags.switches(run.Provenance.Switches)
	r := c.report()
	if n, text := refusedText(r.Calls); n > 0 {
		fmt.Fprintf(w, "sim: warning: the server refused %s: %s\n", plural(n, "real call"), document.Printable(text))
	}
	run.Workload.Remarks = append(run.Workload.Remarks, liveText(&r, c.unpriced(), err))
	for _, text := range liveNotes(&r) {
		run.Notes = append(run.Notes, results.Note{Text: text})
	}
	for _, p := range c.folder.Broken() {
		run.Notes = append(run.Notes, results.Note{Text: fmt.Sprintf("a stored call could not be read and was made "+
			"anew; its file is %s: %s", p.File, p.Text)})
	}
	if note, ok := earlier(run); ok {
		run.Notes = append(run.Notes, note)
	}
}

// earlier explains a time waited below zero, where a row of the run has one.
func earlier(run *results.Run) (results.Note, bool) {
	const name = "added_latency_seconds"
	below := slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return !slices.Contains(c.Unmeasured, name) && c.Total.AddedLatency < 0
	})
	return results.Note{Metric: name, Text: "below zero: first tokens came earlier than in the recording, as less " +
		"had to be computed, by more than summaries were waited for"}, below
}

// liveText says how many calls were real, and which models it knows no price of.
func liveText(r *live.Report, unpriced []string, err error) string {
	var parts []string
	if text := sentText(r, unpriced); text != "" {
		parts = append(parts, text)
	}
	if r.Replayed > 0 {
		parts = append(parts, fmt.Sprintf("%s replayed that cost $%.2f", plural(r.Replayed, "call"), r.ReplayedUSD))
	}
	if r.Shared > 0 {
		parts = append(parts, fmt.Sprintf("%s shared within the run", plural(r.Shared, "call")))
	}
	if len(parts) == 0 && err != nil {
		return "summaries by real models: no call was answered"
	}
	if len(parts) == 0 {
		return "no summary call was due: nothing was asked of a real model"
	}
	return "summaries by real models: " + strings.Join(parts, ", ")
}

// sentText says what was sent and what came of it, "" for nothing.
func sentText(r *live.Report, unpriced []string) string {
	var text string
	switch lost := r.Refused + r.Unanswered; {
	case r.Made == 0 && r.USD > 0:
		return fmt.Sprintf("$%.2f paid for requests that came to no end", r.USD)
	case r.Made == 0:
		return ""
	case lost < r.Made:
		text = fmt.Sprintf("%s made for $%.2f", plural(r.Made, "real call"), r.USD)
		if len(unpriced) > 0 {
			text += ", besides those of " + strings.Join(unpriced, ", ") + ", for which no price is known"
		}
		if lost > 0 {
			text += ", of which " + lostText(r, func(n int) string { return fmt.Sprint(n) })
		}
	default:
		text = lostText(r, func(n int) string { return plural(n, "call") })
		if r.USD > 0 {
			text += fmt.Sprintf(", for $%.2f", r.USD)
		}
	}
	if n := r.Retries(); n > 0 {
		text += fmt.Sprintf(" (%s sent again)", plural(int(n), "request"))
	}
	return text
}

// lostText says how many calls had no answer, with their number in the words of
// counted.
func lostText(r *live.Report, counted func(int) string) string {
	var parts []string
	for _, lost := range []struct {
		n    int
		what string
	}{{r.Refused, "refused"}, {r.Unanswered, "not answered"}} {
		if lost.n > 0 {
			verb := "were"
			if lost.n == 1 {
				verb = "was"
			}
			parts = append(parts, fmt.Sprintf("%s %s %s", counted(lost.n), verb, lost.what))
		}
	}
	return strings.Join(parts, " and ")
}

// liveNotes are what must be known beside figures that rest on real calls.
func liveNotes(r *live.Report) []string {
	var notes []string
	for _, why := range slices.Sorted(maps.Keys(r.Failures)) {
		text := fmt.Sprintf("%s gave no summary: %s", plural(r.Failures[why], "real call"), why)
		if n, reasons := refusedText(r.Calls); n > 0 && why == string(wire.CauseRequest) {
			text += ": " + reasons
		}
		notes = append(notes, text)
	}
	if got, want := r.Answered, r.Predicted; r.Made > 0 && got.Input() > 0 && want.Input() > 0 {
		notes = append(notes, fmt.Sprintf(
			"of %s input tokens the server read %s from its cache and wrote %s; by the cache model of these calls, with "+
				"sizes estimated from bytes, %s, %s and %s",
			thousands(got.Input()), thousands(got.Read), thousands(got.Writes()),
			thousands(want.Input()), thousands(want.Read), thousands(want.Writes())))
	}
	if r.Entities > 0 {
		notes = append(notes, fmt.Sprintf("summaries keep %.0f %% of %d things worth keeping word for word (%s)%s: an "+
			"upper bound of what is still known",
			100*float64(r.Kept)/float64(r.Entities), r.Entities, kindsText(r.Calls), driftText(r.Calls)))
	}
	if r.Missing+r.Cut > 0 {
		notes = append(notes, fmt.Sprintf("sections of summaries: %d missing, %d cut to their limit", r.Missing, r.Cut))
	}
	if text := clearedText(r.Calls); text != "" {
		notes = append(notes, text)
	}
	if n := r.Composed.Unthought; n > 0 {
		notes = append(notes, fmt.Sprintf("%s went without thinking, though the conversation thinks: there is no room "+
			"for a budget, or what is answered last are tool calls, whose thinking cannot be sent", plural(n, "real call")))
	}
	if n := r.Composed.Filler; n > 0 {
		notes = append(notes, thousands(n)+" bytes of the requests stand for text that no recording shows")
	}
	if n := r.Composed.Lost; n > 0 {
		notes = append(notes, plural(n, "text")+" of the requests stood for summaries whose words are not kept")
	}
	return notes
}

// maxReasons is how many reasons of a server are listed.
const maxReasons = 3

// refusedText counts the calls that a server refused for what they hold, and says
// why in its words, the commonest reason first.
func refusedText(calls []live.Call) (n int, text string) {
	of := map[string]int{}
	for i := range calls {
		if why := calls[i].Refused; why != "" {
			of[why]++
			n++
		}
	}
	reasons := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	told := reasons[:min(len(reasons), maxReasons)]
	text = strings.Join(told, "; ")
	if more := len(reasons) - len(told); more > 0 {
		text += fmt.Sprintf("; and %s", plural(more, "further reason"))
	}
	return n, text
}

// clearedText says what servers left out of the calls that declare edits and were
// answered, "" for calls that declare none.
func clearedText(calls []live.Call) string {
	var n int
	var sum wire.Cleared
	for i := range calls {
		if c := &calls[i]; len(c.Edits) > 0 && c.Answered {
			n++
			sum.ToolUses += c.Cleared.ToolUses
			sum.Turns += c.Cleared.Turns
			sum.Input += c.Cleared.Input
		}
	}
	switch {
	case n == 0:
		return ""
	case sum == wire.Cleared{}:
		return fmt.Sprintf("%s declared edits to the server, which found nothing to leave out", plural(n, "real call"))
	}
	return fmt.Sprintf("%s declared edits to the server, which left out %s of tools and the thinking of %s: %s "+
		"tokens of input",
		plural(n, "real call"), plural(int(sum.ToolUses), "call"), plural(int(sum.Turns), "turn"), thousands(sum.Input))
}

// merged adds a share to the one of its kind.
func merged(list []live.Share, s live.Share) []live.Share {
	i := slices.IndexFunc(list, func(k live.Share) bool { return k.Kind == s.Kind })
	if i < 0 {
		return append(list, s)
	}
	list[i].All += s.All
	list[i].Kept += s.Kept
	return list
}

// kindsText says what is kept by kind of entity.
func kindsText(calls []live.Call) string {
	var kinds []live.Share
	for i := range calls {
		for _, s := range calls[i].Kinds {
			kinds = merged(kinds, s)
		}
	}
	slices.SortFunc(kinds, func(a, b live.Share) int { return strings.Compare(a.Kind, b.Kind) })
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%ss %d of %d", k.Kind, k.Kept, k.All))
	}
	return strings.Join(parts, ", ")
}

// driftText says what summaries keep of what up to three ones before them stood
// for.
func driftText(calls []live.Call) string {
	text := ""
	for n, before := range []string{"before", "2 before", "3 before"} {
		var sum live.Share
		for i := range calls {
			if d := calls[i].Drift; n < len(d) {
				sum.All += d[n].All
				sum.Kept += d[n].Kept
			}
		}
		if sum.All > 0 {
			text += fmt.Sprintf("; of what the summary %s stood for %.0f %%", before, 100*float64(sum.Kept)/float64(sum.All))
		}
	}
	return text
}

// summaryColumns are the columns of summaries.csv.
var summaryColumns = []struct {
	name  string
	value func(c *live.Call) any
}{
	{"cell", func(c *live.Call) any { return c.Cell }},
	{"session", func(c *live.Call) any { return c.Session }},
	{"thread", func(c *live.Call) any { return c.Thread }},
	{"round", func(c *live.Call) any { return c.Round }},
	{"number", func(c *live.Call) any { return c.Number }},
	{"source", func(c *live.Call) any { return c.Source }},
	{"way", func(c *live.Call) any { return c.Way }},
	{"model", func(c *live.Call) any { return c.Model }},
	{"replayed", func(c *live.Call) any { return c.Replayed }},
	{"failed", func(c *live.Call) any { return c.Failed }},
	{"attempts", func(c *live.Call) any { return c.Attempts }},
	{"seconds", func(c *live.Call) any { return strconv.FormatFloat(c.Seconds, 'f', 3, 64) }},
	{"uncached_tokens", func(c *live.Call) any { return c.Usage.Uncached }},
	{"read_tokens", func(c *live.Call) any { return c.Usage.Read }},
	{"write_tokens", func(c *live.Call) any { return c.Usage.Writes() }},
	{"output_tokens", func(c *live.Call) any { return c.Usage.Output }},
	{"uncached_tokens_predicted", func(c *live.Call) any { return c.Predicted.Uncached }},
	{"read_tokens_predicted", func(c *live.Call) any { return c.Predicted.Read }},
	{"write_tokens_predicted", func(c *live.Call) any { return c.Predicted.Writes() }},
	{"output_tokens_predicted", func(c *live.Call) any { return c.Predicted.Output }},
	{"summary_tokens", func(c *live.Call) any { return c.Tokens }},
	{"summary_bytes", func(c *live.Call) any { return c.Bytes }},
	{"sections", func(c *live.Call) any {
		return joined(c.Sections, func(s live.Section) string { return fmt.Sprintf("%s=%d", s.Title, s.Bytes) })
	}},
	{"entities", func(c *live.Call) any { return totalOf(c.Kinds).All }},
	{"entities_kept", func(c *live.Call) any { return totalOf(c.Kinds).Kept }},
	{"entities_kept_by_kind", func(c *live.Call) any {
		return joined(c.Kinds, func(s live.Share) string { return fmt.Sprintf("%s=%d/%d", s.Kind, s.Kept, s.All) })
	}},
	{"drift", func(c *live.Call) any {
		return joined(c.Drift, func(s live.Share) string { return fmt.Sprintf("%d/%d", s.Kept, s.All) })
	}},
	{"shared", func(c *live.Call) any { return c.Shared }},
	{"thinking", func(c *live.Call) any { return c.Thinking }},
	{"thinking_tokens", func(c *live.Call) any { return c.Thought }},
	{"effort", func(c *live.Call) any { return c.Effort }},
	{"betas", func(c *live.Call) any { return strings.Join(c.Betas, ";") }},
	{"edits", func(c *live.Call) any { return strings.Join(c.Edits, ";") }},
	{"cleared_tool_uses", func(c *live.Call) any { return c.Cleared.ToolUses }},
	{"cleared_tokens", func(c *live.Call) any { return c.Cleared.Input }},
}

// writeSummaries writes a line for each live call of a report.
func writeSummaries(w io.Writer, r *live.Report) error {
	lines := make([][]string, 1+len(r.Calls))
	for _, column := range summaryColumns {
		lines[0] = append(lines[0], column.name)
		for i := range r.Calls {
			lines[i+1] = append(lines[i+1], fmt.Sprint(column.value(&r.Calls[i])))
		}
	}
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("write summaries: %w", err)
	}
	return nil
}

// totalOf adds up shares of all kinds.
func totalOf(list []live.Share) (sum live.Share) {
	for _, s := range list {
		sum.All += s.All
		sum.Kept += s.Kept
	}
	return sum
}

// joined writes the elements of a list with semicolons between them.
func joined[T any](list []T, text func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = text(v)
	}
	return strings.Join(parts, ";")
}

// idle says which flag changes nothing in this run, "" for none.
func (c *liveCalls) idle() string {
	if c.flags.serverTrigger == 0 {
		return ""
	}
	compacts := len(c.flags.sources) == 0 || slices.Contains(c.flags.sources, "compact")
	if compacts && slices.ContainsFunc(slices.Collect(maps.Values(c.strategies)), compactsOnServer) {
		return ""
	}
	return "--server-trigger changes nothing: no real call of these strategies is a compaction by the provider"
}

// announce says which strategies ask something of the server.
func (c *liveCalls) announce(w io.Writer) {
	if c.flags.provider != providerAnthropic {
		return
	}
	said := map[string]bool{}
	for _, cell := range slices.Sorted(maps.Keys(c.strategies)) {
		s := c.strategies[cell]
		if text := declaredText(s, c.flags.serverTrigger); text != "" && !said[s.Name+text] {
			said[s.Name+text] = true
			fmt.Fprintf(w, "sim: %s %s\n", s.Name, text)
		}
	}
}

// estimateText says what real calls are likely to take.
func (c *liveCalls) estimateText(e *live.Estimate) string {
	text := fmt.Sprintf("about %s, ", plural(e.Calls, "real call"))
	if e.Stored > 0 {
		text += fmt.Sprintf("%d of them on cassettes, ", e.Stored)
	}
	text += fmt.Sprintf("%s tokens in and %s out: ", thousands(e.Usage.Input()), thousands(e.Usage.Output))
	const when = "if none fails and nothing is read from the cache"
	switch none := c.unpriced(); {
	case len(none) > 0 && e.MostUSD > 0:
		text += fmt.Sprintf("$%.2f, at most $%.2f, %s, and besides the calls of %s", e.USD, e.MostUSD, when, priceless(none))
	case len(none) > 0:
		text += "at a price that is not known, that of " + priceless(none)
	default:
		text += fmt.Sprintf("$%.2f, at most $%.2f, %s", e.USD, e.MostUSD, when)
	}
	if b := c.flags.budget; b > 0 && e.USD > b {
		text += fmt.Sprintf("; the budget of $%.2f ends before", b)
	}
	return text
}

// priceless says of models that they have no price, and what gives them one.
func priceless(models []string) string {
	return fmt.Sprintf("%s, for which no price is known, so that no --budget-usd can hold (--prices FILE or "+
		"--price-as %s=MODEL gives one)",
		strings.Join(models, ", "), models[0])
}

// thousands writes a number of tokens in thousands.
func thousands(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// declares returns what the requests of a strategy ask of the provider's server, in
// the terms of its parameters.
func declares(s *strategies.Strategy) live.Clearing {
	p, ok := s.Params(strategies.APIContextName).(strategies.APIContextParams)
	on := s.LayerNames()
	if !ok || !slices.Contains(on, strategies.APIContextName) {
		return live.Clearing{}
	}
	c := live.Clearing{SkipAgents: !p.Subagents}
	if p.Thinking.Enabled {
		c.Thinking = &live.ClearThinking{Keep: int(p.Thinking.Keep)}
	}
	for _, e := range []strategies.ClearToolUses{p.Results, p.Uses} {
		if e.Enabled {
			c.Tools = append(c.Tools, live.ClearTools{
				InputTokens: e.InputTokens, ToolUses: e.ToolUses, Keep: e.Keep, AtLeast: e.ClearAtLeast,
				Only: e.Tools, Exclude: e.ExcludeTools, Inputs: e.ClearInputs,
			})
		}
	}
	return c
}

// compactsOnServer reports whether a strategy has the provider compact, and how
// many tokens of instructions of its own it has for that.
func compactsOnServer(s *strategies.Strategy) bool {
	p, ok := s.Params(strategies.CompactName).(strategies.CompactParams)
	return ok && slices.Contains(s.LayerNames(), strategies.CompactName) && slices.Contains(p.Call, strategies.WayServer)
}

// declaredText says what the requests of a strategy ask of the server, "" for
// nothing.
func declaredText(s *strategies.Strategy, trigger int64) string {
	var parts []string
	if c := declares(s); len(c.Tools) > 0 || c.Thinking != nil {
		parts = append(parts, fmt.Sprintf("%s (beta context-management-2025-06-27)", edits(&c)))
	}
	switch {
	case compactsOnServer(s) && trigger > 0:
		parts = append(parts, fmt.Sprintf("to compact from %d tokens on (beta compact-2026-01-12)", trigger))
	case compactsOnServer(s):
		parts = append(parts, "to compact on demand (beta compact-2026-09-04)")
	}
	if len(parts) == 0 {
		return ""
	}
	return "asks the server " + strings.Join(parts, ", and ")
}

// edits names what is to be cleared.
func edits(c *live.Clearing) string {
	var parts []string
	if n := len(c.Tools); n > 0 {
		parts = append(parts, fmt.Sprintf("to clear tool results by %s", plural(n, "edit")))
	}
	if c.Thinking != nil {
		parts = append(parts, "to clear thinking where a call thinks")
	}
	return strings.Join(parts, " and ")
}
