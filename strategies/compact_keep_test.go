package strategies

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"pgregory.net/rapid"
)

// What stays of a compaction, in talks of ten rounds of 100 and 900 tokens behind a
// prompt of 500, with an input of 444: the newest rounds, messages of so many tokens
// or of a share of all, cut where no pair is parted, and whether the call sends them.
func TestKeptMessages(t *testing.T) {
	round, hooks := []int32{100, 900}, []int32{80, 70, 444}
	for changes, tc := range map[string]struct {
		rounds int
		sent   int32 // the call ends ahead of this entry
	}{
		"keep: {rounds: 2}":             {2, 20},
		"keep: {rounds: 2, sent: true}": {2, 24}, // clients of summer 2026: preservedMessages
		// Claude Code 2.1.332: the round behind a prompt stays and is sent all the same, unless it is large.
		"keep: {rounds: 2, sent_behind_prompt: 15000}":  {2, 20},
		"keep: {rounds: 10, sent_behind_prompt: 10000}": {10, 24},
		"keep: {rounds: 10, sent_behind_prompt: 9999}":  {10, 4},
		"keep: {tokens: 3000}":                          {3, 18}, // pi: keepRecentTokens
		"keep: {tokens: 2999}":                          {2, 20},
		"keep: {tokens: 899}":                           {0, 24},
		"keep: {tokens: 899, least: 1}":                 {1, 22}, // deepagents: the newest message and its pair, whatever its size
		"keep: {share: 0.1, by_count: true, least: 10}": {5, 14}, // Strands: preserve_recent_messages
		"keep: {share: 0.3}":                            {3, 18}, // of 10,500; Gemini CLI
		"keep: {share: 0.2, sent: true}":                {2, 24},
		"call: [streaming], keep: {tokens: 8000}":       {8, 8}, // OpenCode
	} {
		in, k, b := kept(t, changes)
		want := slices.Concat([]int32{3000}, slices.Repeat(round, tc.rounds), hooks)
		if got := k.sizes(3); !slices.Equal(got, want) || k.Context.At(k.InputAt).Tokens != 444 {
			t.Errorf("%s: %v with the input at %d, want %v", changes, got, k.InputAt, want)
		}
		if in.To != tc.sent || (b.PreservedTo > 0) != (tc.rounds > 0) {
			t.Errorf("%s: sends up to %d, want %d; preserved %d to %d", changes, in.To, tc.sent, b.PreservedFrom, b.PreservedTo)
		}
	}
}

// Codex keeps what the person wrote, newest first up to 64,000 tokens (20,000 in its
// local form): the message that passes them is cut, then none; the item comes last.
func TestKeptUserMessages(t *testing.T) {
	for budget, want := range map[string][]int32{
		"64000": {500, 30000, 20000, 3000, 444},
		"20500": {500, 20000, 3000, 444}, // 500 of the 30,000 are left
		"20000": {20000, 3000, 444},
		"7":     {7, 3000, 444},
	} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 190000}, manual: true, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}, keep: {user_tokens: "+budget+"}}"), newTalk()
		k.round("Read", "", 900)
		k.add(prompt.KindPrompt, 30000)
		k.round("Read", "", 900)
		k.add(prompt.KindText, 50)
		k.add(prompt.KindPrompt, 20000)
		k.round("Read", "", 900)
		k.add(prompt.KindPrompt, 444)
		k.InputAt = k.Context.Len() - 1
		byHand(k)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 3000 - 90, Output: 3000}})
		if got := k.sizes(3); !slices.Equal(got, want) || k.Context.At(k.InputAt).Tokens != 444 {
			t.Errorf("%s: %v with the input at %d, want %v", budget, got, k.InputAt, want)
		}
		if whole := k.Context.At(3).Form == prompt.FormVerbatim; whole != (budget == "64000" || budget == "20000") {
			t.Errorf("%s: the oldest that stays is whole: %v", budget, whole)
		}
	}
}

// The Gemini CLI holds a snapshot against the history by a second call, and then
// takes it (chatCompressionService.ts); others make one call.
func TestVerifiedSummary(t *testing.T) {
	for changes, want := range map[string]int{"": 1, ", verify: true": 2} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 190000}, manual: true"+changes+"}"), rounds(10, 900)
		byHand(k)
		out, calls := l.(BeforeRequest).BeforeRequest(&k.Turn), 0
		for ; out.Verdict == Pending; calls++ {
			out = l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 1000, Output: 1000}})
		}
		if out.Verdict != Done || calls != want || k.Boundary().Calls != want {
			t.Errorf("%q: %d calls, %+v, boundary of %d; want %d", changes, calls, out, k.Boundary().Calls, want)
		}
	}
}

// What excludes each other is told.
func TestKeepRules(t *testing.T) {
	for changes, want := range map[string]string{
		"keep: {first: 1, user_tokens: 1}":              "takes first or user_tokens",
		"keep: {rounds: 1}, partial: {direction: from}": "partial.direction says what is kept",
		"keep: {share: 1}":                              "share",
	} {
		if err := builtin(t).AddPreset([]byte("{name: x, layers: [{full-compact: {trigger: {fixed: 1}, "+changes+"}}]}"), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", changes, err, want)
		}
	}
}

// What Letta Code 0.32.18 keeps of 43 rounds behind a prompt of 500 (planLocalSlidingWindowCompaction on these sizes): 52 of 87 messages, or
// with results that grow, or whose last are large, as many tenths fewer as leave less than 0.7 of a window of 200,000. LlamaIndex' memory 0.14.25,
// from 21,100 tokens in turns of 500 on, drops 3,000 at once and keeps 18,100; of turns of 4,000 it drops one.
func TestKeptInSteps(t *testing.T) {
	letta := KeepSet{Share: 0.6, ByCount: true, Window: 0.7, Step: 0.1}
	for name, tc := range map[string]struct {
		result func(i int) int32
		want   int // messages that go
	}{
		"fall":  {func(i int) int32 { return int32(43-i) * 200 }, 35}, // 34.8, rounded
		"grow":  {func(i int) int32 { return int32(i) * 200 }, 51},
		"large": {func(i int) int32 { return []int32{500, 40_000, 40_000, 70_000}[max(0, i-39)] }, 85},
	} {
		k := newTalk()
		for i := range 43 {
			k.round("Read", "", tc.result(i))
		}
		body := Body(k.Context)
		if at := letta.cut(k.Context, body, k.Context.Len(), 200_000); countMessages(k.Context, body, at) != tc.want {
			t.Errorf("results %s: %d messages go, want %d", name, countMessages(k.Context, body, at), tc.want)
		}
	}
	memory := KeepSet{Tokens: 21_000, AtPrompt: cutNext, Step: 3000}
	for turn, want := range map[int32]int64{500: 18_100, 1200: 18_100, 2500: 17_600, 4000: 20_100, 9000: 18_100} {
		k := newTalk()
		body := Body(k.Context)
		k.Context.Replace(body, k.Context.Len(), nil, prompt.CauseEdit)
		for tokensBetween(k.Context, body, k.Context.Len()) < 21_000 {
			k.add(prompt.KindPrompt, 100)
			k.add(prompt.KindText, turn-100)
		}
		k.add(prompt.KindPrompt, 100)
		at := memory.cut(k.Context, body, k.Context.Len(), 200_000)
		if got := tokensBetween(k.Context, at, k.Context.Len()); got != want {
			t.Errorf("of turns of %d, %d tokens stay, want %d", turn, got, want)
		}
	}
}

// A cut looks again only at messages that the cut before had not: 16 times as many rounds take about 16 times as long, not 256
// times as when each cut walked to the end of the context. 64 lies as far from either.
func TestCutOfTheNewestIsLinear(t *testing.T) {
	least := func(n int) time.Duration {
		c := rounds(n, 900).Context
		least := time.Hour
		for range 5 {
			start := time.Now()
			if at := newestWithin(c, 3, c.Len(), 1<<40, tokensBetween); at != 3 {
				t.Fatalf("all fits, and the cut is at %d", at)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	if few, many := least(500), least(8000); many > 64*few {
		t.Errorf("%v for 500 rounds, %v for 8,000", few, many)
	}
}

// Results come any time behind their calls, in any order: the cuts are where walks to the end of the context put them.
func TestCutOfTheNewestPartsNoPair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk()
		var open []int32
		for range rapid.IntRange(1, 30).Draw(rt, "entries") {
			switch n := rapid.IntRange(-3, len(open)-1).Draw(rt, "what"); n {
			case -1:
				open = append(open, k.use("Bash", "", 100).Call)
			case -2, -3:
				k.add([]prompt.Kind{prompt.KindPrompt, prompt.KindText}[n+3], 100)
			default:
				k.add(prompt.KindToolResult, 300).Call = open[n]
				open = slices.Delete(open, n, n+1)
			}
		}
		c, left := k.Context, rapid.Int64Range(0, 9000).Draw(rt, "budget")
		got, want := newestWithin(c, 3, c.Len(), left, tokensBetween), c.Len()
		for want > 3 {
			at := legalCut(c, want-1, 3)
			if left -= tokensBetween(c, at, want); left < 0 {
				break
			}
			want = at
		}
		if got != want {
			rt.Errorf("cut at %d, want %d", got, want)
		}
	})
}

// Haystack's compactors keep the prompt that the agent is at work on ahead of what they leave: behind the first turn it goes with none of its
// rounds' limits. Where the newest messages that stay begin with a later prompt, no prompt that goes is kept.
func TestKeptTask(t *testing.T) {
	for keep, want := range map[string][]int32{
		"messages: 2, user_tokens: 1000, task: true":                    {80, 40, 100, 900},
		"messages: 2, user_tokens: 1000":                                {500, 80, 40, 100, 900},
		"tokens: 2200, at_prompt: next, user_tokens: 1000, task: true":  {40, 80, 100, 900, 100, 900},
		"tokens: 2200, at_prompt: next, user_tokens: 1000":              {500, 40, 80, 100, 900, 100, 900},
		"tokens: 1100, at_prompt: prefer, user_tokens: 50, task: true":  {50, 40, 100, 900},
		"tokens: 1100, at_prompt: prefer, user_tokens: 999, task: true": {80, 40, 100, 900},
	} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [none], local: {tokens: 40}, keep: {"+keep+"}, summary: {header: 0, pointer: 0, continuation: 0}, "+
			"attachments: {files: {count: 0}, skills: {each: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), rounds(3, 900)
		k.add(prompt.KindPrompt, 80)
		k.round("Read", "", 900)
		k.round("Read", "", 900)
		k.InputAt = k.Context.Len() - 1
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", keep, got, want)
		}
	}
}
