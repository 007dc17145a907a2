package strategies

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/traces"
)

// A condition is a trigger or any of others, all of some more, at its place and in a cold
// cache. The talk has ten rounds, one prompt and 28,500 tokens, and has been idle for six minutes.
func TestConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"trigger: {fixed: 28500}": true,
		"trigger: {fixed: 28501}": false,
		"trigger: {fixed: 90000}, when: {any: [{measure: idle, fixed: 300000000000}]}": true,
		"trigger: {fixed: 90000}, when: {any: [{measure: idle, fixed: 600000000000}]}": false,
		"trigger: {fixed: 1}, when: {all: [{measure: messages, fixed: 21}]}":           true,
		"trigger: {fixed: 1}, when: {all: [{measure: messages, fixed: 22}]}":           false,
		"trigger: {measure: results, fixed: 10}":                                       true,
		"trigger: {measure: results, fixed: 11}":                                       false,
		"trigger: {measure: prompts, fixed: 1}":                                        true,
		"trigger: {measure: prompts, fixed: 2}":                                        false,
		"trigger: {measure: since, fixed: 10500}":                                      true,
		"trigger: {measure: since, fixed: 10501}":                                      false,
		"trigger: {measure: used, fixed: 27600}":                                       true, // all but the last result
		"trigger: {measure: used, fixed: 27601}":                                       false,
		"trigger: {measure: gain, fixed: 8880}":                                        true,
		"trigger: {measure: gain, fixed: 8881}":                                        false,
		"trigger: {measure: resent, fixed: 1020}":                                      true, // nine calls and what is left of ten results
		"trigger: {measure: resent, fixed: 1021}":                                      false,
		"trigger: {fixed: 1}, when: {at: prompt}":                                      false,
		"trigger: {fixed: 1}, when: {at: end}":                                         false,
		"trigger: {fixed: 1}, when: {cold: true}":                                      true,
		"trigger: {fixed: 90000}, when: {any: [{fixed: 1}], all: [{fixed: 90000}]}":    false,
		"trigger: {reserve: 190000, at_least: 0.1425}":                                 true,
		"trigger: {reserve: 190000, at_least: 0.1426}":                                 false,
	} {
		l, k := layer(t, "clear: {"+text+"}"), rounds(10, 900)
		k.Trigger, k.Usage.Read = traces.TriggerToolResult, 1
		k.Idle, k.Life = int64(6*time.Minute), int64(5*time.Minute)
		k.Reading.Values[MeasureIdle] = k.Idle
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); (out.Verdict == Done) != want {
			t.Errorf("%s: %+v", text, out)
		}
	}
	l, k := layer(t, "clear: {trigger: {fixed: 1}, when: {at: end}}"), rounds(1, 900)
	if out := l.(EndOfLoop).EndOfLoop(&k.Turn); out.Verdict != Done {
		t.Errorf("at the end of a loop: %+v", out)
	}
	l, k = layer(t, "clear: {trigger: {fixed: 1}, when: {at: prompt}}"), rounds(1, 900)
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
		t.Errorf("behind a prompt: %+v", out)
	}
	l, k = layer(t, "clear: {trigger: {fixed: 1}, when: {cold: true}}"), rounds(1, 900)
	k.Usage.Read, k.Life = 1, 1
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Declined {
		t.Errorf("in a warm cache: %+v", out)
	}
}

// What stays: a prompt of 500 and ten rounds of 100 and 900, behind a head of three entries.
func TestKeepSets(t *testing.T) {
	for text, want := range map[string][2]int{
		"{}":                                  {3, 24},
		"{first: 1}":                          {4, 24},
		"{first: 2}":                          {4, 24}, // a call is not parted from its result
		"{first: 3}":                          {6, 24},
		"{first: 99}":                         {24, 24},
		"{messages: 1}":                       {3, 22},
		"{messages: 4}":                       {3, 20},
		"{messages: 99}":                      {3, 3},
		"{prompts: 1}":                        {3, 3},
		"{tokens: 3000}":                      {3, 18},
		"{window: 0.01}":                      {3, 20}, // 2,000 of 200,000
		"{share: 0.2}":                        {3, 20},
		"{tokens: 3000, messages: 4}":         {3, 20},
		"{tokens: 1000, messages: 4}":         {3, 22},
		"{rounds: 1, messages: 4}":            {3, 22},
		"{first: 3, window: 0.01, rounds: 3}": {6, 20},
	} {
		k := rounds(10, 900)
		l := layer(t, "clear: {trigger: {fixed: 1}, keep: "+text+"}").(*clearing)
		keep := &l.params.Keep
		low := keep.start(k.Context, 3, 24)
		if got := [2]int{low, keep.cut(k.Context, low, 24, 200_000)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	k := rounds(2, 900)
	k.add(prompt.KindPrompt, 10)
	k.round("Bash", "", 900)
	if at := (&KeepSet{Prompts: 1}).cut(k.Context, 3, k.Context.Len(), 0); at != 8 {
		t.Errorf("the last prompt is at 8, not %d", at)
	}
}

// What a clearing takes, and what it leaves: results of 4,000, 2,000 and 1,000 tokens and one of 3,000 of another tool,
// each behind a call of 100; four bytes are a token.
func TestClear(t *testing.T) {
	for text, want := range map[string][]int32{
		"":                                          {12, 12, 12, 12},
		"tools: [read]":                             {12, 12, 12, 3000},
		"tools: [Bash]":                             {4000, 2000, 1000, 12},
		"exclude_tools: [read]":                     {4000, 2000, 1000, 12},
		"min_bytes: 8000":                           {12, 12, 1000, 12},
		"keep_results: 2":                           {12, 12, 1000, 3000},
		"keep: {messages: 2}":                       {12, 12, 12, 3000},
		"keep_tokens: 4000":                         {12, 12, 1000, 3000},   // 3,000 and 1,000 of the newest reach it, the next goes
		"keep_tokens: 3999":                         {12, 12, 12, 3000},     // and all behind the first that goes
		"tools: [read], keep_tokens: 3000":          {12, 2000, 1000, 3000}, // results of other tools do not count
		"keep: {messages: 2}, keep_tokens: 1000":    {12, 12, 1000, 3000},   // the newest round does not count either
		"keep_tokens: 8000, bytes_per_token: 2":     {12, 12, 1000, 3000},   // the same results are 6,000 and 2,000 of such tokens
		"superseded: true":                          {12, 2000, 1000, 3000},
		"leave: {tokens: 0, head: 1200, tail: 800}": {500, 500, 500, 500},
		"leave: {tokens: 10, share: 0.5}":           {2010, 1010, 510, 1510},
		"leave: {tokens: 1000}":                     {1000, 1000, 1000, 1000},
		"min_gain: 9952":                            {12, 12, 12, 12},
		"min_gain: 9953":                            {4000, 2000, 1000, 3000},
		"min_share: 0.5":                            {12, 12, 12, 12}, // 9,952 of 18,948 that remain
		"min_share: 0.53":                           {4000, 2000, 1000, 3000},
		"batch: 4":                                  {12, 12, 12, 12},
		"batch: 5":                                  {4000, 2000, 1000, 3000},
		"target: 0.9, order: oldest":                {12, 2000, 1000, 3000}, // 28,900 down to 26,010
		"target: 0.9, order: newest":                {4000, 2000, 1000, 12},
		"target: 0.8, order: largest":               {12, 2000, 1000, 12},
		"what: [inputs]":                            {4000, 2000, 1000, 3000},
		"worth: {calls: 1.3}":                       {12, 12, 12, 12}, // 1.15 of 348 against 0.1 of 9,952 a call
		"worth: {calls: 0.1}":                       {4000, 2000, 1000, 3000},
	} {
		k := newTalk()
		k.round("Read", "/a", 4000)
		k.round("Read", "/b", 2000)
		k.round("Read", "/a", 1000)
		k.round("Bash", "", 3000)
		k.Usage.Read, k.Life = 1, 1
		l := layer(t, "clear: {trigger: {fixed: 28900}, "+text+"}")
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if !slices.Equal(k.results(), want) {
			t.Errorf("%s: %v, want %v", text, k.results(), want)
		}
		if b := k.Boundary(); (b.Kind == BoundaryMicro) != !slices.Equal(want, []int32{4000, 2000, 1000, 3000}) && text != "what: [inputs]" {
			t.Errorf("%s: boundary %+v", text, b)
		}
	}
}

// The client of keep_tokens counts all that it would take, 6,000 tokens of 24,000 bytes, and not the 24 tokens less that it wins. What it
// has cleared counts as nothing the next time: 4,000 tokens stay, and nothing is behind them.
func TestClearByClientsCount(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []int32
	}{
		{"fixed: 6000}, keep_tokens: 4000, bytes_per_token: 4", []int32{12, 12, 1000, 3000}},
		{"fixed: 6001}, keep_tokens: 4000, bytes_per_token: 4", []int32{4000, 2000, 1000, 3000}},
		{"fixed: 6000}, keep_tokens: 4000", []int32{4000, 2000, 1000, 3000}},
		{"fixed: 5976}, keep_tokens: 4000", []int32{12, 12, 1000, 3000}},
	} {
		k := newTalk()
		k.round("Read", "/a", 4000)
		k.round("Read", "/b", 2000)
		k.round("Read", "/a", 1000)
		k.round("Bash", "", 3000)
		l := layer(t, "clear: {trigger: {measure: gain, "+tc.text+"}").(BeforeRequest)
		l.BeforeRequest(&k.Turn)
		if got := k.results(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.text, got, tc.want)
		}
		if out := l.BeforeRequest(&k.Turn); out.Verdict != Declined {
			t.Errorf("%s: again %+v", tc.text, out)
		}
	}
}

// Thinking goes without a trace, media leave a placeholder, inputs of calls too.
func TestClearOtherKinds(t *testing.T) {
	k := newTalk()
	k.add(prompt.KindThinking, 300)
	k.round("Bash", "", 900)
	k.add(prompt.KindImage, 1500)
	k.round("mcp__db__query", "", 700).Flags |= prompt.FlagImage
	for _, tc := range []struct {
		text string
		want []int32
	}{
		{"what: [thinking], leave: {tokens: 0}", []int32{500, 0, 100, 900, 1500, 100, 700}},
		{"what: [media], leave: {tokens: 3}", []int32{500, 0, 100, 900, 3, 100, 3}},
		{"what: [inputs]", []int32{500, 0, 12, 900, 3, 12, 3}},
	} {
		layer(t, "clear: {trigger: {fixed: 1}, "+tc.text+"}").(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.text, got, tc.want)
		}
	}
}

// A compaction without a call puts the client's text in place; others are refused that gain
// little or do not pay back; and a summary of 3,000 for less than that is thrown away.
func TestCompactionGuards(t *testing.T) {
	const none = "attachments: {files: {count: 0}, skills: {each: 0}, plan: false, plan_mode: 0, agent_status: 0}, summary: {header: 0, pointer: 0, continuation: 0}"
	for text, want := range map[string][]int32{
		"call: [none], local: {tokens: 40}":                                          {40},
		"call: [none], local: {tokens: 40, per_round: 5}":                            {90},
		"call: [none], local: {tokens: 40, per_round: 5, most: 60}":                  {60},
		"call: [none], local: {tokens: 40}, keep: {first: 1, messages: 2}":           {500, 40, 100, 900},
		"call: [none], local: {tokens: 40}, keep: {user_tokens: 100, messages: 2}":   {100, 40, 100, 900},
		"call: [none], local: {tokens: 40}, min_gain: 0.36":                          {40}, // 10,500 of 28,500
		"call: [none], local: {tokens: 40}, min_gain: 0.37":                          nil,
		"call: [none], local: {tokens: 40}, worth: {calls: 1}":                       {40},
		"call: [none], local: {tokens: 40}, worth: {calls: 1}, keep: {messages: 10}": nil, // 1.15 of 5,000 against 0.1 of 5,500
	} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, "+none+", "+text+"}"), rounds(10, 900)
		k.Usage.Read, k.Life = 1, 1
		out := l.(BeforeRequest).BeforeRequest(&k.Turn)
		if got := k.sizes(3); (out.Verdict == Done) != (want != nil) || want != nil && !slices.Equal(got, want) {
			t.Errorf("%s: %v, %+v; want %v", text, got, out, want)
		}
	}
	for text, want := range map[string]Verdict{"smaller: true": Failed, "smaller: false": Done} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [streaming], "+text+"}"), rounds(2, 900)
		begin(t, l, k)
		if _, out := answer(l, k, "", 0); out.Verdict != want {
			t.Errorf("%s: %+v", text, out)
		}
	}
}

// fast is the small model of the family; where none is known, the session's own.
func TestFastModel(t *testing.T) {
	for model, want := range map[string]string{
		"claude-opus-4-6": "claude-haiku-4-5", "claude-3-7-sonnet-20250219": "claude-3-5-haiku-20241022", "gpt-5.3-codex": "gpt-5-mini",
		"gpt-4.1": "gpt-4.1-mini", "gemini-3-pro": "gemini-2.5-flash", "kimi-k2": "",
	} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [small-model], small_model: {model: fast}}"), rounds(2, 900)
		k.Model = model
		if in := begin(t, l, k); in.Model != want {
			t.Errorf("%s: %q, want %q", model, in.Model, want)
		}
	}
}

// Rounds go down to what is kept, from the middle, or until as many rounds fit as grew.
func TestTruncateWhatIsNotKept(t *testing.T) {
	for text, want := range map[string][]int32{
		"trigger: {measure: messages, fixed: 21}, keep: {messages: 6}":           {8, 9, 10},
		"trigger: {measure: messages, fixed: 22}, keep: {messages: 6}":           {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"trigger: {measure: messages, fixed: 21}, keep: {first: 5, messages: 4}": {1, 2, 9, 10},
		"trigger: {fixed: 28000}, target: 0.75":                                  {9, 10},
		"trigger: {fixed: 28000}, target: 0.75, middle: true":                    {1, 10},
		"trigger: {fixed: 28000}, target: 0.95, rounds: 2":                       {8, 9, 10}, // of 2,850 each: down to 22,300
	} {
		l, k := layer(t, "truncate-oldest: {"+text+"}"), rounds(10, 900)
		k.Reading.Values[MeasureRounds] = 10
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		var got []int32
		for i := range k.Context.Len() {
			if b := k.Context.BlockAt(i); b.Kind == prompt.KindToolResult {
				got = append(got, b.Call)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: rounds %v stay, want %v", text, got, want)
		}
	}
}

// Old results are asked for one by one, oldest first, each with a small model, and nothing is written to its cache.
func TestDistil(t *testing.T) {
	l, k := layer(t, "distil: {trigger: {measure: results, fixed: 4}, min_tokens: 600, keep_results: 1, share: 0.25, most: 300, head: 10, instruction: 20}"), newTalk()
	k.Model = "claude-opus-5"
	for _, n := range []int32{1000, 500, 2000, 3000} {
		k.round("Bash", "", n)
	}
	in := begin(t, l, k)
	if in.Model != "claude-haiku-4-5" || !in.Own || !in.Unmarked || k.Context.At(int(in.From)).Tokens != 1000 || in.To != in.From+1 || in.Instruction != 20 || in.Known.Summary != 250 {
		t.Errorf("%+v", in)
	}
	out := l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
	in, _ = k.Intent()
	if out.Verdict != Pending || k.Context.At(int(in.From)).Tokens != 2000 || in.Known.Summary != 300 {
		t.Errorf("%+v, then %+v", out, in)
	}
	out = l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
	if b := k.Boundary(); out.Verdict != Done || b.Cleared != 2 || !slices.Equal(k.results(), []int32{250, 500, 300, 3000}) {
		t.Errorf("%+v, %+v, results %v", out, b, k.results())
	}
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Declined {
		t.Errorf("with two results left: %+v", out)
	}
}

// A refused request is compacted while another compaction is under way beside the conversation:
// that one may fail, or end, without touching the other. One that is not smaller is thrown away.
func TestTwoCompactions(t *testing.T) {
	start := func(changes string) (*compact, *talk) {
		l, k := layer(t, "full-compact: {trigger: {fixed: 1}, call: [streaming], reactive: true, beside: {enabled: true}"+changes+"}"), rounds(10, 900)
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); len(k.TakeBackground()) != 1 {
			t.Fatalf("%+v", out)
		}
		return l.(*compact), k
	}
	l, k := start("")
	k.round("Bash", "", 700)
	if out := l.PromptTooLong(&k.Turn); out.Verdict != Pending {
		t.Fatalf("%+v", out)
	}
	under := l.call
	if out := l.BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Failed: ask.FailAPI}}); out.Verdict != Failed || !reflect.DeepEqual(l.call, under) {
		t.Errorf("%+v: the compaction under way is %+v, was %+v", out, l.call, under)
	}
	for changes, want := range map[string]int{", smaller: true": 24, ", smaller: false": 4} {
		l, k := start(changes)
		l.BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 10_500, Bytes: 42_000}})
		l.params.Auto = false
		l.BeforeRequest(&k.Turn)
		if got := k.Context.Len(); (got == 24) != (want == 24) {
			t.Errorf("%s: %d entries", changes, got)
		}
	}
}
