package strategies

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// Short forks share the prefix, take 1–3 turns and ask for 5 minutes
// (000:214-215); a suggestion is a line.
func TestShortForkCalls(t *testing.T) {
	for text, want := range map[string]prompt.Intent{
		"prompt-suggestion: {share: 1}": {
			Source: "prompt_suggestion", Way: "fork", Turns: 1, Instruction: 300, SkipCacheWrite: true, Lifetime: ask.Lifetime5m},
		"prompt-suggestion: {share: 1, lifetime: 1h, skip_cache_write: false}": {
			Source: "prompt_suggestion", Way: "fork", Turns: 1, Instruction: 300, Lifetime: ask.Lifetime1h},
		"speculation: {share: 1, turns: 3, lifetime: client}": {
			Source: "speculation", Way: "fork", Turns: 3, TurnInput: 1000, Instruction: 50},
	} {
		k, h := besideTalk()
		l := layer(t, text)
		calls := loopEnds(k, l)
		if len(calls) != 1 {
			t.Fatalf("%s: %d calls", text, len(calls))
		}
		got := calls[0]
		got.Known = nil
		if got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		answers(k, l, "")
		if h.counts[measures.Suggestions] != 1 || h.why(t) != "not taken" {
			t.Errorf("%s: %v %v", text, h.counts, h.reasons)
		}
	}
}

// 58 % of the recorded turns end with a suggestion. Both forks ask one draw, of
// a half here, so that at equal shares they come together.
func TestShortForkShare(t *testing.T) {
	for _, name := range []string{standard.Suggestion, speculationName} {
		for text, want := range map[string]int{"": 1, "share: 0.5": 0, "share: 0.51": 1, "share: 0": 0} {
			k, h := besideTalk()
			if got := len(loopEnds(k, layer(t, fmt.Sprintf("%s: {%s}", name, text)))); got != want {
				t.Errorf("%s {%s}: %d calls, want %d", name, text, got, want)
			}
			if h.draws[0] != standard.Suggestion {
				t.Errorf("%s asks the draws of %v", name, h.draws)
			}
		}
	}
}

// Only the main conversation is asked for more, and not while an answer is
// awaited.
func TestShortForkExclusions(t *testing.T) {
	for _, kind := range []traces.ThreadKind{traces.ThreadAgent, traces.ThreadBranch, traces.ThreadOrphan} {
		k, _ := besideTalk()
		k.Kind = kind
		if n := len(loopEnds(k, layer(t, "speculation: {share: 1}"))); n != 0 {
			t.Errorf("%v: %d calls", kind, n)
		}
	}
	k, h := besideTalk()
	l := layer(t, "speculation: {share: 1}")
	loopEnds(k, l)
	if n := len(loopEnds(k, l)); n != 0 || h.why(t) != "one is under way" {
		t.Errorf("%d calls beside one, %v", n, h.reasons)
	}
	if n := len(loopEnds(k, l.Clone())); n != 1 {
		t.Errorf("a branch waits for the call of its parent")
	}
}

// What becomes of an answer, by draws of a half: suppressed comes first.
func TestShortForkFates(t *testing.T) {
	for params, want := range map[string]string{
		"suppressed: 0.6, accepted: 1": "suppressed before a person saw it",
		"suppressed: 0.5, accepted: 1": "",
		"accepted: 0.4":                "not taken",
	} {
		k, h := besideTalk()
		l := layer(t, "prompt-suggestion: {"+params+"}")
		loopEnds(k, l)
		answers(k, l, "")
		if got := h.why(t); got != want || h.counts[measures.Suggestions] != 1 {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
	k, h := besideTalk()
	l := layer(t, "prompt-suggestion: {}")
	loopEnds(k, l)
	answers(k, l, ask.FailTooLong)
	if h.why(t) != ask.FailTooLong || h.counts[measures.Suggestions] != 0 {
		t.Errorf("a failure: %v %v", h.reasons, h.counts)
	}
}
