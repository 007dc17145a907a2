package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// noThinking leaves clear_tool_uses alone.
const noThinking = "clear_thinking: {enabled: false}"

// B1: from the trigger on the oldest results go, the newest three calls stay,
// and when less than clear_at_least can go nothing does. The client's values are
// 180,000 and 140,000. A talk begins with 18,500 tokens, each call has 100.
func TestAPIContextResults(t *testing.T) {
	const p = 12
	for name, tc := range map[string]struct {
		text    string
		tool    string
		results []int32
		want    []int32
	}{
		"at the trigger":              {"{}", "Read", []int32{140012, 10000, 10000, 1088}, []int32{p, 10000, 10000, 1088}}, // 18,500 + 400 + 161,100
		"a token below":               {"{}", "Read", []int32{140012, 10000, 10000, 1087}, []int32{140012, 10000, 10000, 1087}},
		"a token too little to clear": {"{}", "Read", []int32{140011, 10000, 10000, 10000}, []int32{140011, 10000, 10000, 10000}},
		"not for Task":                {"{}", "Task", []int32{140012, 10000, 10000, 10000}, []int32{140012, 10000, 10000, 10000}},
		"nor for MCP":                 {"{}", "mcp__db__query", []int32{140012, 10000, 10000, 10000}, []int32{140012, 10000, 10000, 10000}},
		"all tools":                   {"{clear_results: {tools: []}}", "mcp__db__query", []int32{140012, 10000, 10000, 10000}, []int32{p, 10000, 10000, 10000}},
		"all but some": {"{clear_results: {tools: [], exclude_tools: [Bash]}}", "Bash",
			[]int32{140012, 10000, 10000, 10000}, []int32{140012, 10000, 10000, 10000}},
		"another placeholder": {"{placeholder: 20}", "Read", []int32{140020, 10000, 10000, 10000}, []int32{20, 10000, 10000, 10000}},
		"one kept":            {"{clear_results: {keep: 1}}", "Read", []int32{140012, 10000, 10000, 10000}, []int32{p, p, p, 10000}},
		"the provider's defaults": {"{clear_results: {input_tokens: 100000, clear_at_least: 0, tools: []}}", "Task",
			[]int32{20000, 20000, 20000, 20000, 1000}, []int32{p, p, 20000, 20000, 1000}},
		"by calls":          {"{clear_results: {input_tokens: 0, tool_uses: 5, clear_at_least: 0}}", "Read", []int32{50, 51, 52, 53, 54}, []int32{p, p, 52, 53, 54}},
		"by calls, too few": {"{clear_results: {input_tokens: 0, tool_uses: 6, clear_at_least: 0}}", "Read", []int32{50, 51, 52, 53, 54}, []int32{50, 51, 52, 53, 54}},
		// 002:67: the most recent results up to a target of 40,000 stay, however many.
		"40k kept":             {"{clear_results: {keep_tokens: 40000}}", "Read", []int32{140012, 20001, 10000, 9000, 1000, 20000}, []int32{p, p, 10000, 9000, 1000, 20000}},
		"the newest is larger": {"{clear_results: {keep_tokens: 40000}}", "Read", []int32{140012, 40001}, []int32{p, p}},
		"off":                  {"{clear_results: {enabled: false}}", "Read", []int32{170000, 10000, 10000, 10000}, []int32{170000, 10000, 10000, 10000}},
	} {
		k, _ := hosted()
		for _, r := range tc.results {
			k.round(tc.tool, "", r)
		}
		before := int64(k.Context.Tokens())
		out := asked(t, layer(t, "api-context: "+tc.text), k)
		if got := k.results(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v (%+v), want %v", name, got, out, tc.want)
		}
		b := k.Boundary()
		if acts := !slices.Equal(tc.results, tc.want); acts != (out.Verdict == Done) ||
			acts && (b.Kind != BoundaryServer || b.Before != before || b.After != int64(k.Context.Tokens()) || b.Uncounted != 0) {
			t.Errorf("%s: %+v, boundary %+v", name, out, b)
		}
	}
}

// The second edit is for tools whose input is the waste: the input goes too
// (002:69). Calls are left of 60 tokens, results of 12.
func TestAPIContextInputs(t *testing.T) {
	for text, want := range map[string][]int32{
		"{}": {60, 12, 60, 12, 500, 100, 500, 100, 500, 100}, // clears 80,000 + 80,000 of input
		"{clear_uses: {clear_tool_inputs: false, clear_at_least: 100}}": {80000, 12, 80000, 12, 500, 100, 500, 100, 500, 100},
		"{clear_uses: {clear_tool_inputs: false}}":                      {80000, 100, 80000, 100, 500, 100, 500, 100, 500, 100},
		"{empty_use: 10}": {10, 12, 10, 12, 500, 100, 500, 100, 500, 100},
	} {
		k, _ := hosted()
		for _, input := range []int32{80000, 80000, 500, 500, 500} {
			u := *k.use("Write", "", input)
			r := k.add(prompt.KindToolResult, 100)
			r.Call, r.Tool = u.Call, u.Tool
		}
		asked(t, layer(t, "api-context: "+text), k)
		if got := k.sizes(4); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// think adds a response that thinks, with a call and its result.
func (k *talk) think(tokens int32) {
	k.add(prompt.KindThinking, tokens)
	k.round("Read", "", 10)
}

// thinking returns the tokens of the thinking in the context.
func (k *talk) thinking() []int32 {
	var list []int32
	for i := range k.Context.Len() {
		if e := k.Context.At(i); e.Kind == prompt.KindThinking {
			list = append(list, e.Tokens)
		}
	}
	return list
}

// clear_thinking_20251015: all stay, or the newest turns; after more than an
// hour one turn stays, once, and what went stays away. The client of March 26 to
// April 10, 2026 asked for one turn ever after.
func TestAPIContextThinking(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		idle [3]int64 // ahead of three requests, each with one response of thinking more
		want [3][]int32
	}{
		"all stay":               {"{}", [3]int64{0, 60 * minutes, 0}, [3][]int32{{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}}},
		"once":                   {"{}", [3]int64{0, 60*minutes + 1, 0}, [3][]int32{{1, 2, 3}, {0, 0, 0, 4}, {0, 0, 0, 4, 5}}},
		"every turn":             {"{clear_thinking: {every_turn: true}}", [3]int64{0, 61 * minutes, 0}, [3][]int32{{1, 2, 3}, {0, 0, 0, 4}, {0, 0, 0, 0, 5}}},
		"two turns":              {"{clear_thinking: {keep: 2, idle_keep: 0}}", [3]int64{0, 61 * minutes, 0}, [3][]int32{{0, 2, 3}, {0, 0, 3, 4}, {0, 0, 0, 4, 5}}},
		"two, fewer after a gap": {"{clear_thinking: {keep: 2}}", [3]int64{0, 61 * minutes, 0}, [3][]int32{{0, 2, 3}, {0, 0, 0, 4}, {0, 0, 0, 4, 5}}},
		"two after a gap":        {"{clear_thinking: {idle_keep: 2, idle_after_minutes: 5}}", [3]int64{0, 6 * minutes, 0}, [3][]int32{{1, 2, 3}, {0, 0, 3, 4}, {0, 0, 3, 4, 5}}},
		"off":                    {"{clear_thinking: {enabled: false}}", [3]int64{0, 61 * minutes, 0}, [3][]int32{{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}}},
	} {
		k, _ := hosted()
		l := layer(t, "api-context: "+tc.text)
		k.think(1)
		k.think(2)
		for i := range tc.idle {
			k.think(int32(3 + i))
			k.Idle = tc.idle[i]
			asked(t, l, k)
			if got := k.thinking(); !slices.Equal(got, tc.want[i]) {
				t.Errorf("%s: request %d has %v, want %v", name, i, got, tc.want[i])
			}
		}
	}
}

// A turn is a response: its blocks of thinking go or stay together.
func TestAPIContextThinkingTurns(t *testing.T) {
	k, _ := hosted()
	for i := range int32(3) {
		k.add(prompt.KindThinking, 10+i)
		k.add(prompt.KindText, 5)
		k.think(20 + i)
		k.round("Read", "", 1) // a response without thinking is no turn with thinking
	}
	l := layer(t, "api-context: {clear_thinking: {keep: 2}}").(*apiContext)
	asked(t, l, k)
	if len(l.thought.list) != 4 {
		t.Errorf("%d blocks of thinking listed, want the four that stay", len(l.thought.list))
	}
	if got, want := k.thinking(), []int32{0, 0, 11, 21, 12, 22}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Looking at the original history, each request clears anew: the window of kept
// calls moves, and with it the point from which the prefix changes. Looking at
// what is left, the next clearing waits for the trigger.
func TestAPIContextBasis(t *testing.T) {
	const p = 12
	for text, want := range map[string][]int32{
		"basis: edited":   {p, p, 40000, 40000, 40000, 100, 100},
		"basis: original": {p, p, p, p, 40000, 100, 100},
	} {
		k, _ := hosted()
		l := layer(t, "api-context: {"+text+", "+noThinking+", clear_results: {clear_at_least: 70000}}")
		for _, r := range []int32{40000, 40000, 40000, 40000, 40000, 100, 100} {
			k.round("Read", "", r)
			asked(t, l, k)
		}
		if got := k.results(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// The same for a trigger by calls: cleared ones count in the original history.
func TestAPIContextBasisOfCalls(t *testing.T) {
	const p = 12
	for text, want := range map[string][]int32{
		"basis: edited":   {p, p, 52, 53, 54, 55},
		"basis: original": {p, p, p, 53, 54, 55},
	} {
		k, _ := hosted()
		l := layer(t, "api-context: {"+text+", clear_results: {input_tokens: 0, tool_uses: 5, clear_at_least: 0}}")
		for i := range int32(6) {
			k.round("Read", "", 50+i)
			asked(t, l, k)
		}
		if got := k.results(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// What another layer has cleared meanwhile is neither counted nor touched.
func TestClearingBesideOthers(t *testing.T) {
	for _, text := range []string{
		"api-context: {clear_results: {input_tokens: 0, tool_uses: 5, clear_at_least: 30000}}",
		"microcompact: {trigger: {fixed: 1}}",
	} {
		k, _ := hosted()
		l := layer(t, text)
		for range 4 {
			k.round("Read", "", 20000)
		}
		if strings.HasPrefix(text, "api") {
			asked(t, l, k) // four calls are listed, too few
		} else {
			l.(*microcompact).results.update(&k.Turn)
		}
		k.Context.SetForm(5, prompt.FormPointer, 40, prompt.CauseEdit)
		k.round("Read", "", 20000)
		if api := strings.HasPrefix(text, "api"); api && asked(t, l, k).Verdict != Declined {
			t.Errorf("%s: clears though four of five are left", text)
		}
		k.round("Read", "", 20000)
		out := asked(t, l, k)
		if want := []int32{40, 12, 12, 20000, 20000, 20000}; out.Verdict != Done || !slices.Equal(k.results(), want) {
			t.Errorf("%s: %v (%+v), want %v", text, k.results(), out, want)
		}
		if b := k.Boundary(); b.Cleared != 2 {
			t.Errorf("%s: %d cleared, want 2", text, b.Cleared)
		}
	}
}

// Sub-agents ask for it or not; a compaction and a branch begin and go on.
func TestAPIContextState(t *testing.T) {
	for text, want := range map[string]Verdict{"{}": Done, "{subagents: false}": Declined} {
		k, _ := hosted()
		k.Kind = agentKind
		for range 4 {
			k.round("Read", "", 141000)
		}
		l := layer(t, "api-context: "+text).(*apiContext)
		if out := asked(t, l, k); out.Verdict != want {
			t.Errorf("%s: %+v", text, out)
		}
		if want == Declined {
			continue
		}
		c := l.Clone().(*apiContext)
		l.AfterCompaction(&k.Turn)
		if l.saved != 0 || l.results.saved != 0 || c.saved != 141000-12 || c.results.cleared != 1 {
			t.Errorf("behind a compaction %d, in the branch %d tokens cleared", l.saved, c.saved)
		}
		c.few = true
		if c.Reset(); c.few || c.saved != 0 || len(c.results.calls.tools.member) != 0 {
			t.Error("a reset leaves something")
		}
	}
}

// Thinking that is not shown weighs nothing, and a turn with no other thinking does not count among the turns that stay.
func TestThinkingOfNoTokens(t *testing.T) {
	k := newTalk()
	for _, tokens := range []int32{40, 50, 0} {
		k.think(tokens)
		k.add(prompt.KindPrompt, 5)
	}
	layer(t, "api-context: {clear_thinking: {enabled: true, keep: 1}}").(BeforeRequest).BeforeRequest(&k.Turn)
	if got, want := k.thinking(), []int32{0, 50, 0}; !slices.Equal(got, want) {
		t.Errorf("thinking %v, want %v", got, want)
	}
}
