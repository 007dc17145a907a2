package sim

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// gpt-5.6-sol bills writes at $6.25 a million against $5.00 of input, and Codex logs
// none: what was not read may have cost $1.25 a million more. gpt-5.5 bills none, a
// call whose log has writes is as logged, and Claude Code logs all writes.
func TestBillWithUnloggedWrites(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	session := func(agent, model string, u prompt.Usage) *traces.Session {
		return &traces.Session{Agent: agent, Models: []string{model}, Threads: []traces.Thread{{Rounds: []traces.Round{{Usage: u}, {Usage: u}}}}}
	}
	for name, tc := range map[string]struct {
		agent, model string
		usage        prompt.Usage
		want         float64 // USD of two calls
	}{
		"bills writes":  {facts.Codex, "gpt-5.6-sol", prompt.Usage{Uncached: 40_000, Read: 100_000, Output: 500}, 2 * 40_000 * 1.25 / 1e6},
		"logs them":     {facts.Codex, "gpt-5.6-sol", prompt.Usage{Uncached: 40_000, WriteOther: 1}, 0},
		"bills none":    {facts.Codex, "gpt-5.5", prompt.Usage{Uncached: 40_000}, 0},
		"marked caches": {facts.ClaudeCode, "claude-opus-4-6", prompt.Usage{Uncached: 40_000}, 0},
	} {
		row := Billed(session(tc.agent, tc.model, tc.usage), table, time.Date(2026, 7, 10, 0, 0, 0, 0, time.UTC))
		if math.Abs(row.Figures[measures.UnloggedWritesUSD]-tc.want) > 1e-9 || row.N(measures.UnpricedCalls) > 0 {
			t.Errorf("%s: $%f, want $%f; %d unpriced", name, row.Figures[measures.UnloggedWritesUSD], tc.want, row.N(measures.UnpricedCalls))
		}
	}
}

// What a log states that OpenAI's cache wrote, the model bills as well: of 20,010 tokens and 1,010 more the second call reads the
// 19,968 that are whole steps of 128 at most, and everything else but a tail is written. A log without writes has none.
func TestStatedWrites(t *testing.T) {
	for _, stated := range []bool{true, false} {
		s := forgetting(facts.Codex)
		s.Models[0] = "gpt-5.6-sol"
		for i := range s.Threads[0].Rounds {
			u := &s.Threads[0].Rounds[i].Usage
			if *u = u.Plain(); stated {
				*u = u.Written(0)
			}
		}
		c := testConfig(t, "recorded")
		row, _ := run(t, c, s)
		u := row.Usage()
		if (u.WriteOther > 0) != stated || stated && u.Uncached != 0 {
			t.Errorf("stated %t: %d tokens written, %d plain", stated, u.WriteOther, u.Uncached)
		}
	}
}

// The server searched the web three times in the second call of Opus 4.5, at $10 a thousand: bills and simulations have $0.03
// beside the tokens, and without the searches nothing else changes.
func TestSearchesAreBilled(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession("s").turns(3, 0, 1000).session()
	plain := Billed(s, table, time.Time{})
	before, _ := run(t, testConfig(t, "none"), s)
	s.Searches = []traces.Search{{Thread: 0, Round: 1, Times: 3}}
	billed := Billed(s, table, time.Time{})
	after, calls := run(t, testConfig(t, "none"), s)
	for what, usd := range map[string]float64{
		"billed": billed.CostUSD() - plain.CostUSD(), "simulated": after.CostUSD() - before.CostUSD(), "of the call": calls[1].Search,
	} {
		if math.Abs(usd-0.03) > 1e-12 {
			t.Errorf("%s: $%f for the searches, want $0.03", what, usd)
		}
	}
}

// A client that asks OpenAI to keep its prefixes for 12 hours reads them after 2 hours, one that does not misses them after the
// server's half hour, and after 13 hours both do.
func TestKeptForHalfADay(t *testing.T) {
	for _, tc := range []struct {
		halfDay bool
		hours   int64
		misses  int
	}{{true, 2, 0}, {false, 2, 1}, {true, 13, 1}} {
		b := newSession("half-day").turns(2, second, 5000)
		if tc.halfDay {
			b.s.Threads[0].Rounds[0].Flags |= signs.HalfDay
		}
		b.round(traces.TriggerPrompt, tc.hours*60*minute, 300)
		b.s.Agent, b.s.Models[0] = facts.Requests, "gpt-5.6-sol"
		c := testConfig(t, "recorded")
		c.Server = func(facts.Cache) Server {
			return promptcache.NewOpenAI(promptcache.OpenAIConfig{Retention: 30 * minute})
		}
		if row, calls := run(t, c, b.session()); row.N(measures.Misses) != tc.misses {
			t.Errorf("%+v: %d misses, reads %d of %d", tc, row.N(measures.Misses), calls[2].Usage.Read, calls[2].Context)
		}
	}
}
