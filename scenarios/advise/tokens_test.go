package advise

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Calls at hours 0, 4 and 6 and eight days later are in three windows of five hours and two weeks. At $5 for a million
// tokens of uncached input, the price of Claude Opus 4.5, calls of $1, $2, $4 and $8 weigh 200k, 400k, 800k and 1.6M.
func TestWindows(t *testing.T) {
	const hour = int64(time.Hour)
	start := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).UnixNano()
	logged := newTally([]*traces.Session{{ID: "a", Start: start}, {ID: "b"}})
	for i, at := range []int64{0, 4 * hour, 6 * hour, 8 * 24 * hour} {
		logged.add(&results.CallRecord{Session: "a", Model: "claude-opus-4-5", Start: at,
			Cost: results.Cost{measures.ClassOutput: float64(int(1) << i)}, Usage: prompt.Usage{Read: 10}})
	}
	u := newUse(logged, scenariostest.Prices(t))
	if w := u.Weights; w == nil || w.Model != "claude-opus-4-5" || w.InputUSD != 5 || w.Read != 0.1 || w.Write5m != 1.25 || w.Write1h != 2 || w.Output != 5 {
		t.Fatalf("weights %+v", u.Weights)
	}
	want := Weighted{All: 3e6, FiveHours: Peaks{3, 1.6e6, 800_000}, Week: Peaks{2, 1.6e6, 1.5e6}}
	if *u.Logged.Weighted != want || u.Logged.Read != 40 || u.Undated != 1 {
		t.Errorf("%+v, want %+v; %d tokens read, %d undated", *u.Logged.Weighted, want, u.Logged.Read, u.Undated)
	}
	// With a setting: the call of hour 4 comes an hour and a half later, in its window still; a call before all windows counts in the first.
	with := newTally([]*traces.Session{{ID: "a", Start: start}})
	for _, c := range []struct {
		at  int64
		usd float64
	}{{-hour, 1}, {5*hour + hour/2, 1}, {6 * hour, 1}} {
		with.add(&results.CallRecord{Session: "a", Start: c.at, Cost: results.Cost{measures.ClassRead: c.usd}})
	}
	want = Weighted{All: 600_000, FiveHours: Peaks{3, 400_000, 200_000}, Week: Peaks{2, 600_000, 300_000}}
	if got := u.tokens(with); *got.Weighted != want {
		t.Errorf("with a setting %+v, want %+v", *got.Weighted, want)
	}
}

// In cost-weighted tokens the log is the bill and a change saves the share that it saves in dollars; by class
// the log has the usage of the sessions.
func TestTokensAreTheDollars(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus := scenariostest.Samples(t)
	for _, s := range scenariostest.Samples(t).Sessions { // enough for folds
		c := *s
		c.ID += "-again"
		corpus.Sessions = append(corpus.Sessions, &c)
	}
	p := adviserOf(t, 1)
	a, err := p.run(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	one := &a.Agents[0]
	if one.Textless+one.Uncounted+one.Single > 0 || len(one.lacks()) > 0 {
		t.Errorf("the samples have texts, usage and several calls each: %q", one.lacks())
	}
	usd := func(tokens *Tokens) float64 { return tokens.Weighted.All * one.Use.Weights.InputUSD / 1e6 }
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("the log", usd(&one.Use.Logged), one.PaidUSD)
	near("own", usd(&one.Use.AsIs), one.AsIsUSD)
	for _, c := range append(one.Changes, one.Open...) {
		near(c.Assign, one.AsIsUSD-usd(&c.Tokens), c.SavesUSD)
	}
	var logged prompt.Usage
	for _, s := range corpus.Sessions {
		u := s.Usage()
		logged.Add(&u)
	}
	if got := one.Use.Logged.classes(); got != [measures.NumClasses]int64{logged.Uncached, logged.Read, logged.Write5m, logged.Write1h, logged.WriteOther, logged.Output} {
		t.Errorf("the log has %v by class, the sessions %+v", got, logged)
	}
	for format, want := range map[string]string{"table": "COST-WEIGHTED", "csv": "week_peak", "html": `data-way="dollars"`, "json": `"five_hours"`} {
		var text bytes.Buffer
		if err := a.Document(nil, AsTokens).Write(&text, format); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%s: %v, want %s\n%s", format, err, want, text.String())
		}
		if format == "table" && strings.Contains(text.String(), "$") {
			t.Errorf("in tokens the table has dollars:\n%s", text.String())
		}
	}
}

// Models without a price have tokens and no weight: nothing is told as zero.
func TestTokensWithoutPrices(t *testing.T) {
	logged := newTally([]*traces.Session{{ID: "a", Start: 1}})
	logged.add(&results.CallRecord{Session: "a", Model: "unheard-of", Usage: prompt.Usage{Uncached: 1000}})
	one := AgentAdvice{Agent: facts.Codex, Sessions: 1, Unpriced: 1, Use: newUse(logged, scenariostest.Prices(t))}
	one.Use.AsIs = one.Use.tokens(logged)
	var text bytes.Buffer
	a := Advice{Agents: []AgentAdvice{one}}
	if err := a.Document(nil, AsTokens).Write(&text, "table"); err != nil {
		t.Fatal(err)
	}
	if out := text.String(); !strings.Contains(out, "No model here has a price") || strings.Contains(out, "PEAK 5 H") {
		t.Errorf("%s", out)
	}
}
