package strategies

import (
	"fmt"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// counts is a host that counts reasons.
type counts struct {
	quiet
	reasons int
}

func (c *counts) Refuse(_, reason string) Outcome {
	c.reasons++
	return Outcome{Declined, reason}
}

// A prompt of 500 and four rounds of 100 and 1,000 are nine messages of 4,900 tokens. Above 3,750 the fifth goes (the second result), then the
// sixth (the third call) and the fourth (the second call), which leaves 3,700 and the third result without its call. Above 3,500 that goes too,
// and whole rounds are left. Behind the response the history is whole again, unless a copy stays that ended a loop.
func TestSingleMessagesFromTheMiddle(t *testing.T) {
	for text, tc := range map[string]struct {
		left     []int32
		unpaired int
		behind   int64
	}{
		"fixed: 3750}, persist: never": {[]int32{500, 100, 1000, 1000, 100, 1000}, 1, 4910},
		"fixed: 3500}, persist: run":   {[]int32{500, 100, 1000, 100, 1000}, 0, 2710},
		"fixed: 3500}":                 {[]int32{500, 100, 1000, 100, 1000}, 0, 2710},
	} {
		l, k := layer(t, "truncate-oldest: {target: 1, middle: true, single: true, trigger: {measure: since, "+text+"}"), rounds(4, 1000)
		host := &counts{}
		k.Host = host
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, tc.left) || host.reasons != tc.unpaired {
			t.Errorf("%s: %v, %d requests that parted pairs, want %v and %d", text, got, host.reasons, tc.left, tc.unpaired)
		}
		k.Boundary()
		k.add(prompt.KindText, 10)
		l.(AfterResponse).AfterResponse(&k.Turn)
		if got := tokensBetween(k.Context, 3, k.Context.Len()); got != tc.behind {
			t.Errorf("%s: %d tokens behind the response, want %d", text, got, tc.behind)
		}
	}
}

// The next request of a loop begins with the history that the copy before it was made of, and measures it whole: each drops from the first
// round on. The first prompt goes where it may.
func TestTruncateACopy(t *testing.T) {
	l, k := layer(t, "truncate-oldest: {target: 0.5, opening: true, persist: run, trigger: {measure: since, fixed: 4000}}"), rounds(4, 900)
	for i, want := range [][]int32{{100, 900, 100, 900}, {100, 900, 100, 900}} { // 2,500 of 4,500 go, the prompt with the first round; 3,500 of 5,500
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("request %d: %v, want %v", i, got, want)
		}
		k.Boundary()
		k.use("Read", "", 100)
		l.(AfterResponse).AfterResponse(&k.Turn)
		r := k.add(prompt.KindToolResult, 900)
		r.Call = k.calls
	}
}

// Of nine messages the newest eight stay: the prompt goes alone where it may, and of seven the first round, too, whose result would
// stand without its call.
func TestTruncateToMessages(t *testing.T) {
	for messages, want := range map[int][]int32{8: {100, 900, 100, 900, 100, 900, 100, 900}, 7: {100, 900, 100, 900, 100, 900}} {
		l, k := layer(t, fmt.Sprintf("truncate-oldest: {opening: true, keep: {messages: %d, pairs_go: true}, trigger: {measure: messages, fixed: 9}}", messages)), rounds(4, 900)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("%d messages: %v, want %v", messages, got, want)
		}
	}
}

// A prompt and four rounds are nine messages, and ten where the prompt counts twice: a trigger at ten fires then. Of ten that stay, all do. Of nine, the
// prompt goes: what counts beside it stands behind it and takes the place of the ninth (OpenHands V0's recall).
func TestPromptsCountBesideMessages(t *testing.T) {
	rest := []int32{100, 900, 100, 900, 100, 900, 100, 900}
	for _, tc := range []struct{ trigger, keep, prompts int }{{0, 9, 1}, {1, 10, 1}, {1, 9, 0}} {
		l, k := layer(t, fmt.Sprintf("truncate-oldest: {opening: true, keep: {messages: %d, per_prompt: 1, pairs_go: true}, trigger: {measure: messages, fixed: 10, per_prompt: %d}}",
			tc.keep, tc.trigger)), rounds(4, 900)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); len(got) != len(rest)+tc.prompts || !slices.Equal(got[tc.prompts:], rest) {
			t.Errorf("%+v: %v stays, want %d of the prompt and %v", tc, got, tc.prompts, rest)
		}
	}
}

// A round of 200 tokens and two messages, each of which the client counts 1,000 for: 10,300 at the fourth round. Then each request clears a copy,
// though of four rounds one message each is left in it.
func TestClearedMessagesOfACopyCount(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {measure: since, fixed: 10000, per_message: 1000}, rounds: true, persist: never, leave: {tokens: 9}}"), newTalk()
	var done []int
	for i := range 6 {
		k.round("Read", "", 100)
		if l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done {
			done = append(done, i+1)
		}
		k.Boundary()
	}
	if !slices.Equal(done, []int{4, 5, 6}) {
		t.Errorf("rounds %v clear, want 4 to 6", done)
	}
}

// Each request of a loop summarises the oldest groups of 1,700 tokens: the prompt of 500 and the first round of 1,000, then the first summary of
// 77 and that round, which is there again, then two summaries and the round. With the next prompt the summaries are gone and all is there again.
func TestSummariesPileUp(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 5}, call: [streaming], instruction: 0, keep: {messages: 2, all_but_oldest: 1700, persist: never, piles: true}, "+
		"summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), rounds(2, 900)
	for i, want := range []int32{1500, 1077, 1154, 1500} {
		if k.Trigger = traces.TriggerToolResult; i == 3 {
			k.Trigger = traces.TriggerPrompt
			k.add(prompt.KindPrompt, 10)
		} else {
			k.round("Read", "", 900)
		}
		if in := begin(t, l, k); in.Summarised != want {
			t.Errorf("call %d stands for %d tokens, want %d", i, in.Summarised, want)
		}
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 77, Output: 77}})
		k.Boundary()
	}
	if got, want := k.sizes(3), []int32{77, 100, 900, 100, 900, 100, 900, 100, 900, 10}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A prompt of 500 and three rounds of 1,000 become a summary of 77; the next call reads the next three rounds and not that summary, which stays. With an
// overlap of one prompt, as ADK has it, that call is also given the 3,500 tokens again.
func TestEarlierSummariesStay(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 5}, call: [streaming], instruction: 0, keep: {summaries: true, again: 1}, "+
		"summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), rounds(2, 900)
	for i, want := range []int32{3500, 3000} {
		for range 1 + 2*i {
			k.round("Read", "", 900)
		}
		if in := begin(t, l, k); in.Summarised != want || int(in.From) != 3+i || int(in.Lead) != 3500*i {
			t.Errorf("call %d reads from %d behind %d tokens and stands for %d, want from %d behind %d and %d", i, in.From, in.Lead, in.Summarised, 3+i, 3500*i, want)
		}
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 77, Output: 77}})
		k.Boundary()
	}
	if got, want := k.sizes(3), []int32{77, 77}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Where a summary has as many tokens as what comes behind it, ADK makes no other: the rounds that a summary of 3,000 stays ahead of have 3,000. A
// summary of 2,999 is followed by one.
func TestNoLargerThanTheSummaryBefore(t *testing.T) {
	for size, want := range map[int32]Verdict{3000: Declined, 2999: Pending} {
		l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 5}, call: [streaming], instruction: 0, keep: {summaries: true, beyond_summary: true}, "+
			"summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), rounds(2, 900)
		k.round("Read", "", 900)
		begin(t, l, k)
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: size, Output: size}})
		k.Boundary()
		for range 3 {
			k.round("Read", "", 900)
		}
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != want {
			t.Errorf("behind a summary of %d tokens: %+v", size, out)
		}
	}
}

// Groups that are larger than what is read stay where they are, ahead of the summary.
func TestLargeGroupsAreSkipped(t *testing.T) {
	k := newTalk()
	for _, n := range []int32{3000, 900, 900, 5000} {
		k.round("Read", "", n)
	}
	for budget, want := range map[int64][2]int{
		500: {3, 4}, 400: {3, 3}, 1100: {3, 4}, 2000: {3, 4}, 3700: {3, 6}, 5700: {3, 10},
	} {
		from, to := oldestWithin(k.Context, 3, k.Context.Len(), budget)
		if budget == 400 {
			want = [2]int{k.Context.Len(), k.Context.Len()}
		}
		if [2]int{from, to} != want {
			t.Errorf("%d: %d to %d, want %v", budget, from, to, want)
		}
	}
	if from, to := oldestWithin(k.Context, 4, k.Context.Len(), 2000); from != 6 || to != 10 {
		t.Errorf("behind the large first round: %d to %d, want 6 to 10", from, to)
	}
}

// At a refusal the oldest result keeps 400 of its 4,000 bytes, 100 tokens, beside the 13 tokens of a note. The next refusal finds it shortened.
func TestClearAtARefusal(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {fixed: 1}, when: {at: refusal}, oldest: 1, min_bytes: 401, leave: {tokens: 13, head: 200, tail: 200}}"), rounds(2, 1000)
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Declined {
		t.Errorf("before a request: %v, want declined", out)
	}
	k.Excess = 1
	for i, want := range []Verdict{Done, Declined} {
		if out := l.(PromptTooLong).PromptTooLong(&k.Turn); out.Verdict != want || !slices.Equal(k.results(), []int32{113, 1000}) {
			t.Errorf("refusal %d: %v, results %v, want %v", i, out, k.results(), want)
		}
	}
}

// At a refusal the older half of the four messages behind the prompt goes, and without one nothing does.
func TestTruncateAtARefusal(t *testing.T) {
	l, k := layer(t, "truncate-oldest: {trigger: {fixed: 1}, when: {at: refusal}, keep: {share: 0.5, by_count: true, pairs_go: true}}"), rounds(2, 1000)
	whole := k.sizes(2)
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Declined || !slices.Equal(k.sizes(2), whole) {
		t.Errorf("before a request: %v, %v", out, k.sizes(2))
	}
	k.Excess = 1
	if out := l.(PromptTooLong).PromptTooLong(&k.Turn); out.Verdict != Done || !slices.Equal(k.results(), []int32{1000}) || k.sizes(2)[0] != whole[0] {
		t.Errorf("a refusal: %v, %v of %v", out, k.sizes(2), whole)
	}
	if tr := l.(*truncate).params.Fires(); tr != nil {
		t.Errorf("it says that it acts at %d", tr.Fixed)
	}
}

// Fewer messages than stay: of a refused prompt two go at the least, and what follows up to the next prompt, or to the next call where none does.
func TestLeastOfARefusedPrompt(t *testing.T) {
	for name, tc := range map[string]struct {
		prompt bool
		want   []int32
	}{"a prompt follows": {true, []int32{10, 100, 900}}, "none follows": {false, []int32{100, 900, 100, 900}}} {
		l, k := layer(t, "truncate-oldest: {trigger: {measure: messages, fixed: 41}, keep: {messages: 40, at_prompt: prefer}, least: 2}"), rounds(2, 900)
		if tc.prompt {
			k.add(prompt.KindPrompt, 10)
		}
		k.round("Read", "", 900)
		l.(PromptTooLong).PromptTooLong(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Single messages go around the middle alone, and summaries pile up where the messages they stand for come back: elsewhere the parameters have no
// effect. Of rounds of 1,100 tokens two go where 1,150 tokens are too many.
func TestParametersWithoutWhatTheyNeed(t *testing.T) {
	l, k := layer(t, "truncate-oldest: {target: 1, single: true, trigger: {measure: since, fixed: 3750}}"), rounds(4, 1000)
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	if got, want := k.sizes(3), []int32{500, 100, 1000, 100, 1000}; !slices.Equal(got, want) {
		t.Errorf("single without middle: %v, want whole rounds %v", got, want)
	}
	left := func(piles string) []int32 {
		l, k := layer(t, "full-compact: {trigger: {measure: messages, fixed: 5}, call: [streaming], keep: {messages: 2"+piles+"}}"), rounds(2, 900)
		k.round("Read", "", 900)
		begin(t, l, k)
		answer(l, k, "", 0)
		k.Trigger = traces.TriggerPrompt
		k.add(prompt.KindPrompt, 10)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		return k.sizes(3)
	}
	if got, want := left(", piles: true"), left(""); !slices.Equal(got, want) {
		t.Errorf("piles without persist: %v, want %v as without it", got, want)
	}
}

// Behind a prompt of 500: ahead of a result of 900 stands once more what its call of 100 says, with 30 tokens around it: 1,030, once. A result of 1,500, 6,000
// bytes, keeps a third of these, and has the same ahead of it: 12 + 500 + 130.
func TestCallAgain(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {fixed: 1}, min_bytes: 4000, leave: {tokens: 12, head: 1000, tail: 1000, again: 30}}"), rounds(1, 900)
	k.round("Bash", "", 1500)
	for range 2 {
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got, want := k.sizes(3), []int32{500, 100, 1030, 100, 642}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
