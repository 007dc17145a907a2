package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// A recorded compaction has its summary, 600 and 400 tokens, and its time, half the time to the
// first token; the context behind it weighs what the recording says, 5,000 tokens beside the
// head: reminders, summary, and what came back. A result that went into it stands no more
// ahead of the prompt of 444.
func TestRecordedCompaction(t *testing.T) {
	for kept, want := range map[int32][]int32{
		5000: {2000, 1000, 2000, 444}, 3000: {2000, 1000, 444}, 3001: {2000, 1000, 1, 444}, 2000: {1000, 1000, 444}, 700: {0, 700, 444}, 0: {0, 1000, 444},
	} {
		k := rounds(3, 900)
		k.add(prompt.KindPrompt, 444)
		k.InputAt = k.Context.Len() - 2
		k.Blocks = []prompt.Block{{Tokens: 600, Bytes: 2400}, {Tokens: 400, Bytes: 1600}}
		k.Events = []traces.Event{{Kind: traces.EventCompact, Summary: traces.Span{To: 2}, Kept: kept, Absorbed: 1, Wait: 10e9}}
		l := layer(t, "recorded: {prefix: own}")
		in := begin(t, l, k)
		if in.Known.First != 5e9 || in.Known.Total != 10e9 || kept > 0 && in.Known.Summary != min(1000, kept) || !in.Own {
			t.Errorf("%d kept: %+v", kept, in.Known)
		}
		if out := l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{}); out.Verdict != Done {
			t.Errorf("%d kept: %+v", kept, out)
		}
		if got := k.sizes(2); !slices.Equal(got, want) || k.InputAt != k.Context.Len()-1 {
			t.Errorf("%d kept: %v with the input at %d, want %v", kept, got, k.InputAt, want)
		}
		if whole := k.Context.At(2).Form == prompt.FormVerbatim; whole != (want[0] == 2000) {
			t.Errorf("%d kept: the reminders are whole: %v", kept, whole)
		}
		if b := k.Context.BlockAt(4); len(want) == 4 && (b.Bytes != 3*want[2] || b.Object != -1) {
			t.Errorf("%d kept: %d bytes came back, of object %d", kept, b.Bytes, b.Object)
		}
	}
	if out := layer(t, "recorded: {}").(BeforeRequest).BeforeRequest(&newTalk().Turn); out.Verdict != Declined {
		t.Errorf("without an event: %+v", out)
	}
	for agent, want := range map[string]int32{facts.Pi: 2000, facts.OpenCode: 2000, facts.Codex: 0, facts.ClaudeCode: 0} {
		k := rounds(3, 900)
		k.Agent, k.Events = agent, []traces.Event{{Kind: traces.EventCompact}}
		if in := begin(t, layer(t, "recorded: {}"), k); in.Clip != want {
			t.Errorf("%s: the call reads %d bytes of each result, want %d", agent, in.Clip, want)
		}
	}
	for cached, unmarked := range map[bool]bool{true: false, false: true} { // the log has the call: 4,000 of 10,000 tokens are its head
		k := rounds(3, 900)
		k.Blocks = []prompt.Block{{Tokens: 600}, {Tokens: 4000}}
		k.Events = []traces.Event{{Kind: traces.EventCompact, Summary: traces.Span{To: 1}, Asked: 10_000, Told: 650, Cached: cached, CallHead: traces.Span{From: 1, To: 2}}}
		in := begin(t, layer(t, "recorded: {}"), k)
		if in.Instruction != 6000 || in.Known.Head != [2]prompt.Ref{1, 2} || in.Known.Output != 650 || in.Unmarked != unmarked {
			t.Errorf("cached %v: %+v, answer %+v", cached, in, in.Known)
		}
	}
	for p, want := range map[prefixChoice]bool{prefixOwn: true, 0: false} {
		if p.own(facts.ClaudeCode, "2.1.5", "") != want {
			t.Errorf("prefix %d: own %v", p, !want)
		}
	}
}

// A client that clears old results where it compacts, as Kilo 7.7.9 does, has compacted: what was cleared went into the summary, and
// takes nothing from the 5,000 tokens behind it.
func TestRecordedClearingBehindCompaction(t *testing.T) {
	k := rounds(3, 900)
	k.Blocks = []prompt.Block{{Tokens: 1000, Bytes: 4000}}
	k.Events = []traces.Event{
		{Kind: traces.EventCompact, Summary: traces.Span{To: 1}, Kept: 5000}, {Kind: traces.EventMicrocompact, Cleared: []int32{2, 3}},
	}
	l := layer(t, "recorded: {}")
	begin(t, l, k)
	l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{})
	if b := k.Boundary(); b.Kind != BoundaryCompact || b.After != int64(k.Context.Tokens()) || b.Reported != b.After || b.Before <= b.After {
		t.Errorf("%+v of %d tokens, want a compaction", b, k.Context.Tokens())
	}
}

// Two results that a recorded microcompaction cleared give up all but a placeholder of 12, as
// far as the recording lost so much; what it lost beyond that comes off what follows the first
// of them: what lies ahead stayed as it was, and is read from the cache. Where no line says
// what left, the oldest results give it, then anything, then the input, and the head at last,
// which a later compaction has again; the head comes first where lines show that it changed. Each entry keeps a token.
func TestRecordedClearing(t *testing.T) {
	micro := traces.Event{Kind: traces.EventMicrocompact, Cleared: []int32{2, 3}}
	for _, tc := range []struct {
		kind  traces.EventKind
		saved int32
		want  []int32
		cut   int32
		head  bool
	}{
		{traces.EventMicrocompact, 0, []int32{1000, 100, 100, 200, 300, 50}, 0, false},
		{traces.EventMicrocompact, 150, []int32{1000, 100, 12, 138, 300, 50}, 0, false},
		{traces.EventMicrocompact, 276, []int32{1000, 100, 12, 12, 300, 50}, 0, false},
		{traces.EventMicrocompact, 500, []int32{1000, 100, 1, 1, 98, 50}, 0, false},
		{traces.EventMicrocompact, 600, []int32{1000, 100, 1, 1, 1, 47}, 0, false},
		{traces.EventMicrocompact, 650, []int32{1000, 96, 1, 1, 1, 1}, 0, false},
		{traces.EventShrink, 99, []int32{1000, 100, 1, 200, 300, 50}, 0, false},
		{traces.EventShrink, 690, []int32{1000, 7, 1, 1, 1, 50}, 0, false},
		{traces.EventShrink, 720, []int32{1000, 1, 1, 1, 1, 26}, 0, false},
		{traces.EventShrink, 9000, []int32{1, 1, 1, 1, 1, 1}, 999, false},
		{traces.EventShrink, 99, []int32{901, 100, 100, 200, 300, 50}, 99, true},
		{traces.EventShrink, 1100, []int32{1, 100, 1, 198, 300, 50}, 999, true},
	} {
		k := newTalk()
		var blocks []prompt.Block
		for i, n := range []int32{1000, 100, 100, 200, 300, 50} {
			kind := []prompt.Kind{prompt.KindSystem, prompt.KindPrompt, prompt.KindToolResult, prompt.KindToolResult, prompt.KindToolResult, prompt.KindPrompt}[i]
			blocks = append(blocks, prompt.Block{Kind: kind, Tokens: n})
		}
		k.Context.Reset(blocks, &k.arena)
		for i := range blocks {
			k.Context.Append(prompt.Ref(i))
		}
		k.InputAt = 5
		ev := micro
		ev.Kind, ev.Saved = tc.kind, tc.saved
		ev.Head = tc.head
		k.Events = []traces.Event{ev}
		l := layer(t, "recorded: {placeholder: 12}").(*recorded)
		l.BeforeRequest(&k.Turn)
		if got := k.sizes(0); !slices.Equal(got, tc.want) || l.cut != tc.cut {
			t.Errorf("%v of %d: %v, %d of the head; want %v, %d", tc.kind, tc.saved, got, l.cut, tc.want, tc.cut)
		}
		if tc.saved == 0 && k.Context.At(2).Form != prompt.FormVerbatim {
			t.Errorf("%v of nothing clears a result", tc.kind)
		}
	}
}

// The price of a compaction in prices of an input token, at 100,000 tokens behind a head of
// 16,000, of which 12,000 come back: output of 4,900 tokens at 5 is 24,500. A fork reads what
// the request would read; a call under a head of its own pays for its whole input. A cold cache writes.
func TestRentAndPrice(t *testing.T) {
	for _, tc := range []struct {
		what string
		ttl  exchange.TTL
		warm bool
		way  Way
		want float64
	}{
		{"fork", exchange.TTL5m, true, wayFork, 24_500 + 1_600 + 15_000},
		{"streaming", exchange.TTL5m, true, wayStreaming, 100_000 + 24_500 + 1_600 + 15_000 - 10_000},
		{"small model", exchange.TTL5m, true, waySmallModel, 100_000 + 24_500 + 1_600 + 15_000 - 10_000},
		{"cold fork", exchange.TTL5m, false, wayFork, 24_500 + 20_000 + 15_000},
		{"fork of an hour", exchange.TTL1h, true, wayFork, 24_500 + 1_600 + 24_000},
		{"cold fork of an hour", exchange.TTL1h, false, wayFork, 24_500 + 32_000 + 24_000},
	} {
		k, p := newTalk(), defaultRent()
		p.Enabled = true
		k.TTL, k.Usage = tc.ttl, prompt.Usage{Read: 1}
		if !tc.warm {
			k.Idle = 2 * 3600e9
		}
		if got := p.price(&k.Turn, 100_000, 16_000, 12_000, tc.way); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
		// Rent is a tenth of what stands above head and what would come back.
		for size, want := range map[int64]float64{28_000: 0, 28_010: 1, 27_000: 0} {
			r := rent{}
			k.Reading.Values[MeasureClientTokens] = size
			if p.due(&k.Turn, &r, tc.way) || r.paid != want {
				t.Errorf("%s: rent of %v at %d, want %v", tc.what, r.paid, size, want)
			}
		}
		k.Reading.Values[MeasureClientTokens] = 100_000
		for paid, want := range map[float64]bool{tc.want: true, tc.want - 1: false} {
			if r := (rent{paid: paid}); p.due(&k.Turn, &r, tc.way) != want {
				t.Errorf("%s: due at %v of %v: %v", tc.what, paid, tc.want, !want)
			}
		}
	}
	k, p := newTalk(), defaultRent()
	p.Enabled = true
	k.Reading.Values[MeasureClientTokens] = 28_000
	if p.due(&k.Turn, &rent{paid: 1e9}, wayFork) {
		t.Error("a compaction is due that would save nothing")
	}
	r := rent{paid: 9}
	r.noteSize(&k.Turn) // reminders and prompt: 2,500
	k.Reading.Values[MeasureClientTokens] = 16_000 + 2_500 + 100
	if p.due(&k.Turn, &r, wayFork); r.paid != 10 || r.behind != 2500 {
		t.Errorf("%v paid at %v behind a compaction, want a tenth of 100 at 2,500", r.paid, r.behind)
	}
}

// Whole rounds go from the front until the context of 28,500 tokens holds no more than half
// of the window, or of the trigger; the first prompt and the newest round stay.
func TestTruncatedToItsTarget(t *testing.T) {
	for window, rest := range map[int64]int{57_000: 10, 56_998: 9, 42_000: 2, 41_000: 2, 40_998: 1, 2_000: 1} {
		l, k := layer(t, "truncate-oldest: {trigger: {fixed: 28000}, target: 0.5}"), rounds(10, 900)
		k.Reading.Window = window
		out := l.(PromptTooLong).PromptTooLong(&k.Turn)
		if got, want := k.sizes(3), append([]int32{500}, slices.Repeat([]int32{100, 900}, rest)...); !slices.Equal(got, want) || (out.Verdict == Done) != (rest < 10) {
			t.Errorf("window of %d: %v, %+v; want %v", window, got, out, want)
		}
	}
	l, k := layer(t, "truncate-oldest: {trigger: {fixed: 28000}, target: 0.75}"), rounds(10, 900)
	if l.(BeforeRequest).BeforeRequest(&k.Turn); k.Context.Tokens() != 20_500 {
		t.Errorf("%d tokens, want 20,500 of the 21,000 that are three quarters of the trigger", k.Context.Tokens())
	}
	k = newTalk()
	if out := l.(PromptTooLong).PromptTooLong(&k.Turn); out.Verdict != Declined {
		t.Errorf("a context without a response: %+v", out)
	}
}

// What a recording took from the head comes back behind its compaction.
func TestRecordedHeadComesBack(t *testing.T) {
	k := rounds(3, 900)
	k.Blocks = []prompt.Block{{Tokens: 1000}}
	k.Events = []traces.Event{{Kind: traces.EventCompact, Summary: traces.Span{To: 1}, Kept: 5000}}
	l := layer(t, "recorded: {}").(*recorded)
	l.cut = 70
	begin(t, l, k)
	l.IntentResult(&k.Turn, &prompt.Result{})
	if got, want := k.sizes(2), []int32{2000, 1000, 2070}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Limits that are the same contradict nothing.
func TestEqualLimits(t *testing.T) {
	for _, text := range []string{
		"session-memory: {trigger: {fixed: 1000}, keep: {min_tokens: 40000, max_tokens: 40000}}",
		"session-memory: {trigger: {fixed: 1000}, memory: {section: 12000, total: 12000}}",
		"server-hint: {target_tokens_saved: 5000, floor: 5000}",
	} {
		layer(t, text)
	}
}

// From 2.1.153 on the summary call of an automatic compaction is not sent the newest round: the last response and the results of its
// calls. One by hand is sent all, and so were those of earlier versions (2026-11-27).
func TestNewestRoundIsNotSent(t *testing.T) {
	for _, tc := range []struct {
		version string
		manual  bool
		omitted int32
	}{
		{"2.1.152", false, 0}, {"2.1.153", false, 2}, {"2.1.332", false, 2}, {"2.1.332", true, 0},
	} {
		k := rounds(3, 900)
		k.Agent, k.Version, k.Events = facts.ClaudeCode, tc.version, []traces.Event{{Kind: traces.EventCompact, Manual: tc.manual}}
		in := begin(t, layer(t, "recorded: {}"), k)
		if got := int32(k.Context.Len()) - in.To; got != tc.omitted {
			t.Errorf("%s, by hand %v: %d entries are not sent, want %d", tc.version, tc.manual, got, tc.omitted)
		}
	}
}
