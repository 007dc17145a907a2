package main

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/live"
)

// Calls that the server refuses are told on standard error and in a note with its
// reason, in a replay too.
func TestRefusedCallsAreTold(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t, "400")
	args := []string{"run", "--strategy", "claude-code/2026-03", "--summarizer"}
	for _, mode := range [][]string{{"live", "--yes"}, {"replay"}} {
		code, out, errs := simRun(t, append(args, mode...)...)
		const reason = "HTTP 400, Bad Request"
		said := strings.Join(strings.Fields(out), " ")
		if code != exitOK || !strings.Contains(errs, "sim: warning: the server refused 3 real calls: "+reason+"\n") ||
			!strings.Contains(said, "3 real calls gave no summary: bad request: "+reason) {
			t.Errorf("%v: exit %d\n%s\n%s", mode, code, out, errs)
		}
	}
}

// The commonest reason of a server is told.
func TestReasonsOfRefusals(t *testing.T) {
	var calls []live.Call
	for _, why := range []string{"d", "b", "", "a", "b", "c", "e"} {
		calls = append(calls, live.Call{Refused: why})
	}
	if n, text := live.Refusals(calls); n != 6 || text != "b" {
		t.Errorf("%d calls: %s", n, text)
	}
	if n, text := live.Refusals(calls[2:3]); n != 0 || text != "" {
		t.Errorf("%d calls: %s", n, text)
	}
}

// An estimate names the models that have no price: it is not nothing that they cost.
func TestEstimateWithoutAPrice(t *testing.T) {
	none := func(string) bool { return false }
	c := &liveCalls{flags: &liveFlags{}, priced: none, models: map[string]int{"nope": 1}}
	text := c.estimateText(&live.Estimate{Calls: 3})
	if !strings.Contains(text, "out; no price is known for nope (--prices FILE or --price-as nope=MODEL gives one), so no --budget-usd can hold") || strings.Contains(text, "$") {
		t.Errorf("no price: %s", text)
	}
	c.priced, c.models["fine"] = func(model string) bool { return model == "fine" }, 1
	text = c.estimateText(&live.Estimate{Calls: 3, USD: 1, MostUSD: 2})
	if !strings.Contains(text, "$1.00, at most $2.00, if none fails") || !strings.Contains(text, "from the cache; no price is known for nope (") {
		t.Errorf("one price of two: %s", text)
	}
	if text = (&live.Report{Made: 2, USD: 1}).Text(c.findUnpriced(), nil); !strings.Contains(text, "2 real calls made for $1.00, besides calls of nope, for which no price is known") {
		t.Errorf("after the run: %s", text)
	}
	delete(c.models, "nope")
	if text = c.estimateText(&live.Estimate{Calls: 3, USD: 1, MostUSD: 2}); strings.Contains(text, "known") {
		t.Errorf("all prices: %s", text)
	}
}

// Beside --summarizer, --yes agrees to real calls and to nothing else: no sessions are
// looked for, in a replay neither.
func TestYesReadsNothingBesideASummarizer(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t)
	args := []string{"run", "--strategy", "auto-compact/167k", "--yes", "--summarizer"}
	for _, mode := range []string{"live", "replay"} {
		code, out, errs := simRun(t, append(args, mode)...)
		if code != exitOK || !strings.Contains(out, "These are the samples") || strings.Contains(errs, "usual places") {
			t.Errorf("%s: exit %d\n%s\n%s", mode, code, out, errs)
		}
	}
}
