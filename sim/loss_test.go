package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// lossy returns a profile with given rates: of prompts up to a minute and later,
// and of tool results.
func lossy(soon, later, tool float64) *profile.Profile {
	row := func(seconds, rate float64) profile.GapShare {
		return profile.GapShare{Seconds: seconds, Estimate: profile.Estimate{Value: rate}}
	}
	return &profile.Profile{Losses: profile.Losses{Marked: profile.Places{
		Prompt: []profile.GapShare{row(60, soon), row(3600, later)}, ToolResult: []profile.GapShare{row(3600, tool)},
	}}}
}

// lossSession writes 16,000 tokens of tools and system prompt and 2,300 of
// messages, reads them at a tool result, and reads 3,500 tokens of messages at a
// prompt 100 seconds later.
func lossSession() *traces.Session {
	return newSession("s").turns(2, 0, 1000).turns(1, 100*second, 0).session()
}

// opus-4-5 costs $6.25 a million to write for five minutes and $0.50 to read
// (platform.claude.com, pricing): a token that is lost costs $5.75 a million.
const lostUSD = 5.75e-6

// What losses cost on average, by hand: 2,300 tokens at the tool result with its
// rate, 3,500 at the prompt with the rate of its gap. Nothing is expected of a first
// call, without a profile, and where losses are drawn.
func TestExpectedLoss(t *testing.T) {
	c := testConfig(t, "none")
	c.Profile = lossy(0.5, 0.06, 0.002)
	row, _ := run(t, c, lossSession())
	if want := (0.002*2300 + 0.06*3500) * lostUSD; math.Abs(row.Figures[measures.ExpectedLossUSD]-want) > 1e-12 {
		t.Errorf("expected loss $%.9f, want $%.9f", row.Figures[measures.ExpectedLossUSD], want)
	}
	c.ByDraws = true
	if drawn, _ := run(t, c, lossSession()); drawn.Figures[measures.ExpectedLossUSD] != 0 {
		t.Errorf("$%g are expected on top of what is drawn", drawn.Figures[measures.ExpectedLossUSD])
	}
	c.ByDraws, c.Profile = false, nil
	if plain, _ := run(t, c, lossSession()); plain.Figures[measures.ExpectedLossUSD] != 0 || plain.CostUSD() != row.CostUSD() {
		t.Errorf("without a profile $%g and $%g expected, want $%g and nothing", plain.CostUSD(),
			plain.Figures[measures.ExpectedLossUSD], row.CostUSD())
	}
}

// The mean of the drawn costs is the expected cost: 4,000 draws of losses of 30 %
// and 20 % lie within 4 standard errors of the expected cost. A loss leaves what stands ahead of
// the messages.
func TestDrawnLossesHaveTheirExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	c := testConfig(t, "none")
	c.Profile = lossy(0, 0.3, 0.2)
	row, _ := run(t, c, lossSession())
	const n = 4000
	c.ByDraws = true
	var sum, squares float64
	for seed := range uint64(n) {
		c.Seed = seed + 1
		drawn, calls := run(t, c, lossSession())
		sum, squares = sum+drawn.CostUSD(), squares+drawn.CostUSD()*drawn.CostUSD()
		for i, call := range calls[1:] {
			if lost := call.Miss == exchange.MissEviction; lost != (call.Usage.Read == 16000) {
				t.Fatalf("seed %d: call %d reads %d tokens, miss %v", c.Seed, i+2, call.Usage.Read, call.Miss)
			}
		}
	}
	mean := sum / n
	deviation := math.Sqrt((squares/n - mean*mean) / n)
	if want := row.CostUSD() + row.Figures[measures.ExpectedLossUSD]; math.Abs(mean-want) > 4*deviation {
		t.Errorf("the mean of %d draws is $%.6f ± %.6f, the expected cost $%.6f", n, mean, deviation, want)
	}
}
