package validate

import (
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
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
	s := validatetest.Rollout("gpt-5.4", "0.118.0", calls...)
	s.Models = append(s.Models, "gpt-5.5")
	rounds, nothing := s.Threads[0].Rounds, prompt.Usage{Uncached: 30_000}
	rounds[4].Wait, rounds[4].Usage = 3600e9, nothing
	rounds[13].Model, rounds[13].Usage = 1, nothing // and the call behind it has another again
	s.Threads[0].Events = []traces.Event{{Kind: traces.EventShrink, Round: 5}}
	rounds[5].Usage = nothing
	s.Tools = append(s.Tools, "", signs.NameGateway.Of("github-copilot"))
	rounds[7].Gateway, rounds[7].Usage = uint16(len(s.Tools)-1), nothing
	want := profile.Shown{
		Agent: facts.Codex, Provider: "openai", Model: "gpt-5.4", Series: "0.118", Session: profile.Key(prompt.DigestString(s.ID)),
		Early: 6, EarlyTokens: 180_000, Later: 2, LaterTokens: 60_000, Missing: 48_000,
	}
	// One call each by the gateway and by the other model to the same provider says nothing: the gateway's part is empty.
	empty := profile.Shown{Agent: want.Agent, Provider: "openai", Gateway: "github-copilot", Model: "gpt-5.4", Series: "0.118", Session: want.Session}
	if got := profile.ShownBy(s); !slices.Equal(got, []profile.Shown{want, empty}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A session that asks two providers in turn shows each of them its own calls alone: of OpenAI's four calls after tools no
// one lost anything, of DeepSeek's three the second read nothing of its 40,000 tokens, and the call at the change says nothing. What other
// sessions at either lose goes by that.
func TestEachProviderShowsItsOwnLosses(t *testing.T) {
	calls := [][3]int64{{30_000, 2_432, 0}}
	for range 4 {
		calls = append(calls, [3]int64{30_000, 29_952, 1})
	}
	calls = append(calls, [3]int64{40_000, 0, 1}, [3]int64{40_000, 39_936, 1}, [3]int64{40_000, 0, 1}, [3]int64{40_000, 39_936, 1})
	s := validatetest.Rollout("gpt-5.4", "1", calls...)
	s.Agent, s.Models = facts.OpenCode, append(s.Models, "deepseek-chat")
	for r := 5; r < len(calls); r++ {
		s.Threads[0].Rounds[r].Model = 1
	}
	shown := profile.ShownBy(s)
	if len(shown) != 2 {
		t.Fatalf("%d parts, want OpenAI's and DeepSeek's: %+v", len(shown), shown)
	}
	for i, want := range []struct {
		provider     string
		due, missing int64
	}{{"openai", 120_000, 0}, {"deepseek", 120_000, 40_000}} {
		if x := &shown[i]; x.Provider != want.provider || x.EarlyTokens != want.due || x.Missing != want.missing || (x.Opened > 0) != (i == 0) {
			t.Errorf("part %d: %+v, want %+v", i, *x, want)
		}
	}
	base, err := profile.Default()
	if err != nil {
		t.Fatal(err)
	}
	p := *base
	other := func(model, provider string) float64 {
		return p.TimesLost(&profile.Shown{Agent: facts.OpenCode, Provider: provider, Model: model, Session: "another"}).Times
	}
	openai, deepseek := other("gpt-5.4", "openai"), other("deepseek-chat", "deepseek")
	before := len(p.Losses.Sessions)
	p.LearnLosses(shown)
	p.LearnLosses(shown) // once more changes nothing
	if n := len(p.Losses.Sessions); n != before+2 {
		t.Errorf("%d parts more, want 2", n-before)
	}
	if a, b := other("gpt-5.4", "openai"), other("deepseek-chat", "deepseek"); a > openai || b <= deepseek {
		t.Errorf("OpenAI's calls lose %.3f times the shares, before %.3f; DeepSeek's %.3f, before %.3f: want fewer and more", a, openai, b, deepseek)
	}
	for i := range shown { // a session tells nothing about itself
		was := base.TimesLost(&shown[i])
		if got := p.TimesLost(&shown[i]); math.Abs(got.Times-was.Times) > 1e-9 || got.Sessions != was.Sessions {
			t.Errorf("%s: %+v for the session itself, %+v without it", shown[i].Provider, got, was)
		}
	}
}

// Of a session of another agent the calls after tools say what they were due and missed: of an
// automatic cache the tokens of the request before, from half a loss of two steps on. A call
// after a pause or by another model says nothing. 30,000 and 31,000 were due, and of 31,000
// only 19,968 read.
func TestOtherAgentsShowLosses(t *testing.T) {
	s := validatetest.Rollout("gpt-5.4", "1", [][3]int64{{30_000, 0, 0}, {31_000, 29_952, 1}, {32_000, 19_968, 1}, {33_000, 0, 700}}...)
	s.Agent = facts.OpenCode
	o := profile.ShownBy(s)[0]
	if o.Agent != facts.OpenCode || o.Provider != "openai" || o.Marked {
		t.Errorf("%+v", o)
	}
	if o.Early != 2 || o.EarlyTokens != 61_000 || o.Missing != 11_032 || o.Later != 0 {
		t.Errorf("%+v, want two early calls, 61,000 tokens due and 11,032 of them missing", o)
	}
	var openings profile.Openings
	openings.Add(s)
	if len(openings.Shown) != 1 || len(openings.Codex) != 0 {
		t.Errorf("openings %+v", openings)
	}
}
