package validate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Sessions are generated that lose by a gamma distribution of profile.SessionShape. Bands made of the mean
// of n sessions, however few, hold nine tenths of other sessions.
func TestLossBandsHoldTheirShare(t *testing.T) {
	source := rand.New(rand.NewPCG(7, 8))
	loses := func() float64 { return times(profile.SessionShape, draws.Source{Seed: source.Uint64()}) }
	for _, n := range []int{1, 2, 8} {
		var drawn []float64
		for i := range 2000 {
			drawn = append(drawn, lossFactor(n, draws.Source{Seed: uint64(i), Session: 1}, draws.Source{Seed: uint64(i), Session: 2}))
		}
		slices.Sort(drawn)
		low, high := stats.Quantile(drawn, bandLevel/2), stats.Quantile(drawn, 1-bandLevel/2)
		inside := 0
		for range 2000 {
			mean := 0.0
			for range n {
				mean += loses() / float64(n)
			}
			if x := loses(); x >= low*mean && x <= high*mean {
				inside++
			}
		}
		if share := float64(inside) / 2000; share < 0.88 || share > 0.92 {
			t.Errorf("known from %d sessions, bands of %g to %g times hold %g", n, low, high, share)
		}
	}
}

// A call that is predicted to miss may read what was left after all, unless the context was made anew or Anthropic's lifetime is over.
func TestCallsThatMayReadAfterAll(t *testing.T) {
	for _, tc := range []struct {
		c    Call
		want bool
	}{
		{Call{Class: ClassToolResult}, false},
		{Call{Class: ClassExpiry, Miss: exchange.MissExpiry}, true},
		{Call{Class: ClassExpiry, Miss: exchange.MissExpiry, TierKnown: true}, false},
		{Call{Class: ClassRewind, Miss: exchange.MissRewind, TierKnown: true}, true},
		{Call{Class: ClassCompaction, Miss: exchange.MissCompaction}, false},
		{Call{Class: ClassModel, Miss: exchange.MissModel}, false},
	} {
		if got := tc.c.mayRead(); got != tc.want {
			t.Errorf("%s, %s: %v, want %v", tc.c.Class, tc.c.Miss, got, tc.want)
		}
	}
}

// A session in an epoch without evidence, and one of Codex, have residuals of
// their own.
func TestResidualByEvidence(t *testing.T) {
	p := &profile.Profile{
		Residual: []float64{1}, NewResidual: []float64{2}, Codex: profile.Codex{Residual: []float64{3}},
		Epochs: []string{"2.1.14", "2.1.38"}, Fitted: []string{"2.1.14 on, opus-4-5 and older"},
	}
	session := func(agent, version string) *traces.Session {
		return &traces.Session{
			Agent: agent, Versions: []string{version}, Models: []string{"claude-opus-4-5"},
			Threads: []traces.Thread{{Rounds: make([]traces.Round, 1)}},
		}
	}
	for want, s := range map[float64]*traces.Session{
		1: session(facts.ClaudeCode, "2.1.20"), 2: session(facts.ClaudeCode, "2.1.100"), 3: session(facts.Codex, "0.118"),
	} {
		if got := residualFor(p, s, 0.5); got != want {
			t.Errorf("%s %s: residual %g, want %g", s.Agent, s.Versions[0], got, want)
		}
	}
}
