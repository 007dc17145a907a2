package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// sent returns the tokens of the messages of a sub-agent of five responses.
func sent(t *testing.T, text string, set func(*talk)) []int32 {
	k, h := agentTalk()
	set(k)
	l := layer(t, text)
	for range 5 {
		l.(AfterResponse).AfterResponse(&k.Turn)
	}
	l.(ThreadEnd).ThreadEnd(&k.Turn)
	var tokens []int32
	for _, p := range h.posts {
		if p[0] != k.Parent {
			t.Errorf("%s: a message to thread %d", text, p[0])
		}
		tokens = append(tokens, p[1])
	}
	return tokens
}

// A sub-agent tells its parent that it is done, and on request how far it is.
func TestMessages(t *testing.T) {
	for text, want := range map[string][]int32{
		"agent-messages: {}":                               {60},
		"agent-messages: {end: 200}":                       {200},
		"agent-messages: {end: 0, progress: 30}":           {30, 30, 30, 30, 30},
		"agent-messages: {progress: 30, every: 2}":         {30, 30, 60},
		"agent-messages: {end: 0, progress: 30, every: 6}": nil,
	} {
		if got := sent(t, text, func(*talk) {}); !slices.Equal(got, want) {
			t.Errorf("%s: messages of %v tokens, want %v", text, got, want)
		}
	}
}

// Only sub-agents with a parent have somebody to tell.
func TestMessagesExclusions(t *testing.T) {
	const text = "agent-messages: {progress: 30}"
	for name, set := range map[string]func(*talk){
		"main":   func(k *talk) { k.Kind = traces.ThreadMain },
		"branch": func(k *talk) { k.Kind = traces.ThreadBranch },
		"orphan": func(k *talk) { k.Kind, k.Parent = traces.ThreadOrphan, -1 },
	} {
		if got := sent(t, text, set); len(got) != 0 {
			t.Errorf("%s: messages of %v tokens", name, got)
		}
	}
}
