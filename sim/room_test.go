package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A server that answered 215,128 tokens of a main conversation refuses none of that size in a window of 200,000; what another
// model or a sub-agent was sent says nothing of the window.
func TestAnsweredRoom(t *testing.T) {
	rounds := func(model uint16, input int64) []traces.Round {
		return []traces.Round{{Model: model, Usage: prompt.Usage{Read: input}}}
	}
	s := &traces.Session{Threads: []traces.Thread{
		{Kind: traces.ThreadMain, Rounds: append(rounds(0, 215_128), rounds(1, 900_000)...)},
		{Kind: traces.ThreadAgent, Rounds: rounds(0, 300_000)},
	}}
	m := account.Model{Window: 200_000, Answered: answered(s, 0)}
	if got := m.Room(); got != 215_128 {
		t.Errorf("room for %d tokens, want 215,128", got)
	}
	if m.Answered = 0; m.Room() != 200_000 {
		t.Errorf("room for %d tokens without a larger request, want the window", m.Room())
	}
}
