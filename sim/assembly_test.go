package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/google/go-cmp/cmp"
)

// What a scenario does not say stays as it was: the same calls, to the token.
func TestDefaultAssemblyChangesNothing(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	row, calls := run(t, testConfig(t, "auto-compact/167k"), s)
	row2, calls2 := run(t, headConfig(t, "auto-compact/167k", nil), s)
	if diff := cmp.Diff(row, row2); diff != "" || !slices.Equal(calls, calls2) {
		t.Errorf("the default assembly changes the row:\n%s", diff)
	}
}

// Which lifetime the conversation asks for, ahead of the second call of three
// that were recorded with 5m: what is written with 1h shows it.
func TestLifetimeChoice(t *testing.T) {
	overage := atRound(2, "overage", "on")
	policy := func(change func(*client.TTL)) func(*client.Assembly) {
		return func(a *client.Assembly) {
			a.TTL.Choice = client.ChoicePolicy
			if change != nil {
				change(&a.TTL)
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		events []client.Event
		want   [2]int64 // written for 1h by the first and the second call
	}{
		"recorded":          {nil, nil, [2]int64{0, 0}},
		"5m":                {func(a *client.Assembly) { a.TTL.Choice = "5m" }, nil, [2]int64{0, 0}},
		"1h":                {func(a *client.Assembly) { a.TTL.Choice = "1h" }, nil, [2]int64{18_300, 1200}},
		"subscriber":        {policy(nil), nil, [2]int64{18_300, 1200}},
		"nobody":            {policy(func(p *client.TTL) { p.Subscriber = false }), nil, [2]int64{0, 0}},
		"employee":          {policy(func(p *client.TTL) { p.Subscriber, p.Employee = false, true }), nil, [2]int64{18_300, 1200}},
		"begun in overage":  {policy(func(p *client.TTL) { p.Overage = true }), nil, [2]int64{0, 0}},
		"overage, latched":  {policy(nil), []client.Event{overage}, [2]int64{18_300, 1200}},
		"overage, no latch": {policy(func(p *client.TTL) { p.Latch = false }), []client.Event{overage}, [2]int64{18_300, 0}},
		"not on the list":   {policy(func(p *client.TTL) { p.Allow = []string{"sdk"} }), nil, [2]int64{0, 0}},
	} {
		_, calls := run(t, headConfig(t, "none", tc.change, tc.events...), threeCalls())
		if got := [2]int64{calls[0].Usage.Write1h, calls[1].Usage.Write1h}; got != tc.want {
			t.Errorf("%s: %v written for 1h, want %v", name, got, tc.want)
		}
	}
}

// The claim of the latch (000:205): without it an overage flip writes everything
// again, here 19,500 tokens, if the lifetime is part of the key; if it is not,
// nothing is lost.
func TestLatchOnlyMattersWithTTLInKey(t *testing.T) {
	for inKey, want := range map[bool]int64{true: 0, false: 18_300} {
		c := headConfig(t, "none", func(a *client.Assembly) { a.TTL.Choice, a.TTL.Latch = client.ChoicePolicy, false }, atRound(2, "overage", ""))
		c.Server = func(facts.Cache) Server { return promptcache.New(promptcache.Config{TTLInKey: inKey}) }
		_, calls := run(t, c, threeCalls())
		if got := calls[1].Usage.Read; got != want {
			t.Errorf("lifetime in the key %v: %d read, want %d", inKey, got, want)
		}
	}
}

// Variables that change requests.
func TestVariablesOfRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		env  client.Env
		want prompt.Usage // of the second call
	}{
		"none":               {client.Env{}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
		"no caching":         {client.Env{DisableCaching: "1"}, prompt.Usage{Uncached: 19_500, Output: 200}},
		"none for Opus":      {client.Env{DisableOpus: "true"}, prompt.Usage{Uncached: 19_500, Output: 200}},
		"none for Haiku":     {client.Env{DisableHaiku: "1"}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
		"caching not off":    {client.Env{DisableCaching: "0"}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
		"1h":                 {client.Env{Enable1h: "1"}, prompt.Usage{Read: 18_300, Write1h: 1200, Output: 200}},
		"1h and forced 5m":   {client.Env{Enable1h: "1", Force5m: "1"}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
		"setting":            {client.Env{CacheTTL: "1h"}, prompt.Usage{Read: 18_300, Write1h: 1200, Output: 200}},
		"setting of agents":  {client.Env{AgentCacheTTL: "1h"}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
		"setting against 1h": {client.Env{CacheTTL: "5m", Enable1h: "1"}, prompt.Usage{Read: 18_300, Write5m: 1200, Output: 200}},
	} {
		_, calls := run(t, headConfig(t, "none", func(a *client.Assembly) { a.Env = tc.env }), threeCalls())
		if calls[1].Usage != tc.want {
			t.Errorf("%s: %+v, want %+v", name, calls[1].Usage, tc.want)
		}
	}
}

// Variables of the window: thresholds counted from 100,000 tokens lie at
// 100k − 20k − 13k = 67,000 (E3) and leave the window at 200,000; a window of
// 100,000 is both. Values below 100,000 count as that.
func TestVariablesOfTheWindow(t *testing.T) {
	long := newSession("s").turns(30, 0, 4000).session()
	for name, tc := range map[string]struct {
		env          client.Env
		window, peak int64 // the largest context lies below peak
	}{
		"none":                 {client.Env{}, 200_000, 200_000},
		"thresholds at 100k":   {client.Env{AutoCompactWindow: "100000"}, 200_000, 67_000 + 4200},
		"thresholds below it":  {client.Env{AutoCompactWindow: "5000"}, 200_000, 67_000 + 4200},
		"thresholds at 1M":     {client.Env{AutoCompactWindow: "1000000"}, 200_000, 200_000},
		"window of 100k":       {client.Env{MaxContextTokens: "100000"}, 100_000, 67_000 + 4200},
		"no window of million": {client.Env{Disable1M: "1"}, 200_000, 200_000},
	} {
		l := NewLoop(headConfig(t, "auto-compact/167k", func(a *client.Assembly) { a.Env = tc.env }))
		row, err := l.Run(long)
		if err != nil {
			t.Fatal(err)
		}
		if l.Window("") != tc.window || int64(row.N(measures.PeakContext)) >= tc.peak ||
			int64(row.N(measures.PeakContext)) < tc.peak*9/10 && tc.peak < 100_000 {
			t.Errorf("%s: window %d, largest context %d; want %d, below %d", name, l.Window(""), row.N(measures.PeakContext), tc.window, tc.peak)
		}
	}
	large := newSession("l").turns(2, 0, 1000)
	large.s.Models[0] = "claude-opus-4-5[1m]"
	for value, want := range map[string]int64{"": 1_000_000, "1": 200_000} {
		l := NewLoop(headConfig(t, "none", func(a *client.Assembly) { a.Env.Disable1M = value }))
		if _, err := l.Run(large.session()); err != nil {
			t.Fatal(err)
		}
		if l.Window("") != want {
			t.Errorf("CLAUDE_CODE_DISABLE_1M_CONTEXT %q: window %d, want %d", value, l.Window(""), want)
		}
	}
}

// The count of input_tokens alone stays at the few tokens that are not cached:
// the threshold of 167,000 is never reached, and the window ends the growth.
func TestInputOnlyCountUndercounts(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	full, _ := run(t, headConfig(t, "auto-compact/167k", nil), s)
	low, _ := run(t, headConfig(t, "auto-compact/167k", func(a *client.Assembly) { a.Count.Canonical = "input_only" }), s)
	if full.N(measures.Overflows) != 0 || full.N(measures.PeakContext) > 167_000+4200 {
		t.Errorf("counted in full: %d overflows, largest context %d", full.N(measures.Overflows), full.N(measures.PeakContext))
	}
	if low.N(measures.Overflows) == 0 || low.N(measures.PeakContext) < 190_000 {
		t.Errorf("input_tokens alone: %d overflows, largest context %d", low.N(measures.Overflows), low.N(measures.PeakContext))
	}
}

// A pause of ten minutes: entries of 5m are gone and everything is written again, 18,300 + 200 +
// 300 tokens; entries of 1h are read (000:188, E2).
func TestLifetimeOverAPause(t *testing.T) {
	for choice, want := range map[string]prompt.Usage{
		"5m": {Write5m: 18_800, Output: 200},
		"1h": {Read: 18_300, Write1h: 500, Output: 200},
	} {
		b := newSession("s")
		b.turns(1, 0, 0)
		b.turns(1, 10*minute, 0)
		c := headConfig(t, "none", func(a *client.Assembly) { a.TTL.Choice = choice })
		c.Verify = false // the first turn's call was interrupted
		_, calls := run(t, c, b.session())
		if calls[1].Usage != want {
			t.Errorf("%s: %+v, want %+v", choice, calls[1].Usage, want)
		}
	}
}
