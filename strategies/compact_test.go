package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// plain is a full compact that restores nothing and writes nothing around the
// summary; tests add what they are about.
const plain = `full-compact: {trigger: {fixed: 1}, summary: {header: 0, pointer: 0, continuation: 0},
      attachments: {files: {count: 0}, skills: {each: 0}, plan: false, plan_mode: 0, agent_status: 0}`

func rounds(n int, result int32) *talk {
	k := newTalk()
	for range n {
		k.round("Bash", "", result)
	}
	return k
}

// begin starts a compaction and returns the first call asked for.
func begin(t *testing.T, l Layer, k *talk) prompt.Intent {
	t.Helper()
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Pending {
		t.Fatalf("%+v, want a call", out)
	}
	in, _ := k.Intent()
	return in
}

// answer gives the call a result and returns the next call, if there is one.
func answer(l Layer, k *talk, failed string, excess int64) (prompt.Intent, Outcome) {
	r := prompt.Result{Answer: prompt.Answer{Failed: failed, Excess: excess}}
	if failed == "" {
		r.Answer = prompt.Answer{Summary: 3000, Bytes: 12000, Output: 4800, Digest: prompt.Digest{Hi: 9}}
		r.Usage = prompt.Usage{Read: 100_000, Write5m: 5_000, Output: 4800}
	}
	out := l.(IntentResult).IntentResult(&k.Turn, &r)
	in, _ := k.Intent()
	return in, out
}

// How each way makes its call (002:100-104; 001:1133-1139).
func TestWaysOfTheCall(t *testing.T) {
	for text, want := range map[string]prompt.Intent{
		plain + ", call: [fork]}": {Way: "fork", SkipCacheWrite: true},
		plain + ", call: [fork], fork: {strip: true, skip_cache_write: false}}": {Way: "fork",
			Strip: ask.StripMedia | ask.StripListings},
		plain + ", call: [streaming]}": {Way: "streaming", Own: true, Head: 3000, MaxOutput: 20000,
			Strip: ask.StripMedia | ask.StripListings},
		plain + ", call: [small-model]}": {Way: "small-model", Model: "claude-haiku-4-5", Own: true, Head: 20, MaxOutput: 20000,
			Strip: ask.StripMedia | ask.StripListings | ask.StripThinking},
	} {
		k := rounds(10, 1000)
		want.Source, want.From, want.To, want.Instruction = "compact", 3, int32(k.Context.Len()), 1500
		want.Summarised = 500 + 10*1100
		if got := begin(t, layer(t, text), k); got != want {
			t.Errorf("%s:\n%+v, want\n%+v", text, got, want)
		}
	}
}

// Summaries chain: the second one is made of the first, 3,000, and of the two rounds
// behind it, 1,100 each.
func TestSummariesChain(t *testing.T) {
	l, k := layer(t, plain+"}"), rounds(10, 1000)
	begin(t, l, k)
	answer(l, k, "", 0)
	if b := k.Boundary(); b.Chained {
		t.Error("the first compaction is taken for a recompaction")
	}
	k.round("Bash", "", 1000)
	k.round("Bash", "", 1000)
	if in := begin(t, l, k); in.From != 3 || k.Context.At(3).Kind != prompt.KindSummary || in.Summarised != 3000+2*1100 {
		t.Errorf("summarises %d tokens from %d on, want 5,200 from the summary on", in.Summarised, in.From)
	}
	answer(l, k, "", 0)
	if b := k.Boundary(); !b.Chained || b.Summarised != 5 {
		t.Errorf("boundary %+v, want a recompaction of 5 messages", b)
	}
}

// The fork is not repeated: whatever it fails by, the streaming call follows.
// That is made at most three times (004, K97: 2 retries), and then
// the compaction has failed once.
func TestFallback(t *testing.T) {
	for _, reason := range []string{ask.FailToolCall, ask.FailEmpty, ask.FailAPI, ask.FailTooLong} {
		l, k := layer(t, plain+"}"), rounds(10, 1000)
		before := k.sizes(0)
		begin(t, l, k)
		in, _ := answer(l, k, reason, 0)
		if in.Way != "streaming" || in.Ordinal != 1 {
			t.Errorf("after %s: %+v, want streaming", reason, in)
		}
		for n := range 2 {
			if in, _ = answer(l, k, ask.FailEmpty, 0); in.Way != "streaming" || int(in.Ordinal) != n+2 {
				t.Errorf("retry %d after %s: %+v", n+1, reason, in)
			}
		}
		if _, out := answer(l, k, ask.FailEmpty, 0); out != (Outcome{Failed, ask.FailEmpty}) {
			t.Errorf("%+v, want failed", out)
		}
		if got := l.(*compact).failures; got != 1 || !slices.Equal(before, k.sizes(0)) {
			t.Errorf("%d failures, want 1; context %v", got, k.sizes(0))
		}
	}
	l, k := layer(t, plain+"}"), rounds(10, 1000)
	h := compactionHosted(k)
	begin(t, l, k)
	answer(l, k, ask.FailToolCall, 0)
	if _, out := answer(l, k, "", 0); out.Verdict != Done {
		t.Fatalf("%+v", out)
	}
	if b := k.Boundary(); b.Calls != 2 || h.counts[measures.CompactionFallbacks] != 1 || h.counts[measures.CompactionRetries] != 0 {
		t.Errorf("boundary %+v, %v counted, want 2 calls and 1 fallback", b, h.counts)
	}
}

// The three failures in a row that stop automatic compaction are compactions,
// not calls; one success resets them; those by hand neither count nor are
// stopped. The trip is counted once.
func TestBreakerCounts(t *testing.T) {
	l, k := layer(t, plain+", call: [streaming], streaming: {retries: 0}, manual: true}"), rounds(10, 1000)
	h := compactionHosted(k)
	fail := func() {
		begin(t, l, k)
		answer(l, k, ask.FailAPI, 0)
	}
	fail()
	fail()
	begin(t, l, k)
	answer(l, k, "", 0)
	k.Boundary()
	k.round("Bash", "", 1000)
	k.Events = []traces.Event{{Kind: traces.EventCompact, Manual: true}}
	for range 5 {
		fail()
	}
	k.Events = nil
	for range 3 {
		fail()
	}
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Reason != "stopped by the breaker" {
		t.Errorf("after three failures: %+v", out)
	}
	if h.counts[measures.BreakerTrips] != 1 {
		t.Errorf("%d trips counted, want 1", h.counts[measures.BreakerTrips])
	}
	k.Events = []traces.Event{{Kind: traces.EventCompact, Manual: true}}
	begin(t, l, k)
}

// A prompt that is too long drops the oldest API rounds until the gap is covered, or a fifth of
// the rounds, at least one, when the gap cannot be read (002:128). The first round is the prompt
// of 500 with a response of 100 and its result of 900; every other round weighs 1,000.
func TestDropOldest(t *testing.T) {
	const first, round = 500 + 1000, 1000
	for name, tc := range map[string]struct {
		n       int
		text    string
		gap     int64
		dropped int32
	}{
		"the gap is covered by the first round":  {10, "", first, first},
		"one token more takes another":           {10, "", first + 1, first + round},
		"the gap decides, however many it takes": {10, "", first + 5*round, first + 5*round},
		"unknown gap, a fifth of ten":            {10, "", 0, first + round},
		"unknown gap, a fifth of fourteen":       {14, "", 0, first + round},
		"unknown gap, at least one":              {3, "", 0, first},
		"unreadable gap":                         {10, ", prompt_too_long: {gap_readable: false}", 7000, first + round},
		"another share":                          {10, ", prompt_too_long: {share: 0.5}", 0, first + 4*round},
	} {
		l, k := layer(t, plain+", call: [streaming]"+tc.text+"}"), rounds(tc.n, 900)
		all := begin(t, l, k).Summarised
		in, out := answer(l, k, ask.FailTooLong, tc.gap)
		if out.Verdict != Pending || all-in.Summarised != tc.dropped {
			t.Errorf("%s: dropped %d (%+v), want %d", name, all-in.Summarised, out, tc.dropped)
		}
		// A response leads now: a marker stands before it (002:131).
		if in.Lead != 12 || !k.Context.At(int(in.From)).Kind.Assistant() {
			t.Errorf("%s: marker of %d tokens ahead of %v", name, in.Lead, k.Context.At(int(in.From)).Kind)
		}
	}
}

// Every retry begins with the first way again, and after three the compaction
// has failed (002:122: MAX_PTL_RETRIES).
func TestPromptTooLongRetries(t *testing.T) {
	l, k := layer(t, plain+"}"), rounds(50, 900)
	in := begin(t, l, k)
	var ways []string
	var out Outcome
	for in.Way != "" {
		ways = append(ways, in.Way)
		in, out = answer(l, k, ask.FailTooLong, 1)
	}
	want := []string{"fork", "streaming", "fork", "streaming", "fork", "streaming", "fork", "streaming"}
	if !slices.Equal(ways, want) || out != (Outcome{Failed, ask.FailTooLong}) {
		t.Errorf("%v, %+v; want %v", ways, out, want)
	}
}

// When all rounds would have to go there is nothing left to summarise
// (002:132).
func TestNothingLeftToSummarise(t *testing.T) {
	l, k := layer(t, plain+", call: [streaming]}"), rounds(5, 900)
	begin(t, l, k)
	if _, out := answer(l, k, ask.FailTooLong, 1_000_000); out.Reason != "prompt too long, and nothing left to summarise" || out.Verdict != Failed {
		t.Errorf("%+v", out)
	}
}

// The bug of 002:130: with its own marker left in as the oldest group, a fifth
// of few groups drops the marker alone, and no retry makes progress.
func TestMarkerAsGroupStalls(t *testing.T) {
	for text, wants := range map[string][]int32{
		"strip_marker: true":  {6500, 5000, 4000, 3000},
		"strip_marker: false": {6500, 5000, 5000, 5000},
	} {
		l, k := layer(t, plain+", call: [streaming], prompt_too_long: {"+text+"}}"), rounds(6, 900)
		got := []int32{begin(t, l, k).Summarised}
		for range 3 {
			in, _ := answer(l, k, ask.FailTooLong, 0)
			got = append(got, in.Summarised)
		}
		if !slices.Equal(got, wants) {
			t.Errorf("%s: %v, want %v", text, got, wants)
		}
	}
}

// [summary][attachments][hooks] takes the place of every message; the prefix
// stays (002:133-142). The summary carries header, pointer and, when automatic,
// the continuation text (002:199).
func TestMessageSet(t *testing.T) {
	l := layer(t, `full-compact: {trigger: {fixed: 1}, hooks: {pre_compact: 70, session_start: 80},
      attachments: {reminders: 60, tool_delta: 50, agent_delta: 40, mcp_delta: 30, resend_skill_listing: true}}`)
	k := newTalk()
	k.round("Read", "/src/a.go", 700)
	k.round("TodoWrite", "", 20)
	if in := begin(t, l, k); in.Instruction != 1570 {
		t.Errorf("instruction of %d tokens, want 1500 and 70 of the hooks", in.Instruction)
	}
	before := int64(k.Context.Tokens())
	answer(l, k, "", 0)
	b := k.Boundary()
	if got, want := k.sizes(3), []int32{3000 + 30 + 60 + 45, 700, 50, 40, 30, 4000, 60, 80}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if k.Context.At(3).Kind != prompt.KindSummary || k.InputAt != k.Context.Len() {
		t.Errorf("%v leads, the input is at %d of %d", k.Context.At(3).Kind, k.InputAt, k.Context.Len())
	}
	if want := (Boundary{Kind: BoundaryCompact, Before: before, After: 18000 + 8095, Reported: 18000 + 8095, Restored: 1, Calls: 1,
		Summarised: 5}); b != want {
		t.Errorf("boundary %+v, want %+v", b, want)
	}
}

// Version 1 keeps the analysis (001:687) and takes the usage of the summary
// call for the size afterwards (001:1181): the boundary carries both.
func TestAnalysisAndReport(t *testing.T) {
	l, k := layer(t, plain+", analysis: keep, report: call}"), rounds(10, 1000)
	begin(t, l, k)
	answer(l, k, "", 0)
	if b := k.Boundary(); b.After != 18000+4800 || b.Reported != 105_000+4800 {
		t.Errorf("after %d, reported %d; want 22800 and 109800", b.After, b.Reported)
	}
}

// A compaction by hand comes ahead of the round's own input, which stays; the
// results of calls before it go into the summary with them. No continuation
// text.
func TestManual(t *testing.T) {
	l := layer(t, "full-compact: {trigger: {fixed: 190000}, manual: true, attachments: {files: {count: 0}}}")
	k := rounds(5, 900)
	k.use("Bash", "", 100)
	at := k.Context.Len()
	k.add(prompt.KindToolResult, 300).Call = k.calls
	k.add(prompt.KindPrompt, 444)
	k.InputAt = at
	k.Events = []traces.Event{{Kind: traces.EventCompact, Manual: true}}
	if in := begin(t, l, k); int(in.To) != at+1 {
		t.Errorf("summarises up to %d, want %d", in.To, at+1)
	}
	answer(l, k, "", 0)
	if got, want := k.sizes(3), []int32{3090, 444}; !slices.Equal(got, want) || k.InputAt != 4 {
		t.Errorf("%v with the input at %d, want %v at 4", got, k.InputAt, want)
	}
	if b := k.Boundary(); !b.Manual {
		t.Error("the boundary does not say manual")
	}
	// Without the switch, or when the client did it by itself, nothing happens.
	k.Events[0].Manual = false
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Declined {
		t.Errorf("an automatic one was repeated: %+v", out)
	}
}

// Sub-agents and the automatic trigger can be switched off.
func TestSwitches(t *testing.T) {
	for text, want := range map[string]Outcome{
		", subagents: false}": {Declined, "sub-agents do not compact"},
		", auto: false}":      {Declined, "automatic compaction is off"},
	} {
		for _, kind := range []traces.ThreadKind{traces.ThreadAgent, traces.ThreadOrphan} {
			l, k := layer(t, plain+text), rounds(10, 1000)
			k.Kind = kind
			if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out != want {
				t.Errorf("%s: %+v, want %+v", text, out, want)
			}
		}
	}
	for text, verdict := range map[string]Verdict{", reactive: true}": Pending, ", reactive: false}": Declined} {
		l, k := layer(t, plain+text), rounds(10, 1000)
		if out := l.(PromptTooLong).PromptTooLong(&k.Turn); out.Verdict != verdict {
			t.Errorf("%s: %+v", text, out)
		}
	}
}

// Without the bar on its own source a summary call above the trigger begins with
// a compaction (002:28); that the two wait for each other ends it for good.
func TestUnbarredSummaryCall(t *testing.T) {
	for text, compacts := range map[string]bool{"}": false, ", barred: []}": true} {
		l, k := layer(t, plain+text), rounds(10, 1000)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if in, asked := k.Intent(); !asked || in.Compacts != compacts {
			t.Errorf("%s: asked %v, %+v", text, asked, in)
		}
	}
	l, k := layer(t, plain+", call: [fork, streaming]}"), rounds(10, 1000)
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	k.Intent()
	r := prompt.Result{Answer: prompt.Answer{Failed: ask.FailDeadlock}}
	if out := l.(IntentResult).IntentResult(&k.Turn, &r); out != (Outcome{Failed, ask.FailDeadlock}) {
		t.Errorf("%+v", out)
	}
}

// Nothing to compact: a thread without messages (001:1122).
func TestNotEnoughMessages(t *testing.T) {
	l, k := layer(t, plain+"}"), newTalk()
	k.Context.Truncate(3, prompt.CauseRewind)
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out != (Outcome{Failed, "not enough messages to compact"}) {
		t.Errorf("%+v", out)
	}
}
