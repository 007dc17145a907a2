package strategies

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// The message that carries a summary of 3,000 tokens in 12,000 bytes has the client's own
// words around it, four bytes a token; an analysis of 1,800 that stays weighs as many bytes
// as its share of the output. The words that ask to go on are not there when a person asked.
// It is no object of a tool.
func TestSizeOfTheSummaryMessage(t *testing.T) {
	for text, want := range map[string][2]int32{
		"analysis: strip":             {3000 + 60, 12000 + 240},
		"analysis: keep":              {4800 + 60, 12000*4800/3000 + 240},
		"analysis: keep, hand: true":  {4800 + 30, 12000*4800/3000 + 120},
		"analysis: strip, hand: true": {3000 + 30, 12000 + 120},
	} {
		text, hand := strings.CutSuffix(text, ", hand: true")
		text = strings.Replace(plain, "summary: {header: 0, pointer: 0, continuation: 0}", "summary: {header: 10, pointer: 20, continuation: 30}, manual: true, "+text, 1) + "}"
		l, k := layer(t, text), rounds(10, 900)
		if hand {
			byHand(k)
		}
		begin(t, l, k)
		answer(l, k, "", 0)
		if b := k.Context.BlockAt(3); b.Tokens != want[0] || b.Bytes != want[1] || b.Object != -1 {
			t.Errorf("by hand %v: %d tokens in %d bytes, object %d; want %v of none", hand, b.Tokens, b.Bytes, b.Object, want)
		}
	}
}

// Behind a compaction come back the reminders of 2,000 tokens and the hooks of 80 and 70, as
// they are, and a drawn remainder: what recordings have beyond.
func TestRemainderBehindACompaction(t *testing.T) {
	for draw, want := range map[float64][]int32{
		0:   {2000, 3000, 80, 70, 444},
		0.5: {2000, 3000, 80, 70, 5000, 444},
		1:   {2000, 3000, 80, 70, 9000, 444},
	} {
		l := layer(t, strings.Replace(plain, "full-compact: {", "full-compact: {remainder: true, manual: true, hooks: {session_start: 80, post_compact: 70}, ", 1)+"}")
		k := rounds(10, 900)
		in := k.Context.Len()
		k.add(prompt.KindPrompt, 444)
		k.InputAt = in
		k.Profile = &profile.Profile{Switches: profile.Switches{Behind: true}}
		k.Profile.Compact = profile.Compaction{N: 20, Remainder: []float64{0, 5000, 9000}}
		h := compactionHosted(k)
		h.draw = draw
		byHand(k)
		begin(t, l, k)
		answer(l, k, "", 0)
		if got := k.sizes(2); !slices.Equal(got, want) {
			t.Errorf("a draw of %v: %v, want %v", draw, got, want)
		}
	}
	for name, p := range map[string]*profile.Profile{"no profile": nil, "a profile that does not say": {}} {
		_, k := layer(t, plain+"}"), rounds(10, 900)
		k.Profile = p
		l := layer(t, strings.Replace(plain, "full-compact: {", "full-compact: {remainder: true, ", 1)+"}")
		begin(t, l, k)
		answer(l, k, "", 0)
		if got := k.sizes(2); !slices.Equal(got, []int32{2000, 3000}) {
			t.Errorf("%s: %v, want reminders and summary as they are", name, got)
		}
	}
}

// While a compaction lasts the client signals every 30 s: three times in 95 s, and four in
// 120 s; without an interval never.
func TestSignalsOfACompaction(t *testing.T) {
	for text, want := range map[string]int64{"95s 30": 3, "120s 30": 4, "29s 30": 0, "95s 0": 0} {
		lasts, every, _ := strings.Cut(text, " ")
		l, k := layer(t, plain+", signal_seconds: "+every+"}"), rounds(10, 900)
		h := compactionHosted(k)
		k.Now = int64(time.Hour)
		begin(t, l, k)
		d, err := time.ParseDuration(lasts)
		if err != nil {
			t.Fatal(err)
		}
		k.Now += int64(d)
		answer(l, k, "", 0)
		if h.counts[measures.KeepaliveSignals] != want {
			t.Errorf("%s: %d signals, want %d", text, h.counts[measures.KeepaliveSignals], want)
		}
	}
}

// A context that fits into the window to the last token is a success, and resets the breaker; one
// token more counts as a failure, but not behind a compaction that a person asked for. A
// breaker of 0 stops nothing.
func TestSuccessIsWhatFitsTheWindow(t *testing.T) {
	for _, tc := range []struct {
		window   int64
		by       startedBy
		failures int
	}{
		{18_500 + 10_000, startedByTrigger, 0},
		{18_500 + 9_999, startedByTrigger, 2},
		{18_500 + 9_999, startedByHand, 1},
	} {
		l, k := layer(t, plain+"}").(*compact), rounds(10, 900)
		k.Reading.Window = tc.window
		l.failures, l.call.by = 1, tc.by
		l.AfterCompaction(&k.Turn)
		if l.failures != tc.failures {
			t.Errorf("window of %d: %d failures, want %d", tc.window, l.failures, tc.failures)
		}
	}
	for window, want := range map[int64]int{16_000 + 2_000 + 3_000: 0, 16_000 + 2_000 + 2_999: 1} {
		l, k := layer(t, plain+"}").(*compact), rounds(10, 900)
		begin(t, l, k)
		k.Reading.Window, l.failures = window, 1
		answer(l, k, "", 0)
		if l.failures != want {
			t.Errorf("a summary in a window of %d: %d failures, want %d", window, l.failures, want)
		}
	}
	// A summary of 3,000 tokens in the place of 500 and two rounds of 110 enlarges the context: the breaker counts it.
	for result, want := range map[int32]int{10: 2, 3000: 0} {
		l, k := layer(t, plain+"}").(*compact), rounds(2, result)
		begin(t, l, k)
		l.failures = 1
		answer(l, k, "", 0)
		if l.AfterCompaction(&k.Turn); l.failures != want {
			t.Errorf("a summary for results of %d: %d failures, want %d", result, l.failures, want)
		}
	}
	if l := layer(t, plain+", breaker: 0}").(*compact); l.stopped() {
		t.Error("a breaker of 0 stops")
	}
}

// The pivot counts messages: a response of a thought, a text and a call is one.
func TestPivotCountsMessages(t *testing.T) {
	k := newTalk()
	for range 4 {
		k.add(prompt.KindThinking, 10)
		k.add(prompt.KindText, 10)
		k.round("Bash", "", 10)
	}
	// A prompt and four times response and result: nine messages. The first is entry 3,
	// the third response entry 12.
	p := &partialParams{Pivot: 0.6} // message 5: the third response
	if got := p.cut(k.Context, 3, k.Context.Len()); got != 12 {
		t.Errorf("the pivot is entry %d, want 12", got)
	}
}

// A round ends where the context does, whether with a response or with a prompt.
func TestRoundAtTheEnd(t *testing.T) {
	k := rounds(1, 900)
	k.add(prompt.KindText, 10)
	if got := nextRound(k.Context, 5); got != 7 {
		t.Errorf("behind the result the round ends at %d, want 7", got)
	}
	k.add(prompt.KindPrompt, 10)
	if got := nextRound(k.Context, 7); got != 8 {
		t.Errorf("the last prompt's round ends at %d, want 8", got)
	}
}

// A fifth of eleven rounds is two, the first with the prompt of 500. Of the nine that are
// left and the marker it is two groups: the marker, and one round.
func TestMarkerIsAGroupOfTen(t *testing.T) {
	l, k := layer(t, plain+", call: [streaming], prompt_too_long: {strip_marker: false}}"), rounds(11, 900)
	all := begin(t, l, k).Summarised
	first, _ := answer(l, k, ask.FailTooLong, 0)
	if in, _ := answer(l, k, ask.FailTooLong, 0); all-first.Summarised != 2500 || first.Summarised-in.Summarised != 1000 {
		t.Errorf("%d, then %d, then %d tokens; want 2,500 gone, then 1,000", all, first.Summarised, in.Summarised)
	}
	// A conversation that begins with a response has no marker before its first entry.
	if l, ok := l.(*compact); ok {
		l.call.from = Body(k.Context)
		k.Context.Replace(3, 4, nil, prompt.CauseCompaction)
		if got := l.lead(&k.Turn); got != 0 {
			t.Errorf("a marker of %d tokens leads, want none", got)
		}
	}
}

// What comes back must leave room below the trigger: files of up to 50,000 tokens do not at
// 9,000, whichever way tokens are counted. Rounds are no tokens.
func TestAttachmentsBelowTheTrigger(t *testing.T) {
	for trigger, want := range map[string]int{
		"fixed: 9000": 1, "measure: tokens, fixed: 9000": 1, "measure: rounds, fixed: 9000": 0, "fixed: 50000": 1, "fixed: 50001": 0,
	} {
		l := layer(t, "full-compact: {trigger: {"+trigger+"}, attachments: {files: {count: 5, each: 5000, total: 50000}, skills: {each: 0}, plan: false, plan_mode: 0, agent_status: 0}}")
		if got := l.(*compact).params.ValidateFor(&Reading{Window: 200_000, MaxOutput: 32_000}); len(got) != want {
			t.Errorf("%s: %v, want %d problems", trigger, got, want)
		}
	}
}

// Entries that were logged as one message are one, and no cut parts them, but at the floor.
// A cut goes ahead of the call of any result behind it, be it at the floor; a result whose
// call is nowhere keeps none company.
func TestWhereMessagesPart(t *testing.T) {
	k := newTalk() // entries 0 to 3
	for _, message := range []int32{7, 7, 8, 0, 0} {
		k.add(prompt.KindPrompt, 10).Message = message // entries 4 to 8
	}
	for i, want := range map[int]bool{5: true, 6: false, 7: false, 8: false} {
		if got := sameMessage(k.Context, i); got != want {
			t.Errorf("entries %d and %d are one message: %v", i-1, i, got)
		}
	}
	if a, b := startOfMessage(k.Context, 5, 4), startOfMessage(k.Context, 5, 5); a != 4 || b != 5 {
		t.Errorf("the message of entry 5 starts at %d and, from there on, at %d", a, b)
	}
	k.use("Read", "", 100)                          // 9
	k.add(prompt.KindPrompt, 10)                    // 10
	k.add(prompt.KindToolResult, 10).Call = 99      // 11
	k.add(prompt.KindToolResult, 10).Call = k.calls // 12
	for floor, want := range map[int]int{3: 9, 9: 9, 10: 11} {
		if got := legalCut(k.Context, 11, floor); got != want {
			t.Errorf("from %d on: a cut at %d, want %d", floor, got, want)
		}
	}
}

// A context without entries has no response to end with, and none has a summary.
func TestNothingToFind(t *testing.T) {
	if at := startOfResponse(new(prompt.Context)); at != 0 {
		t.Errorf("the response starts at %d, want 0", at)
	}
	if at := lastSummary(newTalk().Context); at != -1 {
		t.Errorf("the summary is at %d, want -1", at)
	}
}
