package validate

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Of 14 calls of a rollout behind tools, ten are early; one that waited an hour, one
// of another model, one through a gateway with the call behind it, and one behind an event tell nothing. Two of the remaining calls read
// 20,000 and 28,000 less than the request before them had; a read 1,000 short is
// none.
func TestShortReadsAreShown(t *testing.T) {
	calls := [][3]int64{{30_000, 2_432, 0}}
	for range 14 {
		calls = append(calls, [3]int64{30_000, 29_000, 1})
	}
	calls[3][1], calls[12][1] = 10_000, 2_000
	s := rollout("gpt-5.4", "0.118.0", calls...)
	s.Models = append(s.Models, "gpt-5.5")
	rounds, nothing := s.Threads[0].Rounds, prompt.Usage{Uncached: 30_000}
	rounds[4].Wait, rounds[4].Usage = 3600e9, nothing
	rounds[13].Model, rounds[13].Usage = 1, nothing // and the call behind it has another again
	s.Threads[0].Events = []traces.Event{{Kind: traces.EventShrink, Round: 5}}
	rounds[5].Usage = nothing
	s.Tools = append(s.Tools, "", traces.NameGateway.Of("github-copilot"))
	rounds[7].Gateway, rounds[7].Usage = uint16(len(s.Tools)-1), nothing
	want := profile.Shown{
		Agent: traces.AgentCodex, Provider: "openai", Model: "gpt-5.4", Series: "0.118", Session: profile.Key(prompt.DigestString(s.ID)),
		Early: 6, EarlyTokens: 180_000, Later: 2, LaterTokens: 60_000, Missing: 48_000,
	}
	if got := profile.ShownBy(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
