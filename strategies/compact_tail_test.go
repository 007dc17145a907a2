package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
)

// Tokens of a client that takes four bytes for one are bytes: of rounds of 100 and 900 tokens in
// twice the usual bytes half as many stay, of what no line shows any number.
func TestKeptTokensOfAClient(t *testing.T) {
	for changes, want := range map[string]int{
		"keep: {tokens: 4000}":                                3, // 1,000 tokens and 250 unseen a round
		"keep: {tokens: 4000, bytes_per_token: 4}":            2, // 8,000 bytes a round
		"keep: {tokens: 4000, bytes_per_token: 8}":            4,
		"keep: {tokens: 4000, bytes_per_token: 3.6}":          1,
		"keep: {tokens: 4000, bytes_per_token: 8, rounds: 3}": 3,
		// A result that reaches 4,000 tokens of two bytes itself stays out with its call (pi 1.6.0, findCutPoint), the results of the newest
		// round stay whatever they have, and 2,250 tokens of eight bytes are reached by the call of the third round.
		"keep: {tokens: 4000, bytes_per_token: 4, at_least: true}": 2,
		"keep: {tokens: 1500, bytes_per_token: 4, at_least: true}": 1,
		"keep: {tokens: 1500, bytes_per_token: 4}":                 0,
		"keep: {tokens: 2950, bytes_per_token: 8, at_least: true}": 3,
		"keep: {tokens: 2950, bytes_per_token: 8}":                 2,
	} {
		l, k := layer(t, plain+", "+changes+"}"), newTalk()
		for range 10 {
			k.use("Bash", "", 100).Bytes *= 2
			k.add(prompt.KindToolResult, 900).Bytes *= 2
			k.Context.BlockAt(k.Context.Len() - 1).Call = k.calls
			k.add(prompt.KindUnseen, 250)
		}
		begin(t, l, k)
		answer(l, k, "", 0)
		n := 0
		for i := range k.Context.Len() {
			if k.Context.At(i).Kind == prompt.KindToolUse {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d rounds stay, want %d", changes, n, want)
		}
	}
}

// A turn whose newest part stays has a call of its own (pi 1.6.0): of the messages up to its
// prompt the first, of the rest up to what stays the second. Both summaries, 3,000 tokens each,
// are one message. A cut ahead of a prompt, in the first turn, or behind a summary alone takes one call.
func TestSplitTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after int // rounds ahead of the last prompt and behind it
		tokens        string
		calls         [][2]int32
	}{
		"cut":           {5, 5, "2000", [][2]int32{{3, 14}, {14, 21}}},
		"cut at prompt": {5, 5, "5500", [][2]int32{{3, 14}}},
		"earlier turn":  {5, 5, "6500", [][2]int32{{3, 12}}},
		"one turn":      {0, 5, "2000", [][2]int32{{3, 11}}},
	} {
		l, k := layer(t, plain+", split_turn: true, call: [streaming], keep: {tokens: "+tc.tokens+"}}"), rounds(tc.before, 900)
		k.add(prompt.KindPrompt, 500)
		for range tc.after {
			k.round("Bash", "", 900)
		}
		if tc.before == 0 {
			k.Context.Truncate(3, prompt.CauseNone)
			k.add(prompt.KindPrompt, 500)
			for range tc.after {
				k.round("Bash", "", 900)
			}
			tc.calls[0][1] = 10
		}
		in := begin(t, l, k)
		var calls [][2]int32
		out := Outcome{Verdict: Pending}
		for out.Verdict == Pending {
			calls = append(calls, [2]int32{in.From, in.To})
			in, out = answer(l, k, "", 0)
		}
		if !slices.Equal(calls, tc.calls) || k.Boundary().Calls != len(tc.calls) {
			t.Errorf("%s: calls %v, boundary of %d; want %v", name, calls, k.Boundary().Calls, tc.calls)
		}
		if got := k.Context.At(3).Tokens; got != int32(3000*len(tc.calls)) {
			t.Errorf("%s: a summary of %d tokens, want 3,000 a call", name, got)
		}
	}
}

// Codex keeps what it had put into the first request beside the person's messages, and sends its
// own summary call without tools (0.171.0).
func TestInitialContextStays(t *testing.T) {
	for changes, want := range map[string][]int32{
		"keep: {user_tokens: 20000}":                {500, 600, 3000},
		"keep: {user_tokens: 20000, initial: true}": {500, 700, 250, 600, 3000},
		"keep: {user_tokens: 600, initial: true}":   {700, 250, 600, 3000},
	} {
		l, k := layer(t, plain+", call: [fork], fork: {no_tools: true}, analysis_share: 0, "+changes+"}"), newTalk()
		k.add(prompt.KindAttachment, 700)
		k.add(prompt.KindUnseen, 250)
		k.round("Bash", "", 900)
		k.add(prompt.KindAttachment, 300)
		k.add(prompt.KindPrompt, 600)
		k.round("Bash", "", 900)
		in := begin(t, l, k)
		answer(l, k, "", 0)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", changes, got, want)
		}
		if !in.NoTools || in.Analysis == nil || *in.Analysis != 0 {
			t.Errorf("%s: %+v, want a call without tools whose answer is the summary alone", changes, in)
		}
	}
}

// Where the newest that stay begin with a prompt, the summary ends at the first one of the newest 30 %, else ahead of the last prompt
// (the Gemini CLI, findCompressSplitPoint): nothing of what one prompt has led to. Where the newest would be all, none stays
// (OpenCode 1.18.33).
func TestCutAtAPrompt(t *testing.T) {
	for name, tc := range map[string]struct {
		keep   string
		rounds []int // of 1,000 tokens behind each prompt
		answer bool  // ends all
		want   int32 // entries of the call; 0 for no call
	}{
		"in the newest":       {"share: 0.3, from_prompt: true", []int{8, 2}, false, 1 + 2*8},
		"one turn":            {"share: 0.3, from_prompt: true", []int{10}, false, 0},
		"a long last turn":    {"share: 0.3, from_prompt: true", []int{2, 8}, false, 1 + 2*2},
		"answered":            {"share: 0.3, from_prompt: true", []int{2, 8}, true, 2 + 2*10 + 1},
		"all of the messages": {"tokens: 20000, not_all: true", []int{5}, false, 1 + 2*5},
		"not all":             {"tokens: 2500, not_all: true", []int{5}, false, 1 + 2*3},
		"nothing to keep":     {"tokens: 20000", []int{5}, false, 0},
	} {
		l, k := layer(t, plain+", keep: {"+tc.keep+"}}"), newTalk()
		for i, n := range tc.rounds {
			if i > 0 { // the talk begins with one
				k.add(prompt.KindPrompt, 100)
			}
			for range n {
				k.round("Bash", "", 900)
			}
		}
		if tc.answer {
			k.add(prompt.KindText, 100)
		}
		out := l.(BeforeRequest).BeforeRequest(&k.Turn)
		got := int32(0)
		if out.Verdict == Pending {
			in := begin(t, layer(t, plain+", keep: {"+tc.keep+"}}"), k)
			got = in.To - in.From
		}
		if got != tc.want {
			t.Errorf("%s: a call of %d entries, want %d: %+v", name, got, tc.want, out)
		}
	}
}

// A call that is too long is repeated over the older part: of 30 rounds by half at a gap of 5,000 tokens and more, by two thirds first at
// a smaller one, and in steps of its own where the error tells none. What is newer stays behind the summary (Claude Code 2.1.332).
func TestTooLongOverTheOlderPart(t *testing.T) {
	for name, tc := range map[string]struct {
		readable string
		excess   int64
		want     []int
	}{
		"a large gap": {"true", 5000, []int{30, 15, 7, 3, 1}},
		"a small gap": {"true", 500, []int{30, 20, 10, 5, 2, 1}},
		"no gap":      {"false", 500, []int{30, 22, 15, 9, 1}},
	} {
		l, k := layer(t, plain+", prompt_too_long: {retries: 8, older: true, gap_readable: "+tc.readable+"}}"), rounds(30, 900)
		before := k.Context.Len()
		in := begin(t, l, k)
		got := []int{countRounds(k.Context, int(in.From), int(in.To))}
		for len(got) < len(tc.want) {
			in, _ = answer(l, k, ask.FailTooLong, tc.excess)
			got = append(got, countRounds(k.Context, int(in.From), int(in.To)))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: calls over %v rounds, want %v", name, got, tc.want)
		}
		sent := int(in.To - in.From)
		if _, out := answer(l, k, "", 0); out.Verdict != Done || k.Context.Len() != before-sent+1 {
			t.Errorf("%s: %+v, %d entries behind, want those of 29 rounds and a summary: %d", name, out, k.Context.Len(), before-sent+1)
		}
		// Where no call fits, the compaction fails.
		l, k = layer(t, plain+", prompt_too_long: {retries: 8, older: true, gap_readable: "+tc.readable+"}}"), rounds(30, 900)
		begin(t, l, k)
		out := Outcome{Verdict: Pending}
		for out.Verdict == Pending {
			_, out = answer(l, k, ask.FailTooLong, tc.excess)
		}
		if out.Verdict != Failed {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// The request behind a compaction of Qwen Code 0.24.4 lacks the reminders that stand ahead of the first prompt, and the next has them
// again, ahead of the summary: 3 entries of a head with 300 tokens of reminders, then the summary.
func TestOpeningComesLate(t *testing.T) {
	l, k := layer(t, strings.Replace(plain, "attachments: {", "attachments: {opening_late: true, ", 1)+"}"), newTalk()
	for range 10 {
		k.round("Bash", "", 1000)
	}
	kinds := func() (list []prompt.Kind) {
		for i := range k.Context.Len() {
			list = append(list, k.Context.At(i).Kind)
		}
		return list
	}
	head := kinds()[:Body(k.Context)]
	without := slices.DeleteFunc(slices.Clone(head), func(kind prompt.Kind) bool { return kind == prompt.KindReminder })
	if len(without) == len(head) {
		t.Fatal("the talk has no reminder")
	}
	k.Context.MarkSent()
	begin(t, l, k)
	answer(l, k, "", 0)
	if got, want := kinds(), append(slices.Clone(without), prompt.KindSummary); !slices.Equal(got, want) {
		t.Errorf("behind the compaction stand %v, want %v", got, want)
	}
	k.Context.MarkSent()
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	if got, want := kinds(), append(slices.Clone(head), prompt.KindSummary); !slices.Equal(got, want) {
		t.Errorf("the next request has %v, want %v", got, want)
	}
	if got, want := k.Context.MarkSent(), (prompt.Change{At: int32(len(without)), Cause: prompt.CauseEdit}); got != want {
		t.Errorf("it changes %v, want %v: the summary is not read again", got, want)
	}
}
