package strategies

import (
	"fmt"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// sent returns the messages of a sub-agent of five responses, which is thread 2 and
// whose parent is thread 0: as "thread:tokens", ended by "m" for the mailbox.
func sent(t *testing.T, text string, set func(*talk)) []string {
	k, h := agentTalk()
	k.Thread = 2
	set(k)
	l := layer(t, text)
	for range 5 {
		l.(AfterResponse).AfterResponse(&k.Turn)
	}
	l.(ThreadEnd).ThreadEnd(&k.Turn)
	var list []string
	for _, m := range h.posts {
		text := fmt.Sprintf("%d:%d", m.To, m.Tokens)
		if m.Mailbox {
			text += "m"
		}
		list = append(list, text)
	}
	return list
}

// A sub-agent tells its parent that it is done, and on request how far it is. 003:1702-1720:
// it writes to all its siblings ('*'), its leader approves its plan behind the first
// response, it answers a request to end, and agents in other processes have mailboxes.
func TestMessages(t *testing.T) {
	for text, want := range map[string][]string{
		"agent-messages: {}":                                           {"0:60"},
		"agent-messages: {end: 200}":                                   {"0:200"},
		"agent-messages: {end: 0, progress: 30}":                       {"0:30", "0:30", "0:30", "0:30", "0:30"},
		"agent-messages: {progress: 30, every: 2}":                     {"0:30", "0:30", "0:60"},
		"agent-messages: {end: 0, progress: 30, every: 6}":             nil,
		"agent-messages: {end: 0, siblings: 40, every: 3}":             {"-2:40"},
		"agent-messages: {plan_approval: 25}":                          {"2:25", "0:60"},
		"agent-messages: {end: 0, shutdown: 15}":                       {"0:15"},
		"agent-messages: {shutdown: 15, route: mailbox}":               {"0:60m", "0:15m"},
		"agent-messages: {end: 0, progress: 9, siblings: 8, every: 5}": {"0:9", "-2:8"},
	} {
		if got := sent(t, text, func(*talk) {}); !slices.Equal(got, want) {
			t.Errorf("%s: messages %v, want %v", text, got, want)
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
