package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A head of 18,000 tokens, a prompt of 500 and results of 1,000 behind calls of 100; from 21,000 tokens on all results but the newest go. Kept,
// requests 3, 5 and 6 clear. A copy for each request measures the history whole, and each request from the third on clears; behind the loop it
// stays as it is, or the history is whole again.
func TestClearACopy(t *testing.T) {
	for text, want := range map[string]int{"": 3, ", persist: never": 4, ", persist: run": 4} {
		l, k := layer(t, "clear: {trigger: {fixed: 21000}, keep_results: 1, leave: {tokens: 0}"+text+"}"), newTalk()
		done := 0
		for range 6 {
			k.round("Read", "", 1000)
			measured := k.Reading.Values[MeasureClientTokens]
			if l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done {
				done++
			}
			if got := k.Reading.Values[MeasureClientTokens]; got != measured {
				t.Errorf("%q: the turn measures %d for other layers, and %d before", text, got, measured)
			}
			k.Boundary()
		}
		if done != want {
			t.Errorf("%q: %d requests cleared, want %d", text, done, want)
		}
		k.add(prompt.KindText, 10)
		l.(EndOfLoop).EndOfLoop(&k.Turn)
		k.round("Read", "", 500)
		if again := l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done; again != (text == ", persist: never") {
			t.Errorf("%q: behind the loop it clears: %v", text, again)
		}
	}
}

// What a compaction took is not hidden from the trigger any more: behind it the third round of 1,100 passes 21,000, and a copy for
// each request clears at the third and again at the fourth, whose history is 22,477 without any clearing.
func TestClearACopyBehindACompaction(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {fixed: 21000}, keep_results: 1, leave: {tokens: 0}, persist: run}"), newTalk()
	for range 6 {
		k.round("Read", "", 1000)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		k.Boundary()
	}
	l.(EndOfLoop).EndOfLoop(&k.Turn)
	k.Context.Replace(3, k.Context.Len(), nil, prompt.CauseCompaction)
	k.add(prompt.KindSummary, 77)
	var done []int
	for i := range 4 {
		k.round("Read", "", 1000)
		if l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done {
			done = append(done, 1+i)
		}
		k.Boundary()
	}
	if !slices.Equal(done, []int{3, 4}) {
		t.Errorf("rounds %v clear, want the third and the fourth", done)
	}
}

// A summary that stands in one request alone: the next begins with the messages it stood for, of which the oldest groups go that have at most
// 3,200 tokens with the instruction of 1,500: the prompt of 500 and one of the rounds of 1,000.
func TestSummaryOfOneRequest(t *testing.T) {
	for text, tc := range map[string]struct{ stay, summarised []int32 }{
		"":                 {[]int32{77, 100, 900, 100, 900}, []int32{1500, 1077}}, // the second summary takes the first in
		", persist: never": {[]int32{77, 100, 900, 100, 900, 100, 900}, []int32{1500, 1500}},
	} {
		l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 5}, call: [streaming], keep: {all_but_oldest: 3200"+text+"}, summary: {header: 0, pointer: 0, continuation: 0}, "+
			"attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), newTalk()
		for range 2 {
			k.round("Read", "", 900)
		}
		for i := range 2 {
			k.round("Read", "", 900)
			if in := begin(t, l, k); in.From != 3 || in.Summarised != tc.summarised[i] {
				t.Errorf("%q: the call reads from %d what stands for %d tokens, want 3 and %d", text, in.From, in.Summarised, tc.summarised[i])
			}
			l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 77, Output: 77}})
			k.Boundary()
		}
		if got := k.sizes(3); !slices.Equal(got, tc.stay) {
			t.Errorf("%q: %v, want %v", text, got, tc.stay)
		}
	}
}

// Where the newest messages begin that stay, in two turns of three rounds each: 3 messages reach into the last turn, 9 into the first.
func TestCutOfKeepAtAPrompt(t *testing.T) {
	k := rounds(3, 900)
	k.add(prompt.KindPrompt, 10)
	for range 3 {
		k.round("Read", "", 900)
	}
	end := k.Context.Len()
	second := slices.IndexFunc(k.sizes(0), func(n int32) bool { return n == 10 })
	for text, want := range map[string]int{
		"{messages: 3, at_prompt: next}":    3,       // none follows: all stay
		"{messages: 3, at_prompt: prefer}":  end - 4, // none follows: whole pairs
		"{messages: 10, at_prompt: prefer}": second,
		"{messages: 3, at_prompt: before}":  second,
		"{messages: 3, at_prompt: behind}":  second + 1,
		"{messages: 10, at_prompt: next}":   second,
		"{messages: 10, at_prompt: before}": 3,
		"{messages: 10, at_prompt: behind}": 4,
	} {
		l := layer(t, "truncate-oldest: {trigger: {fixed: 1}, keep: "+text+"}").(*truncate)
		if got := l.params.Keep.cut(k.Context, 3, end, 200_000); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	again := newTalk() // the prompt is in a summary already, which a further one replaces
	again.Context.Replace(3, 4, nil, prompt.CauseNone)
	again.add(prompt.KindSummary, 77)
	again.round("Read", "", 900)
	again.round("Read", "", 900)
	if got := (&KeepSet{Messages: 1, AtPrompt: cutBehind}).cut(again.Context, 3, again.Context.Len(), 200_000); got != 4 {
		t.Errorf("behind a summary: %d, want 4", got)
	}
	l := layer(t, "truncate-oldest: {trigger: {fixed: 1}, keep: {messages: 10, at_prompt: next}}")
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	if got, want := k.sizes(3), []int32{10, 100, 900, 100, 900, 100, 900}; !slices.Equal(got, want) {
		t.Errorf("the first turn goes whole: %v, want %v", got, want)
	}
}

// A call that begins with a prompt among the newest 2,000 tokens of what goes; where none is among them, as inside a loop of tools, no call is
// made and a text of 27 tokens stands for all, or without such a text it reads all.
func TestCallFromAPrompt(t *testing.T) {
	for _, tc := range []struct {
		rounds  int
		nothing string // of the fixed text
		want    Verdict
		size    int32
	}{{1, ", nothing: 27", Pending, 0}, {3, ", nothing: 27", Done, 27}, {1, "", Pending, 0}, {3, "", Pending, 0}} {
		rounds, want := tc.rounds, tc.want
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [streaming], keep: {messages: 2}, streaming: {reads: {newest: 2000, from_prompt: true"+tc.nothing+"}}, "+
			"summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), newTalk()
		k.round("Read", "", 900)
		k.add(prompt.KindPrompt, 40)
		for range rounds + 1 {
			k.round("Read", "", 900)
		}
		out := l.(BeforeRequest).BeforeRequest(&k.Turn)
		in, _ := k.Intent()
		switch {
		case out.Verdict != want:
			t.Errorf("%d rounds: %v, want %v", rounds, out, want)
		case want == Pending && rounds == 1 && k.Context.At(int(in.From)).Tokens != 40:
			t.Errorf("the call begins with entry %d, which is not the prompt", in.From)
		case want == Pending && rounds == 3 && (int(in.From) != Body(k.Context) || in.Newest > 0):
			t.Errorf("the call reads the newest %d tokens from entry %d on, and not all", in.Newest, in.From)
		case want == Done && !slices.Equal(k.sizes(3), []int32{tc.size, 100, 900}):
			t.Errorf("%d rounds: %v stays", rounds, k.sizes(3))
		}
	}
}

// Where a refusal starts it, what fits a hundredth of a window of 200,000 stays, and not forty messages.
func TestKeepBySize(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 100}, reactive: true, call: [streaming], keep: {messages: 40, by_size: {window: 0.01}}}"), rounds(10, 900)
	if out := l.(PromptTooLong).PromptTooLong(&k.Turn); out.Verdict != Pending {
		t.Fatalf("%+v", out)
	}
	if in, _ := k.Intent(); in.To != 20 {
		t.Errorf("the call reads up to %d, want 20: two rounds of 1,000 stay", in.To)
	}
}
