package strategies

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// agentTalk is the talk of a sub-agent that has had a response.
func agentTalk() (*talk, *besideHost) {
	k, h := besideTalk()
	k.Kind, k.Thread, k.Parent = traces.ThreadAgent, 1, 0
	k.Usage = prompt.Usage{Read: 18000}
	k.round("Read", "/a", 500)
	return k, h
}

// beats calls the timer n times at the times it asks for, and returns these and
// the calls it makes. Every call is answered at once unless slow.
func beats(k *talk, l Layer, n int, slow bool) (at []time.Duration, calls []prompt.Intent) {
	timer := l.(Timer)
	for range n {
		wake := timer.Wake(&k.Turn)
		at = append(at, time.Duration(wake))
		if wake == 0 {
			return at, calls
		}
		k.Now = wake
		timer.Timer(&k.Turn)
		made := slices.Clone(k.TakeBackground())
		calls = append(calls, made...)
		if len(made) > 0 && !slow {
			answers(k, l, "")
		}
	}
	return at, calls
}

// A summary of 3–5 words every 30 seconds by Haiku (003:2579-2583), for
// sub-agents only, whatever rounds come between.
func TestAgentSummaryBeat(t *testing.T) {
	k, h := agentTalk()
	l := layer(t, "agent-summary: {}")
	at, calls := beats(k, l, 3, false)
	if want := []time.Duration{30 * time.Second, 60 * time.Second, 90 * time.Second}; !slices.Equal(at, want) || len(calls) != 3 {
		t.Errorf("%d summaries at %v, want %v", len(calls), at, want)
	}
	if h.counts[measures.AgentSummaries] != 3 || len(h.reasons) != 0 {
		t.Errorf("%v %v", h.counts, h.reasons)
	}
	k.Now += int64(10 * time.Second)
	if got := l.(Timer).Wake(&k.Turn); got != int64(120*time.Second) {
		t.Errorf("a response in between moves the beat to %v", time.Duration(got))
	}
	k, _ = agentTalk()
	if at, _ := beats(k, layer(t, "agent-summary: {seconds: 45}"), 1, false); at[0] != 45*time.Second {
		t.Errorf("every 45 seconds: first at %v", at[0])
	}
	k, _ = besideTalk()
	if at, _ := beats(k, layer(t, "agent-summary: {}"), 1, false); at[0] != 0 {
		t.Errorf("the main conversation is summarised at %v", at[0])
	}
}

// The small model cannot share the sub-agent's cache: another head, and without
// thinking none is sent. The sub-agent's own model gets its prefix.
func TestAgentSummaryCall(t *testing.T) {
	for text, want := range map[string]prompt.Intent{
		"agent-summary: {}": {
			Source: "agent_summary", Way: "small-model", Model: "claude-haiku-4-5", Own: true, Head: 1000,
			Strip: ask.StripThinking, Instruction: 150, Lifetime: ask.Lifetime5m},
		"agent-summary: {strip_thinking: false, skip_cache_write: true, lifetime: client}": {
			Source: "agent_summary", Way: "small-model", Model: "claude-haiku-4-5", Own: true, Head: 1000,
			Instruction: 150, SkipCacheWrite: true},
		"agent-summary: {same_model: true, instruction: 99}": {
			Source: "agent_summary", Way: "fork", Instruction: 99, Lifetime: ask.Lifetime5m},
	} {
		k, _ := agentTalk()
		_, calls := beats(k, layer(t, text), 1, false)
		got := calls[0]
		want.To = int32(k.Context.Len())
		if got.Known.Output != 8 {
			t.Errorf("%s: %d tokens of output", text, got.Known.Output)
		}
		if got.Known = nil; got != want {
			t.Errorf("%s:\n%+v, want\n%+v", text, got, want)
		}
	}
}

// While tools are at work, what is sent ends ahead of the response that called
// them: calls without results would be refused.
func TestAgentSummaryWhileToolsWork(t *testing.T) {
	k, _ := agentTalk()
	whole := k.Context.Len()
	if got := endOfAnswered(k.Context); got != whole {
		t.Errorf("behind results: %d entries, want %d", got, whole)
	}
	k.add(prompt.KindThinking, 40)
	k.add(prompt.KindText, 60)
	if got := endOfAnswered(k.Context); got != whole+2 {
		t.Errorf("behind an answer: %d entries, want %d", got, whole+2)
	}
	k.use("Bash", "", 100)
	if got := endOfAnswered(k.Context); got != whole {
		t.Errorf("behind a call: %d entries, want %d", got, whole)
	}
}

// One summary at a time, and none ahead of the first response.
func TestAgentSummaryRefusals(t *testing.T) {
	k, h := agentTalk()
	if _, calls := beats(k, layer(t, "agent-summary: {}"), 3, true); len(calls) != 1 || h.reasons["the last one is under way"] != 2 {
		t.Errorf("%d summaries beside a slow one, %v", len(calls), h.reasons)
	}
	k, h = agentTalk()
	k.Usage = prompt.Usage{}
	if _, calls := beats(k, layer(t, "agent-summary: {}"), 2, false); len(calls) != 0 || h.reasons["no response so far"] != 2 {
		t.Errorf("%d summaries of nothing, %v", len(calls), h.reasons)
	}
}
