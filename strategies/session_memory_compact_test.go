package strategies

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// The reasons to leave the compaction to the next layer, in order (002,
// session memory compaction; 004, decision tree).
func TestSessionMemoryRefusals(t *testing.T) {
	for text, tc := range map[string]struct {
		do     func(*sessionMemory, *talk)
		reason string
	}{
		", compact: false":   {nil, "disabled"},
		"":                   {func(l *sessionMemory, _ *talk) { l.begun = false }, "no memory file"},
		", breaker: 1":       {func(l *sessionMemory, _ *talk) { l.notes = notes{} }, "the memory is an empty template"},
		", breaker: 2":       {func(_ *sessionMemory, k *talk) { k.Context.Truncate(9, prompt.CauseRewind) }, "the last summarised message is not there"},
		", breaker: 0":       {func(l *sessionMemory, _ *talk) { l.params.Trigger.Fixed = 11_000 }, "the result would reach the trigger again"},
		", stale_seconds: 5": {nil, ""},
	} {
		l, k, h := remembered(t, notesOnly+text+"}", 10, 12)
		if tc.do != nil {
			tc.do(l.(*sessionMemory), k)
		}
		out := l.(BeforeRequest).BeforeRequest(&k.Turn)
		if out.Reason != tc.reason || (out.Verdict == Done) != (tc.reason == "") {
			t.Errorf("%s: %+v, want %q", text, out, tc.reason)
		}
		if tc.reason != "" && h.reasons["session-memory: "+tc.reason] != 1 {
			t.Errorf("%s: counted %v", text, h.reasons)
		}
	}
}

// A compaction waits for an update under way, at most 15 s, and not for one that
// began more than 60 s ago (004: q97, N97).
func TestSessionMemoryWaits(t *testing.T) {
	const s = int64(1e9)
	for age, want := range map[int64]int64{0: 15, 40: 15, 60: 15, 61: 0} {
		l, k, _ := remembered(t, notesOnly+"}", 10, 12)
		if _, out := reply(l, k, 0); out.Reason != "an update has begun" {
			t.Fatalf("%+v", out)
		}
		k.Now = age * s
		out := l.(BeforeRequest).BeforeRequest(&k.Turn)
		if until := k.Awaited(); (out.Verdict == Waiting) != (want > 0) || want > 0 && until != (age+want)*s {
			t.Errorf("after %d s: %+v until %d s, want %d more", age, out, until/s, want)
		}
		if want == 0 {
			continue
		}
		// Woken early it waits on; at the end of the wait it takes the memory as it is.
		k.Now += 14 * s
		if out = l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Waiting || k.Awaited() != (age+want)*s {
			t.Errorf("woken early: %+v", out)
		}
		k.Now += s
		if out = l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
			t.Errorf("behind the wait: %+v", out)
		}
	}
	// An update that ends meanwhile is taken.
	l, k, _ := remembered(t, notesOnly+"}", 10, 12)
	reply(l, k, 0)
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
		t.Errorf("behind the update: %+v", out)
	}
}

// What stays: everything the memory does not cover; when that is too little,
// older messages until 10,000 tokens and 5 messages with text stay, or 40,000
// tokens. Each round beyond the prompt of 200 is a response of 200
// tokens with text, and a result of 800; the rounds ahead are 1,000 without text.
func TestSessionMemoryKeepRange(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		more   int
		tokens int64
		texts  int
	}{
		"enough of both":                 {"", 12, 12_200, 13},
		"already 40,000: all of it":      {"", 60, 60_200, 61},
		"too few tokens":                 {"", 5, 5_200 + 100 + 5*1000, 7},
		"too few texts":                  {", keep: {min_tokens: 1000}", 2, 2_200 + 100 + 10*1000 + 500, 5},
		"too few texts, up to the limit": {", keep: {min_tokens: 1000, max_tokens: 5000}", 2, 2_200 + 100 + 3*1000, 4},
	} {
		l, k, _ := remembered(t, notesOnly+tc.text+"}", 10, tc.more)
		from := l.(*sessionMemory).keepFrom(k.Context, k.Context.Index(l.(*sessionMemory).notes.last)+1)
		texts := 0
		for i := from; i < k.Context.Len(); i++ {
			if isText(k.Context.At(i).Kind) {
				texts++
			}
		}
		if got := tokensBetween(k.Context, from, k.Context.Len()); got != tc.tokens || texts != tc.texts {
			t.Errorf("%s: keeps %d tokens, %d texts; want %d and %d", name, got, texts, tc.tokens, tc.texts)
		}
	}
}

// The last boundary is the floor: the summary at position 3 does not stay, however
// little the two rounds behind it weigh.
func TestSessionMemoryFloor(t *testing.T) {
	l, k := layer(t, notesOnly+"}").(*sessionMemory), newTalk()
	k.Context.Truncate(3, prompt.CauseRewind)
	k.add(prompt.KindSummary, 3000)
	k.round("Bash", "", 900)
	k.round("Bash", "", 900)
	if from := l.keepFrom(k.Context, k.Context.Len()); from != 4 {
		t.Errorf("keeps messages from position %d on, want 4", from)
	}
}

// [memory][kept][attachments][hooks]: the kept messages are the messages that were there, the
// memory leads, files that kept messages show do not come back.
func TestSessionMemoryMessageSet(t *testing.T) {
	l, k := layer(t, `session-memory: {trigger: {fixed: 32000}, count: true, keep: {min_tokens: 0, min_texts: 0}, hooks: {session_start: 80, post_compact: 70},
      attachments: {skills: {each: 0}, plan_mode: 0, agent_status: 0}}`), newTalk()
	h := compactionHosted(k)
	k.round("Read", "/src/a.go", 6000)
	k.round("Read", "/src/b.go", 4000)
	reply(l, k, 0)
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	k.add(prompt.KindPrompt, 200)
	k.round("Read", "/src/b.go", 4000)
	k.InputAt = k.Context.Len() - 1
	first, last := k.Context.At(k.Context.Len()-3).ID, k.Context.At(k.Context.Len()-1).ID
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
		t.Fatalf("%+v", out)
	}
	// 500 + 6,100 + 4,100 + 100 tokens make 540 of memory, 378 tokens in equal
	// sections of 42; header 30, pointer 60, continuation 45.
	if got, want := k.sizes(3), []int32{300 + 162 + 9*42 + 135, 200, 100, 4000, 5000, 80, 70}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	b := k.Boundary()
	if b.PreservedFrom != first || b.PreservedTo != last || k.Context.At(4).ID != first || b.Restored != 1 || b.Summarised != 6 {
		t.Errorf("%+v, want %d to %d preserved", b, first, last)
	}
	if k.InputAt != 6 || h.counts[measures.RestoredFiles] != 1 {
		t.Errorf("the input is at %d, %d files counted", k.InputAt, h.counts[measures.RestoredFiles])
	}
}

// Three refusals that no compaction follows stop session memory with the full
// compaction; any success lets both begin anew.
func TestSharedBreaker(t *testing.T) {
	l, k, _ := remembered(t, notesOnly+"}", 10, 12)
	full := layer(t, plain+", call: [streaming], streaming: {retries: 0}}")
	l.(*sessionMemory).begun = false
	for range 3 {
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		begin(t, full, k)
		answer(full, k, ask.FailAPI, 0)
	}
	stopped := Outcome{Declined, "stopped by the breaker"}
	if a, b := l.(BeforeRequest).BeforeRequest(&k.Turn), full.(BeforeRequest).BeforeRequest(&k.Turn); a != stopped || b != stopped {
		t.Errorf("%+v and %+v, want both stopped", a, b)
	}
	for _, layer := range []Layer{l, full} {
		layer.(AfterCompaction).AfterCompaction(&k.Turn)
	}
	l.(*sessionMemory).begun = true
	begin(t, full, k)
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
		t.Errorf("%+v", out)
	}
}

// Whatever was said: no result without its call, no response in two, and what
// stays is never less than what the memory does not cover.
func TestLegalCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk()
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			if rapid.Bool().Draw(rt, "prompt") {
				k.add(prompt.KindPrompt, 100)
			}
			k.add(prompt.KindThinking, 100)
			calls := rapid.IntRange(0, 3).Draw(rt, "calls")
			for range calls {
				k.use("Bash", "", 100)
			}
			answerCalls(k, calls, 500)
		}
		at := rapid.IntRange(4, k.Context.Len()).Draw(rt, "at")
		cut := legalCut(k.Context, at, 3)
		if cut > at || cut < 3 {
			rt.Fatalf("cut at %d of %d", cut, at)
		}
		if cut > 3 && cut < k.Context.Len() && k.Context.At(cut).Kind.Assistant() && k.Context.At(cut-1).Kind.Assistant() {
			rt.Fatalf("cut at %d parts a response", cut)
		}
		if strandedCall(k.Context, cut, 3, k.Context.Len()) != cut {
			rt.Fatalf("cut at %d parts a call from its result", cut)
		}
		if legalCut(k.Context, cut, 3) != cut {
			rt.Fatalf("cut at %d is not legal itself", cut)
		}
	})
}

// 001:1002-1016 and 002:22, padded by a third: a text of 4,000 bytes with one image, and
// with three; 21 bytes of input under the name Bash, and under one that the session does not
// list; an image that stands by itself.
func TestSessionMemoryCountsImages(t *testing.T) {
	l := sessionMemory{tools: []string{"", "Bash"}}
	for want, b := range map[int64]prompt.Block{
		4000: {Kind: prompt.KindToolResult, Bytes: 4000, Flags: prompt.Flags(0).WithImages(1)},
		9334: {Kind: prompt.KindToolResult, Bytes: 4000, Flags: prompt.Flags(0).WithImages(3)},
		8:    {Kind: prompt.KindToolUse, Bytes: 21, Tool: 1},
		7:    {Kind: prompt.KindToolUse, Bytes: 21, Tool: 2},
		2667: {Kind: prompt.KindImage, Bytes: 90_000, Flags: prompt.FlagImage},
	} {
		if got := l.measure(&b).tokens(); got != want {
			t.Errorf("%v of %d bytes: %d tokens, want %d", b.Kind, b.Bytes, got, want)
		}
	}
}
