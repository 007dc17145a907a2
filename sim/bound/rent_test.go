package bound

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

func breakEven(t *testing.T) *strategies.Strategy {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy("break-even")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Behind a head of 16,000 tokens a round adds 10,100; 12,000 tokens would be left
// behind a compaction, whose price on a warm cache is 5·4,900 + 0.1·16,000 +
// 1.25·12,000 = 41,100 input tokens. The rent of round k is 0.1·(10,100·k − 12,000):
// the tenth brings the sum from 34,840 to 43,740, so the compaction comes ahead of
// the eleventh.
func TestBreakEvenBuysWhenTheRentIsPaid(t *testing.T) {
	rounds := []round{{0, 10000}}
	for range 12 {
		rounds = append(rounds, round{warm, 10000})
	}
	at := compactedAt(t, session(rounds...))
	if !slices.Equal(at, []int32{10}) {
		t.Errorf("compacts ahead of rounds %v, want 10 (the eleventh)", at)
	}
}

func compactedAt(t *testing.T, s *traces.Session) []int32 {
	t.Helper()
	c := surroundings(t)
	c.Strategy = breakEven(t)
	seen := acts{make([]thread, len(s.Threads))}
	for i := range seen.threads {
		seen.threads[i].acted = make([]bool, len(s.Threads[i].Rounds))
	}
	c.Observer = seen
	if _, err := sim.NewLoop(c).Run(s); err != nil {
		t.Fatal(err)
	}
	var at []int32
	for r, acted := range seen.threads[0].acted {
		if acted {
			at = append(at, int32(r))
		}
	}
	return at
}

// On sessions that grow steadily, the policy that knows nothing of the future pays at
// most twice what the best schedule pays.
func TestBreakEvenIsWithinTwiceTheBound(t *testing.T) {
	for _, growth := range []int32{500, 3000, 20000} {
		for _, every := range []int{3, 10, 1000} { // rounds between pauses that expire the cache
			rounds := []round{{0, 5000}}
			for i := range 60 {
				r := round{warm, growth}
				if i%every == every-1 {
					r.wait = cold
				}
				rounds = append(rounds, r)
			}
			s, c := session(rounds...), surroundings(t)
			b, err := Compact(c, breakEven(t).Params(standard.Compact).(strategies.CompactParams).Unscheduled(), s)
			if err != nil {
				t.Fatal(err)
			}
			c.Strategy = breakEven(t)
			row, err := sim.NewLoop(c).Run(s)
			if err != nil {
				t.Fatal(err)
			}
			if usd := row.CostUSD(); usd < b.Below || usd > 2*b.Reached {
				t.Errorf("growth %d, a pause every %d: $%.4f, the best schedule costs $%.4f", growth, every, usd, b.Reached)
			}
		}
	}
}
