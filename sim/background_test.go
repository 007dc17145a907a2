package sim

import (
	"fmt"
	"maps"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// answer makes the last response of the last thread end its loop: its call
// becomes 100 more tokens of text.
func (b *sessionBuilder) answer() *sessionBuilder {
	t := &b.s.Threads[len(b.s.Threads)-1]
	r := &t.Rounds[len(t.Rounds)-1]
	r.Reply.To--
	b.s.Blocks[r.Reply.To-1].Tokens += 100
	return b
}

// looping adds turns of some rounds with results of 1,000 tokens, each of which
// ends its loop; a minute lies between them.
func (b *sessionBuilder) looping(turns, rounds int) *sessionBuilder {
	for range turns {
		b.turns(rounds, minute, 1000).answer()
	}
	return b
}

// callsOf returns the calls of a source, in order of completion.
func callsOf(calls []results.CallRecord, source measures.Source) []results.CallRecord {
	var list []results.CallRecord
	for _, c := range calls {
		if c.Source == source {
			list = append(list, c)
		}
	}
	return list
}

// usages checks the usages of calls, one by one.
func usages(t *testing.T, what string, calls []results.CallRecord, want ...prompt.Usage) {
	t.Helper()
	if len(calls) != len(want) {
		t.Errorf("%s: %d calls, want %d", what, len(calls), len(want))
		return
	}
	for i, w := range want {
		if calls[i].Usage != w {
			t.Errorf("%s: call %d: %+v, want %+v", what, i, calls[i].Usage, w)
		}
	}
}

// An extraction is two turns on the conversation's prefix (003:2388). The first
// reads the 18,300 tokens that the turn's one call wrote, and writes the answer
// of 200 and an instruction of 1,500; the second reads that and writes what the
// first answered (400) and the files it read (1,500). The conversation itself
// costs what it costs without.
func TestMemoryExtractionOnTheClock(t *testing.T) {
	s := newSession("s").looping(2, 1).session()
	row, calls := run(t, written(t, "  - memory-extraction: {}\n"), s)
	second := int64(18300 + 200 + 300) // what the second turn's call holds
	usages(t, "extractions", callsOf(calls, measures.SourceOf("extract_memories")),
		prompt.Usage{Read: 18300, Write5m: 200 + 1500, Output: 400},
		prompt.Usage{Read: 18300 + 1700, Write5m: 400 + 1500, Output: 400},
		prompt.Usage{Read: second, Write5m: 200 + 1500, Output: 400},
		prompt.Usage{Read: second + 1700, Write5m: 400 + 1500, Output: 400})
	if row.N(measures.MemoryExtractions) != 2 || row.N(measures.BackgroundCalls) != 2 || row.Firings["memory-extraction"] != 2 {
		t.Errorf("counts %v, firings %v", row.Figures[measures.StoredResults:measures.CallsBySource], row.Firings)
	}
	none, _ := run(t, testConfig(t, "none"), s)
	if row.UsageBy(measures.SourceMain) != none.UsageBy(measures.SourceMain) || row.Figures[measures.AddedLatency] != 0 {
		t.Errorf("the conversation: %+v and %g s of waiting, without: %+v", row.UsageBy(measures.SourceMain),
			row.Figures[measures.AddedLatency], none.UsageBy(measures.SourceMain))
	}
}

// Memory extraction, switch by switch: billed calls of three turns of two rounds,
// and why there are not six.
func TestMemoryExtractionSwitches(t *testing.T) {
	plain := func() *traces.Session { return newSession("s").looping(3, 2).session() }
	wrote := func() *traces.Session {
		s := plain()
		call := &s.Blocks[s.Threads[0].Rounds[2].Reply.To-1] // of the second turn
		call.Op, call.Object = op.Write, 0
		s.Objects = []string{"/home/u/.claude/projects/-w/memory/user.md"}
		return s
	}
	for _, tc := range []struct {
		params  string
		session *traces.Session
		calls   int
		reasons map[string]int
	}{
		{"", plain(), 6, nil},
		{"enabled: false", plain(), 0, nil},
		{"", wrote(), 4, map[string]int{"memory-extraction: the conversation wrote memory files itself": 1}},
		{"skip_written: false", wrote(), 6, nil},
		{"every: 3", plain(), 2, map[string]int{"memory-extraction: not due in this turn": 2}},
		{"turns: 1", plain(), 3, nil},
		{"failure: 1", plain(), 0, map[string]int{"memory-extraction: API error": 3}},
		{"", coordinated(1).session(), 4, nil}, // two turns of the conversation
		{"subagents: true", coordinated(1).session(), 6, nil},
	} {
		row, _ := run(t, written(t, "  - memory-extraction: {"+tc.params+"}\n"), tc.session)
		if got := row.CallsBy(measures.SourceOf("extract_memories")); got != tc.calls || !maps.Equal(row.Reasons, tc.reasons) {
			t.Errorf("%s: %d calls, %v; want %d, %v", tc.params, got, row.Reasons, tc.calls, tc.reasons)
		}
	}
}

// Short-lived forks ask for 5 minutes. With 1 hour the same tokens are written
// at 2 instead of 1.25 times the price of input, and nobody reads them again
// (000:214-215: "pure waste"): of Opus 4.5 at $5 a million, $3.75 a million more.
func TestShortForkLifetime(t *testing.T) {
	s := newSession("s").looping(4, 1).session()
	usd := map[string]float64{}
	const tokens = 4 * (200 + 1000) // the response and the instruction of each
	for lifetime, want := range map[string]prompt.Usage{"5m": {Write5m: tokens}, "1h": {Write1h: tokens}} {
		row, calls := run(t, written(t, "  - speculation: {share: 1, turns: 1, instruction: 1000, lifetime: "+lifetime+"}\n"), s)
		if u := row.UsageBy(measures.SourceOf("speculation")); u.Write5m != want.Write5m || u.Write1h != want.Write1h {
			t.Errorf("%s: wrote %+v, want %+v", lifetime, u, want)
		}
		for i, c := range callsOf(calls, measures.SourceMain)[1:] {
			if want := int64(18300 + 500*i); c.Usage.Read != want {
				t.Errorf("%s: turn %d reads %d, want its own %d", lifetime, i+1, c.Usage.Read, want)
			}
		}
		usd[lifetime] = row.CostUSD()
	}
	if got, want := usd["1h"]-usd["5m"], tokens*3.75/1e6; got < want*0.999 || got > want*1.001 {
		t.Errorf("1 hour costs $%.6f more, want $%.6f", got, want)
	}
}

// With its marker on the last response, a suggestion leaves that in the cache:
// the next call reads 200 tokens more, which is what 58 % of the recorded calls
// behind a prompt do. With the marker on its instruction it leaves nothing that
// is ever read.
func TestSuggestionLeavesTheResponse(t *testing.T) {
	s := newSession("s").looping(2, 1).session()
	for params, want := range map[string][2]prompt.Usage{ // first fork, next call
		"prompt-suggestion: {share: 1}": {
			{Uncached: 300, Read: 18300, Write5m: 200, Output: 15},
			{Read: 18500, Write5m: 300, Output: 200}},
		"prompt-suggestion: {share: 1, skip_cache_write: false}": {
			{Read: 18300, Write5m: 500, Output: 15},
			{Read: 18300, Write5m: 500, Output: 200}},
		"speculation: {share: 1, turns: 1, skip_cache_write: true}": {
			{Uncached: 50, Read: 18300, Write5m: 200, Output: 300},
			{Read: 18500, Write5m: 300, Output: 200}},
		"speculation: {share: 1, turns: 1}": {
			{Read: 18300, Write5m: 250, Output: 300},
			{Read: 18300, Write5m: 500, Output: 200}},
	} {
		_, calls := run(t, written(t, "  - "+params+"\n"), s)
		var forks []results.CallRecord
		for _, c := range calls {
			if c.Source != measures.SourceMain {
				forks = append(forks, c)
			}
		}
		usages(t, params, forks[:1], want[0])
		usages(t, params, callsOf(calls, measures.SourceMain)[1:], want[1])
	}
}

// The short forks, switch by switch: calls of ten turns. At 58 % the draws of this session take
// six turns, both forks the same ones.
func TestShortForkSwitches(t *testing.T) {
	s := newSession("s").looping(10, 1).session()
	for _, tc := range []struct {
		layers  string
		calls   [2]int // suggestions, speculations
		reasons map[string]int
	}{
		{"  - prompt-suggestion: {share: 1, accepted: 1}\n", [2]int{10, 0}, nil},
		{"  - prompt-suggestion: {share: 0}\n", [2]int{}, nil},
		{"  - prompt-suggestion: {share: 1, enabled: false}\n", [2]int{}, nil},
		{"  - prompt-suggestion: {share: 1}\n", [2]int{10, 0}, map[string]int{"prompt-suggestion: not taken": 10}},
		{"  - prompt-suggestion: {share: 1, suppressed: 1}\n", [2]int{10, 0},
			map[string]int{"prompt-suggestion: suppressed before a person saw it": 10}},
		{"  - speculation: {share: 1, turns: 3, accepted: 1}\n", [2]int{0, 30}, nil},
		{"  - speculation: {share: 1, enabled: false}\n", [2]int{}, nil},
		{"  - prompt-suggestion: {accepted: 1}\n  - speculation: {turns: 1, accepted: 1}\n", [2]int{6, 6}, nil},
	} {
		row, _ := run(t, written(t, tc.layers), s)
		got := [2]int{row.CallsBy(measures.SourceOf("prompt_suggestion")), row.CallsBy(measures.SourceOf("speculation"))}
		if got != tc.calls || !maps.Equal(row.Reasons, tc.reasons) {
			t.Errorf("%s: %v calls, %v; want %v, %v", tc.layers, got, row.Reasons, tc.calls, tc.reasons)
		}
	}
}

// Whatever the share, the suggestions of a session at a smaller share are among its suggestions at
// a larger share: cells that differ in one parameter see the same draws.
func TestShortForkSharesNest(t *testing.T) {
	s := newSession("s").looping(40, 1).session()
	before := map[int64]bool{}
	for share := 0; share <= 10; share++ {
		_, calls := run(t, written(t, fmt.Sprintf("  - prompt-suggestion: {share: %g}\n", float64(share)/10)), s)
		now := map[int64]bool{}
		for _, c := range callsOf(calls, measures.SourceOf("prompt_suggestion")) {
			now[c.Start] = true
		}
		for at := range before {
			if !now[at] {
				t.Errorf("share %d/10: no suggestion at %d, where a smaller share has one", share, at)
			}
		}
		before = now
	}
	if len(before) != 40 {
		t.Errorf("%d suggestions in 40 turns at share 1", len(before))
	}
}

// New memories stand in a memoised section: the conversation goes on
// under the old prompt until a compaction renders it anew. Each of ten turns adds
// two lines of 39 tokens. The system prompt of 4,000 tokens, which ends the
// prefix of 16,000 that a compaction leaves, then holds the lines of the turns so far.
func TestMemoriesShowAfterACompaction(t *testing.T) {
	b := newSession("s").looping(5, 1)
	compact := len(b.s.Threads[0].Rounds)
	s := b.looping(5, 1).session()
	s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Manual: true, Round: int32(compact)}}
	const full = "  - full-compact: {trigger: {fixed: 150000}, manual: true, attachments: {plan: false, plan_mode: 0, agent_status: 0}}\n"
	contexts := func(layers string) []int64 {
		var list []int64
		_, calls := run(t, written(t, layers), s)
		for _, c := range callsOf(calls, measures.SourceMain) {
			list = append(list, c.Context)
		}
		return list
	}
	without := contexts(full)
	for layers, want := range map[string]int64{
		full + "  - memory-extraction: {saves: 1, growth: 2}\n": 5 * 2 * 39,
		full + "  - memory-extraction: {saves: 0}\n":            0,
		"  - memory-extraction: {saves: 1, growth: 2}\n":        -1, // nothing ever renders the prompt
	} {
		with := contexts(layers)
		for i, c := range with {
			more := want
			if i < compact {
				more = 0
			}
			if want >= 0 && c != without[i]+more {
				t.Errorf("%s: call %d: a context of %d, without memories %d; want %d more", layers, i, c, without[i], more)
			}
			if want < 0 && i > 0 && c != with[i-1]+500 {
				t.Errorf("%s: call %d: a context of %d behind one of %d", layers, i, c, with[i-1])
			}
		}
	}
}

// The next session of the user begins with the memories of the first: two lines.
func TestMemoriesReachTheNextSession(t *testing.T) {
	a, b := newSession("a").looping(1, 1).session(), newSession("b").looping(1, 1).session()
	b.Start += 10 * minute
	var contexts []int64
	c := written(t, "  - memory-extraction: {saves: 1, growth: 2}\n")
	c.Record = func(r *results.CallRecord) {
		if r.Source == measures.SourceMain {
			contexts = append(contexts, r.Context)
		}
	}
	rows, err := NewLoop(c).RunCohort([]*traces.Session{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if len(contexts) != 2 || contexts[0] != 18300 || contexts[1] != 18300+2*39 {
		t.Errorf("contexts %v, want 18,300 and 78 more", contexts)
	}
	if n := int64(rows[1].N(measures.HeadChanges)); n != 0 {
		t.Errorf("%d changes of a head that nothing was sent with", n)
	}
}

// The profile adds the calls at the end of turns that no log shows. A strategy
// that makes them itself has them once; one with another layer there keeps them.
func TestSuggestionsStandForHiddenCalls(t *testing.T) {
	s := newSession("s").looping(4, 1).session()
	for layers, want := range map[string][2]int{
		"  - prompt-suggestion: {share: 1}\n":           {4, 0},
		"  - memory-extraction: {}\n":                   {0, 4},
		"  - dream: {}\n  - speculation: {}\n":          {0, 4},
		"  - full-compact: {trigger: {fixed: 99000}}\n": {0, 4},
	} {
		c := written(t, layers)
		c.Profile = &profile.Profile{
			Switches: profile.Switches{Hidden: true}, Weight: 1,
			Hidden: []profile.Habit{{Estimate: profile.Estimate{Value: 1, N: 1}}},
		}
		row, _ := run(t, c, s)
		if got := [2]int{row.CallsBy(measures.SourceOf("prompt_suggestion")), row.CallsBy(measures.SourceOther)}; got != want {
			t.Errorf("%s: %d suggestions and %d hidden calls, want %v", layers, got[0], got[1], want)
		}
	}
}

// deleter asks the server at the end of each loop to delete the newest tool
// result.
type deleter struct{}

func (deleter) Name() string              { return "deleter" }
func (l deleter) Clone() strategies.Layer { return l }
func (deleter) Reset()                    {}
func (deleter) EndOfLoop(t *strategies.Turn) strategies.Outcome {
	for i := t.Context.Len() - 1; i >= 0; i-- {
		if e := t.Context.At(i); e.Kind == prompt.KindToolResult {
			t.Delete(e.ID)
			break
		}
	}
	return strategies.Outcome{Verdict: strategies.Done}
}

// A call on the conversation's own prefix leaves out what the server was asked to
// delete from it, however often the context was replaced before: 1,000 tokens of
// each result deleted at the end of a turn, behind a compaction as well.
func TestBackgroundCallsKeepDeletions(t *testing.T) {
	b := newSession("s").looping(1, 3)
	b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Manual: true, Round: 3}}
	s := b.looping(1, 3).session()
	c := written(t, "  - full-compact: {trigger: {fixed: 150000}, manual: true}\n  - memory-extraction: {saves: 0}\n")
	layers := c.Strategy.Layers()
	c.Strategy = strategies.NewStrategy("own", "", append([]strategies.Layer{deleter{}}, layers...)...)
	_, calls := run(t, c, s)
	main, extractions := callsOf(calls, measures.SourceMain), callsOf(calls, measures.SourceOf("extract_memories"))
	for turn := range 2 {
		last := main[3*turn+2]
		if got, want := extractions[2*turn].Usage.Input(), last.Context+200+1500-1000; got != want {
			t.Errorf("turn %d: the extraction holds %d tokens, want %d", turn, got, want)
		}
	}
}
