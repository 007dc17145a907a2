package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"pgregory.net/rapid"
)

// serverRules are the numbers of an edit in the reference.
type serverRules struct {
	trigger, atLeast int32
	keep, thinking   int
	original         bool
}

// whatIsLeft replays a whole history as the server would that knows nothing but
// it: what every entry weighs in the last request, the requests ending at the
// given positions. Every response is one entry of thinking and calls of Read.
func whatIsLeft(c *prompt.Context, requests []int, r serverRules) []int32 {
	left := make([]int32, c.Len())
	for i := range left {
		left[i] = c.At(i).Tokens
	}
	var saved int32
	for _, n := range requests {
		var results, turns []int
		size, whole := int32(0), int32(0)
		for i := range n {
			size += left[i]
			whole += c.At(i).Tokens
			switch c.At(i).Kind {
			case prompt.KindToolResult:
				results = append(results, i)
			case prompt.KindThinking:
				turns = append(turns, i)
			}
		}
		if r.thinking > 0 {
			for _, i := range turns[:max(0, len(turns)-r.thinking)] {
				left[i] = 0
			}
		}
		if r.original {
			size = whole
		}
		old := results[:max(0, len(results)-r.keep)]
		saving := int32(0)
		for _, i := range old {
			saving += left[i] - 12
		}
		fresh := saving
		if r.original {
			saving += saved
		}
		if size < r.trigger || saving < r.atLeast || fresh <= 0 {
			continue
		}
		saved += fresh
		for _, i := range old {
			left[i] = 12
		}
	}
	return left
}

// What the layer does step by step is what follows from the client's full
// history alone: the server keeps no state between requests.
func TestAPIContextFollowsFromTheHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := serverRules{
			trigger: rapid.Int32Range(18000, 60000).Draw(rt, "trigger"),
			atLeast: rapid.Int32Range(0, 20000).Draw(rt, "clear_at_least"),
			keep:    rapid.IntRange(0, 4).Draw(rt, "keep"),
			// 0 keeps all
			thinking: rapid.IntRange(0, 3).Draw(rt, "thinking"),
			original: rapid.Bool().Draw(rt, "original"),
		}
		p := defaultAPIContext()
		p.Basis, p.Uses.Enabled, p.Thinking.Keep = basis(r.original), false, keepTurns(r.thinking)
		p.Results.InputTokens, p.Results.ClearAtLeast, p.Results.Keep = int64(r.trigger), int64(r.atLeast), r.keep
		l, k := newAPIContext(p), newTalk()
		var requests []int
		for range rapid.IntRange(1, 20).Draw(rt, "responses") {
			k.add(prompt.KindThinking, rapid.Int32Range(1, 500).Draw(rt, "thinking tokens"))
			k.parallel("Read", rapid.SliceOfN(rapid.Int32Range(13, 9000), 1, 3).Draw(rt, "results")...)
			l.BeforeRequest(&k.Turn)
			requests = append(requests, k.Context.Len())
		}
		full := newTalk()
		for i := full.Context.Len(); i < k.Context.Len(); i++ {
			full.Context.Add(*k.Context.BlockAt(i))
		}
		if got, want := k.sizes(0), whatIsLeft(full.Context, requests, r); !slices.Equal(got, want) {
			rt.Fatalf("step by step %v\nfrom the history %v", got, want)
		}
	})
}

// Hooks that look and decline allocate nothing, and what they look at does not
// grow with the context: a list that is up to date is not gone through again.
func TestClearingDeclinesForFree(t *testing.T) {
	k, h := hosted()
	for range 200 {
		k.round("Read", "", 100)
	}
	for _, text := range []string{
		"tool-storage: {}",
		"tool-storage: {reread: {share: 0.5}}",
		"time-microcompact: {}",
		"cached-microcompact: {threshold: 1000}",
		"api-context: {}",
		"api-context: {clear_results: {input_tokens: 20000}}",
		"microcompact: {trigger: {fixed: 1}}",
	} {
		l := layer(t, text).(BeforeRequest)
		if n := testing.AllocsPerRun(100, func() { l.BeforeRequest(&k.Turn) }); n != 0 {
			t.Errorf("%s: %g allocations a call", text, n)
		}
		if len(h.refused) > 0 || len(h.deleted) > 0 || k.Boundary().Kind != boundaryNone {
			t.Errorf("%s does not decline", text)
		}
	}
}

// Contradictions in parameters are reported together.
func TestClearingProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"tool-storage: {reread: {share: 1, after: 0}}": {"tool-storage.reread: after, output and limit must be positive"},
		"tool-storage: {preview: 20001, retune: {scale: 0}, reread: {share: 2}, pointer: -1}": {
			"pointer -1 must not be negative", "preview 20001 is more than the limit 20000", "scale 0 must be above 0",
			"share 2 must lie in 0…1"},
		"time-microcompact: {gap_minutes: 0, tools: [], keep_recent: -1}": {
			"gap_minutes 0 must lie in 1…153722867", "tools names none", "keep_recent -1 must not be negative"},
		"time-microcompact: {gap_minutes: 153722868}": {"gap_minutes 153722868 must lie in 1…153722867"}, // 2⁶³ ns
		"api-context: {clear_thinking: {idle_after_minutes: 9223372036854775807}}": {
			"clear_thinking.idle_after_minutes 9223372036854775807 must lie in 0…153722867"},
		"keepalive: {at_most: 256}": {"at_most 256 must lie in 0…255"},
		"cached-microcompact: {threshold: 5, tools: [], edit_tokens: -1}": {
			"threshold 5 must be more than keep_recent 5", "tools names none", "edit_tokens -1 must not be negative"},
		"api-context: {clear_results: {tool_uses: 5}, clear_uses: {input_tokens: 0}, clear_thinking: {idle_after_minutes: 0}, placeholder: -1}": {
			"clear_results: want one trigger", "clear_uses: want one trigger", "idle_after_minutes must be positive", "placeholder -1"},
		"api-context: {clear_thinking: {keep: none}}": {"want all or a number above 0"},
		"api-context: {basis: edit}":                  {`basis: unknown value "edit"`},
		"server-hint: {target_tokens_saved: 10, tools: [], keep_recent: -1}": {
			"10 is below floor 20000", "tools names none", "keep_recent -1 must not be negative"},
	} {
		err := builtin(t).AddPreset([]byte("name: x\nlayers:\n  - "+text+"\n"), "p.yaml")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v does not say %q", text, err, w)
			}
		}
	}
	s, _ := builtin(t).Strategy("api-context")
	if err := s.ValidateFor(&Reading{Window: 150_000}); err == nil {
		t.Error("a trigger at 180,000 of a window of 150,000 is not reported")
	}
	if got := s.Thresholds(&Reading{Window: 200_000}); len(got) != 1 || got[0].Value != 180_000 {
		t.Errorf("thresholds %+v", got)
	}
}
