package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// Cline marks the prompt that a person typed last in requests to Anthropic itself; through a gateway it has a marker on messages more instead
// (facts.Agent.MarksPrompt, as Cline 3.0.65 was seen). What the first call that there is asked decides, and a session without calls asked nobody else.
func TestPromptsAreMarkedForTheMakerAlone(t *testing.T) {
	of := func(gateways ...string) *client.ClaudeCode {
		s := &traces.Session{Agent: "cline", Models: []string{"claude-sonnet-4-6"}, Tools: []string{""}, Threads: []traces.Thread{{}}}
		for _, name := range gateways {
			r := traces.Round{}
			if name != "" {
				r.Gateway = uint16(len(s.Tools))
				s.Tools = append(s.Tools, signs.NameGateway.Of(name))
			}
			s.Threads = append(s.Threads, traces.Thread{Rounds: []traces.Round{r}})
		}
		return clientOf(s, facts.CacheMarked).(*client.ClaudeCode)
	}
	maker := of("anthropic")
	if !maker.MarksPrompt {
		t.Fatal("asking Anthropic itself, Cline does not mark the prompt")
	}
	for _, c := range []struct {
		gateways []string
		marks    bool
	}{
		{nil, true},
		{[]string{""}, true},
		{[]string{"openrouter"}, false},
		{[]string{"openrouter", "anthropic"}, false},
		{[]string{"anthropic", "openrouter"}, true},
	} {
		got := of(c.gateways...)
		more := 1
		if c.marks {
			more = 0
		}
		if got.MarksPrompt != c.marks || got.MessageMarkers != maker.MessageMarkers+more {
			t.Errorf("%q: marks the prompt %t with %d markers on messages, want %t and %d", c.gateways, got.MarksPrompt, got.MessageMarkers, c.marks,
				maker.MessageMarkers+more)
		}
	}
}
