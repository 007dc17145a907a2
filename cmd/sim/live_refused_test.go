package main

import (
	"os"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/devserver"
)

// Calls that the server refuses are told on standard error and in a note with its
// reason, in a replay too; nothing is said of what it cleared, as it cleared nothing.
// A beta feature may bring edits that are not known here.
func TestRefusedCallsAreTold(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t, devserver.Options{})
	if err := os.WriteFile("edits.json", []byte(`[{"type":"nope"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--strategy", "auto-compact/167k", "--set", "live.server_edits=edits.json", "--set", "live.betas=[mine]", "--summarizer"}
	for _, mode := range [][]string{{"live", "--yes"}, {"replay"}} {
		code, out, errs := simRun(t, append(args, mode...)...)
		const reason = `HTTP 400, context_management.edits.0.type: unknown type "nope"`
		said := strings.Join(strings.Fields(out), " ")
		if code != exitOK || !strings.Contains(errs, "sim: warning: the server refused 36 real calls: "+reason+"\n") ||
			!strings.Contains(said, "36 real calls gave no summary: bad request: "+reason) {
			t.Errorf("%v: exit %d\n%s\n%s", mode, code, out, errs)
		}
		if strings.Contains(said, "declared edits to the server") {
			t.Errorf("%v: edits of calls that were refused are told of\n%s", mode, out)
		}
	}
}

// The commonest reasons of a server are told, the others counted.
func TestReasonsOfRefusals(t *testing.T) {
	var calls []live.Call
	for _, why := range []string{"d", "b", "", "a", "b", "c", "e"} {
		calls = append(calls, live.Call{Refused: why})
	}
	if n, text := live.Refusals(calls); n != 6 || text != "b; a; c; and 2 further reasons" {
		t.Errorf("%d calls: %s", n, text)
	}
	if n, text := live.Refusals(calls[2:3]); n != 0 || text != "" {
		t.Errorf("%d calls: %s", n, text)
	}
}

// A threshold that no strategy of the run makes use of is told of, and changes no
// call: those recorded without it are found with it.
func TestIdleThreshold(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t, devserver.Options{})
	const warning = "sim: warning: live.server_trigger changes nothing: "
	args := []string{"run", "--strategy", "auto-compact/167k", "--summarizer"}
	if code, _, errs := simRun(t, append(args, "live", "--yes")...); code != exitOK || strings.Contains(errs, warning) {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if code, _, errs := simRun(t, append(args, "replay", "--set", "live.server_trigger=60000")...); code != exitOK || !strings.Contains(errs, warning) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := simRun(t, "run", "--strategy", "claude-code/2026-10", "--summarizer", "live", "--yes", "--set", "live.server_trigger=60000"); code != exitOK || strings.Contains(errs, warning) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// An estimate names the models that have no price: it is not nothing that they cost.
func TestEstimateWithoutAPrice(t *testing.T) {
	none := func(string) bool { return false }
	c := &liveCalls{flags: &liveFlags{}, priced: none, models: map[string]int{"nope": 1}}
	text := c.estimateText(&live.Estimate{Calls: 3})
	if !strings.Contains(text, "at a price that is not known, that of nope, for which") || !strings.Contains(text, "--price-as nope=MODEL") || strings.Contains(text, "$") {
		t.Errorf("no price: %s", text)
	}
	c.priced, c.models["fine"] = func(model string) bool { return model == "fine" }, 1
	text = c.estimateText(&live.Estimate{Calls: 3, USD: 1, MostUSD: 2})
	if !strings.Contains(text, "$1.00, at most $2.00, if none fails") || !strings.Contains(text, "and besides the calls of nope, for which no price is known") {
		t.Errorf("one price of two: %s", text)
	}
	if text = (&live.Report{Made: 2, USD: 1}).Text(c.unpriced(), nil); !strings.Contains(text, "2 real calls made for $1.00, besides those of nope, for which no price is known") {
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
	liveServer(t, devserver.Options{})
	args := []string{"run", "--strategy", "auto-compact/167k", "--yes", "--summarizer"}
	for _, mode := range []string{"live", "replay"} {
		code, out, errs := simRun(t, append(args, mode)...)
		if code != exitOK || !strings.Contains(out, "These are the samples") || strings.Contains(errs, "usual places") {
			t.Errorf("%s: exit %d\n%s\n%s", mode, code, out, errs)
		}
	}
}
