package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/traces"
)

// Two rounds before the newest one go whole. Each response of 30 + 100 tokens goes, and of the result stay 5 tokens and its first 1,600
// bytes, which are 400 tokens. Two results of one response share these bytes: the first takes 1,200, the second 400. The results alone,
// without rounds, would keep both responses and 1,600 bytes of each result.
func TestClearRounds(t *testing.T) {
	for text, want := range map[string][]int32{
		"keep: {rounds: 1}":               {500, 30, 100, 405, 30, 100, 100, 300, 405, 30, 100, 2000},
		"keep: {rounds: 1}, rounds: true": {500, 0, 0, 405, 0, 0, 0, 305, 105, 30, 100, 2000},
		"keep_results: 2, rounds: true":   {500, 0, 0, 405, 30, 100, 100, 300, 1000, 30, 100, 2000}, // the newest two rounds
		// OpenHands V0: the newest three events end within the second round, which then goes whole.
		"keep: {messages: 3, count: parts, pairs_go: true}, rounds: true": {500, 0, 0, 405, 0, 0, 0, 305, 105, 30, 100, 2000},
		// Its events are a call and its result in turn: of the newest five the first is that round's first result, and the sixth is its call.
		"keep: {messages: 5, count: parts, pairs_go: true}, rounds: true": {500, 0, 0, 405, 0, 0, 0, 305, 105, 30, 100, 2000},
		"keep: {messages: 6, count: parts, pairs_go: true}, rounds: true": {500, 0, 0, 405, 30, 100, 100, 300, 1000, 30, 100, 2000},
	} {
		l, k := layer(t, "clear: {trigger: {fixed: 1}, leave: {tokens: 5, head: 1600}, "+text+"}"), newTalk()
		k.add(prompt.KindText, 30)
		k.round("Read", "", 1000)
		k.add(prompt.KindText, 30)
		one, two := k.use("Read", "", 100).Call, k.use("Read", "", 100).Call
		k.add(prompt.KindToolResult, 300).Call = one
		k.add(prompt.KindToolResult, 1000).Call = two
		k.add(prompt.KindText, 30)
		k.round("Read", "", 2000)
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, want) {
			t.Errorf("%q: a second pass makes %v of %v", text, got, want)
		}
	}
}

// A result that was cut when it arrived is still one: its round goes as others do, and leaves the 3 tokens of what OpenHands' masking puts there.
func TestClearRoundsOfCutResults(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {fixed: 1}, keep: {rounds: 1}, rounds: true, leave: {tokens: 3}}"), newTalk()
	k.round("Read", "", 1000)
	k.Context.SetForm(k.Context.Len()-1, prompt.FormRange, 400, prompt.CauseEdit)
	k.add(prompt.KindText, 30)
	k.round("Read", "", 2000)
	for range 2 {
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got, want := k.sizes(3), []int32{0, 3, 30, 100, 2000}; !slices.Equal(got[len(got)-5:], want) {
			t.Errorf("%v, want %v at the end", got, want)
		}
	}
}

// Two prompts with a response without calls between them: 3 messages of a loop's calls take in all its calls, 7 end at the response, 8 at a
// prompt. A prompt that 5 or 9 messages reach begins what stays.
func TestCutBehindCalls(t *testing.T) {
	k := rounds(2, 900)
	k.add(prompt.KindText, 20)
	k.add(prompt.KindPrompt, 10)
	k.round("Read", "", 900)
	k.round("Read", "", 900)
	end := k.Context.Len()
	second := slices.Index(k.sizes(0), 10)
	for text, want := range map[string]int{
		"{messages: 3, at_prompt: behind}":            second + 1,
		"{messages: 3, at_prompt: behind, reach: 4}":  second + 1,
		"{messages: 3, at_prompt: behind, reach: 5}":  second,
		"{messages: 5, at_prompt: behind}":            second,
		"{messages: 6, at_prompt: behind}":            second - 1,
		"{messages: 6, at_prompt: behind, reach: 9}":  second - 1,
		"{messages: 7, at_prompt: behind}":            4,
		"{messages: 7, at_prompt: behind, reach: 11}": 3,
		"{messages: 7, reach: 11}":                    3,
	} {
		l := layer(t, "truncate-oldest: {trigger: {fixed: 1}, keep: "+text+"}").(*truncate)
		if got := l.params.Keep.cut(k.Context, 3, end, 200_000); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// A prompt of 500 and rounds of 1,100, a head of 18,000 that does not count; from 3,500 tokens on all results but the newest go. Kept, the
// third and the fifth request clear (3,800, and 500 + 500 + 3,000); a copy for each request measures the history whole from the third on.
func TestClearACopyMeasuredBehindTheHead(t *testing.T) {
	for text, want := range map[string][]int{"": {3, 5}, ", persist: never": {3, 4, 5, 6}} {
		l, k := layer(t, "clear: {trigger: {measure: since, fixed: 3500}, keep_results: 1, leave: {tokens: 0}"+text+"}"), newTalk()
		var done []int
		for i := range 6 {
			k.round("Read", "", 1000)
			if l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done {
				done = append(done, 1+i)
			}
			k.Boundary()
		}
		if !slices.Equal(done, want) {
			t.Errorf("%q: requests %v clear, want %v", text, done, want)
		}
	}
}

// Four rounds of 100 + 900 behind a head of 18,000 and a prompt of 500. The newest 3 messages part the third round, whose call goes with its
// result or stays with it. 21,000 tokens have room for the newest two rounds beside the head and the prompt, and for all four without these.
func TestCutOfKeepByPairsAndHead(t *testing.T) {
	k := rounds(4, 900)
	end := k.Context.Len() // 12: each round has two entries, from position 4 on
	for text, want := range map[string]int{
		"{messages: 3}":                                  8,
		"{messages: 3, pairs_go: true}":                  10,
		"{messages: 4, pairs_go: true}":                  8,
		"{tokens: 21000}":                                4,
		"{tokens: 21000, with_head: true}":               8,
		"{window: 0.105, with_head: true}":               8,
		"{window: 0.105, messages: 3, with_head: true}":  8,
		"{messages: 8, window: 0.5, pairs_go: true}":     4,
		"{share: 0.7}":                                   8, // 2,800 of 4,000 tokens: two rounds
		"{share: 0.7, by_count: true}":                   6, // 2 of 8 messages go
		"{share: 0.6, by_count: true}":                   6, // 3 of 8 go: the call of the third stays with its result, or goes with it
		"{share: 0.6, by_count: true, pairs_go: true}":   8,
		"{messages: 30, tokens: 18500, with_head: true}": end,
		// Letta 0.16.8: round(0.7 × 8) of 8 messages go, or round(0.7 × 9) of 9 with the system prompt, which stays.
		"{share: 0.3, by_count: true, step: 0.1, window: 0.5}":                  10,
		"{share: 0.3, by_count: true, step: 0.1, window: 0.5, with_head: true}": 8,
	} {
		l := layer(t, "truncate-oldest: {trigger: {fixed: 1}, keep: "+text+"}").(*truncate)
		if got := l.params.Keep.cut(k.Context, 4, end, 200_000); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// A prompt of 500 and four rounds of 100 + 900. A call reads 2,200 tokens beside its instruction of 300: 1.25 % of the window. Whole messages
// make three calls of 500 + 100 + 900 + 100, of 900 + 100 + 900 + 100, and of 900, and one summary.
func TestSummaryInChunks(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [streaming], instruction: 300, streaming: {reads: {chunk: 0.0125}}, "+
		"summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}"), rounds(4, 900)
	in, reads := begin(t, l, k), []int32(nil)
	for range 3 {
		reads = append(reads, in.Summarised)
		if got := int32(tokensBetween(k.Context, int(in.From), int(in.To))); got != in.Summarised {
			t.Errorf("a call is sent %d tokens and summarises %d", got, in.Summarised)
		}
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 70, Output: 70}})
		in, _ = k.Intent()
	}
	if want := []int32{1600, 2000, 900}; !slices.Equal(reads, want) {
		t.Errorf("the calls read %v, want %v", reads, want)
	}
	if got, want := k.sizes(3), []int32{210}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of the chunks of 1,600, 2,000 and 900 tokens above, the second call is refused for 100 tokens: it is repeated without the oldest round
// of its own chunk, 100 + 900 with the result of 900 ahead of it. The third reads one result, without which nothing is left.
func TestChunkTooLong(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [streaming], instruction: 300, streaming: {reads: {chunk: 0.0125}}, "+
		"prompt_too_long: {retries: 3}}"), rounds(4, 900)
	begin(t, l, k)
	second := func() prompt.Intent {
		l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 70, Output: 70}})
		in, _ := k.Intent()
		return in
	}
	if in := second(); in.Summarised != 2000 {
		t.Fatalf("the second call reads %d tokens", in.Summarised)
	}
	if in, out := answer(l, k, ask.FailTooLong, 100); out.Verdict != Pending || in.Summarised != 100 || in.Summarised != int32(tokensBetween(k.Context, int(in.From), int(in.To))) {
		t.Errorf("its repetition reads %d tokens (%+v), want 100", in.Summarised, out)
	}
	if in := second(); in.Summarised != 900 {
		t.Errorf("the third call reads %d tokens", in.Summarised)
	}
	if _, out := answer(l, k, ask.FailTooLong, 2500); out.Verdict != Failed {
		t.Errorf("without its one message the third call is %+v", out)
	}
}

// Two turns of two results each, of which three are distilled at once in the second turn: 250 tokens of each 1,000. With the third prompt the
// results of the first turn are there again where answers for earlier turns are forgotten, and the second turn's own stays distilled.
func TestDistilForgets(t *testing.T) {
	for text, want := range map[string][]int32{
		"":                {250, 250, 250, 1000},
		", forgets: true": {1000, 1000, 250, 1000},
	} {
		l, k := layer(t, "distil: {trigger: {measure: results, fixed: 3}, share: 0.25"+text+"}"), newTalk()
		k.Trigger = traces.TriggerToolResult
		k.round("Bash", "", 1000)
		k.round("Bash", "", 1000)
		k.add(prompt.KindPrompt, 10)
		k.round("Bash", "", 1000)
		in := begin(t, l, k)
		for out := (Outcome{Verdict: Pending}); out.Verdict == Pending; in, _ = k.Intent() {
			out = l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
			if out.Verdict == Done {
				break
			}
		}
		k.round("Bash", "", 1000)
		k.add(prompt.KindPrompt, 10)
		k.Trigger = traces.TriggerPrompt
		l.(*distil).forget(&k.Turn)
		if got := k.results(); !slices.Equal(got, want) {
			t.Errorf("%q: results %v, want %v", text, got, want)
		}
	}
}

// With each prompt both results are asked for again, a fifth of 8 tokens and at most 100 of 1,000. No cache has read these answers before: each is
// in other words than the answers of all turns before, and no longer.
func TestDistilInOtherWords(t *testing.T) {
	l, k := layer(t, "distil: {trigger: {measure: results, fixed: 2}, min_tokens: 1, share: 0.2, most: 100, forgets: true}"), newTalk()
	k.round("Bash", "", 8)
	k.round("Bash", "", 1000)
	k.Trigger = traces.TriggerPrompt
	seen := map[prompt.Digest]bool{}
	for range 10 {
		k.add(prompt.KindPrompt, 10)
		in := begin(t, l, k)
		for out := (Outcome{Verdict: Pending}); out.Verdict == Pending; in, _ = k.Intent() {
			out = l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
		}
		if got := k.results(); !slices.Equal(got, []int32{1, 100}) {
			t.Fatalf("results %v, want 1 and 100", got)
		}
		for _, e := range k.Context.Seal() {
			if e.Kind == prompt.KindToolResult {
				if seen[e.Chain] {
					t.Errorf("%d tokens of a result in words of an earlier turn", e.Tokens)
				}
				seen[e.Chain] = true
			}
		}
	}
}

// A trigger counts what the model thinks, says and calls, and results, as far as they are sent: a thinking, a text, two calls and two results.
func TestTriggerOnItems(t *testing.T) {
	k := newTalk()
	k.add(prompt.KindThinking, 50)
	k.add(prompt.KindText, 30)
	one, two := k.use("Read", "", 100).Call, k.use("Read", "", 100).Call
	k.add(prompt.KindToolResult, 300).Call = one
	k.add(prompt.KindToolResult, 300).Call = two
	tr := &layer(t, "truncate-oldest: {trigger: {measure: messages, fixed: 9, count: items}, keep: {messages: 3}}").(*truncate).params.Trigger
	if got := k.measured(tr); got != 6 {
		t.Errorf("%d items, want 6", got)
	}
	k.Context.SetForm(k.Context.Len()-1, prompt.FormCleared, 0, prompt.CauseEdit)
	if got := k.measured(tr); got != 5 {
		t.Errorf("%d items where one is not sent, want 5", got)
	}
}

// A prompt and rounds of two messages each. From 3,500 tokens behind the head on results are cleared: 500 and three rounds of 1,100, or with 300
// tokens a message two rounds, 2,700 and five times 300. What nothing is sent of is no message.
func TestTriggerPerMessage(t *testing.T) {
	for text, want := range map[string]int{"": 3, ", per_message: 300": 2} {
		l, k := layer(t, "clear: {trigger: {measure: since, fixed: 3500"+text+"}, leave: {tokens: 0}}"), newTalk()
		n := 0
		for done := false; !done; n++ {
			k.round("Read", "", 1000)
			done = l.(BeforeRequest).BeforeRequest(&k.Turn).Verdict == Done
		}
		if n != want {
			t.Errorf("%q: round %d clears, want %d", text, n, want)
		}
	}
	k := rounds(2, 900)
	k.Context.SetForm(4, prompt.FormCleared, 0, prompt.CauseEdit)
	if got := countMessages(k.Context, 3, k.Context.Len()); got != 4 {
		t.Errorf("%d messages, want 4 of 5", got)
	}
}

// A prompt, two rounds of a call and its result, and an answer: where no prompt follows a cut it goes on to a response with calls, and where none
// follows either all stays. A prompt that follows is preferred.
func TestCutPrefersPrompts(t *testing.T) {
	cut := func(k *talk, text string) int {
		l := layer(t, "truncate-oldest: {trigger: {fixed: 1}, keep: {"+text+", at_prompt: prefer}}").(*truncate)
		return l.params.Keep.cut(k.Context, 3, k.Context.Len(), 200_000)
	}
	k := rounds(2, 900)
	k.add(prompt.KindText, 20)
	for text, want := range map[string]int{
		"messages: 1": 3, "messages: 2": 6, "messages: 2, pairs_go: true": 3, "messages: 3": 6, "messages: 4": 4, "messages: 4, pairs_go: true": 6,
	} {
		if got := cut(k, text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	k.add(prompt.KindPrompt, 10)
	if got := cut(k, "messages: 3"); got != 9 {
		t.Errorf("with a prompt behind it: %d, want 9", got)
	}
}

// A prompt of 500 and two responses of 30 tokens of text and two calls each: as logged, where each result is a message of its own, and as
// results they are 1 + 3 + 3 messages, as parts 1 + 4 + 4, as rounds 1 + 2 + 2, and without
// the prompt 5 + 5 items. Where three stay, their round does.
func TestMessagesOfSeveralCalls(t *testing.T) {
	k := newTalk()
	for range 2 {
		k.add(prompt.KindText, 30)
		one, two := k.use("Read", "", 100).Call, k.use("Read", "", 100).Call
		k.add(prompt.KindToolResult, 300).Call = one
		k.add(prompt.KindToolResult, 300).Call = two
	}
	k.Context.BlockAt(12).Message = 100 // the second round's results are logged as one message
	k.Context.BlockAt(13).Message = 100
	end := k.Context.Len() // 14: the second response begins at 9
	for text, want := range map[string][3]int{
		"logged":  {6, 4, 4},
		"results": {7, 9, 9},
		"parts":   {9, 9, 9},
		"rounds":  {5, 4, 9},
	} {
		l := layer(t, "truncate-oldest: {trigger: {measure: messages, fixed: 9, count: "+text+"}, keep: {first: 3, messages: 3, count: "+text+"}}").(*truncate)
		p := l.params
		got := [3]int{int(k.measured(&p.Trigger)), p.Keep.cut(k.Context, 3, end, 200_000), p.Keep.start(k.Context, 3, end)}
		if got != want {
			t.Errorf("%s: %d messages, the newest from %d, the first up to %d, want %v", text, got[0], got[1], got[2], want)
		}
	}
}

// What a response says beside its calls goes, as CrewAI does not keep it; an answer without calls stays.
func TestClearTexts(t *testing.T) {
	l, k := layer(t, "clear: {trigger: {fixed: 1}, what: [texts], leave: {tokens: 0}}"), newTalk()
	k.add(prompt.KindText, 30)
	k.round("Read", "", 1000)
	k.add(prompt.KindText, 40)
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	if got, want := k.sizes(3), []int32{500, 0, 100, 1000, 40}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A preset bills an analysis ahead of the summary only where its client asks for one. Claude Code does, and duoduo gives its command;
// Goose, Roo Code, VS Code's Copilot and the Gemini CLI (a scratchpad) do too. What Amp, Kombai and SUPO ask for is in no public source,
// so that they bill the summariser's. All other prompts name the sections, the topics or the length of a summary alone; what
// Anthropic and OpenAI give is the block.
func TestAnalysisIsBilledWhereItIsAskedFor(t *testing.T) {
	asked := strings.Fields("duoduo gemini-cli/2026-08 gemini-cli/2026-11 goose roo vscode-copilot vscode-copilot/beside")
	unknown := strings.Fields("amp amp/handoff kombai supo")
	r, n := builtin(t), 0
	for _, name := range r.Presets() {
		s := preset(t, r, name)
		for _, c := range s.layers {
			p, ok := c.params.(*CompactParams)
			if !ok || slices.Contains(p.Call, wayNone) || s.Group == "" && !strings.HasPrefix(name, "gemini-cli/") {
				continue
			}
			n++
			bills := p.AnalysisShare == nil || *p.AnalysisShare != 0
			if want := slices.Contains(asked, name) || slices.Contains(unknown, name); bills != want {
				t.Errorf("%s bills an analysis: %v, want %v", name, bills, want)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d presets summarise", n)
	}
}
