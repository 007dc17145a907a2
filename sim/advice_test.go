package sim

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// The calls of an advisor are billed once beside the call that was answered meanwhile, in the bill and under every strategy:
// 30,000 tokens in and 2,000 out of claude-opus-4-5 at $5 and $25 a million cost $0.20.
func TestAdviceIsBilled(t *testing.T) {
	s := newSession("s").turns(3, 2, 500).session()
	without := *s
	s.Advice = []traces.AdviceCall{{Round: 1, Model: "claude-opus-4-5", Usage: prompt.Usage{Uncached: 30_000, Output: 2000}}}
	const usd = 0.2
	for _, name := range []string{"recorded", "none"} {
		config := testConfig(t, name)
		row, calls := run(t, config, s)
		plain, _ := run(t, testConfig(t, name), &without)
		if got := row.CostUSD() - plain.CostUSD(); math.Abs(got-usd) > 1e-9 || math.Abs(row.CostBy(measures.SourceAdvisor).Total()-usd) > 1e-9 {
			t.Errorf("%s: $%.4f more with an advisor, want $%.2f", name, got, usd)
		}
		n := 0
		for _, c := range calls {
			if c.Source == measures.SourceAdvisor {
				n++
			}
		}
		if n != 1 || row.OwnCalls() != plain.OwnCalls() {
			t.Errorf("%s: %d calls of advisors, %d of the conversation; want 1 and %d", name, n, row.OwnCalls(), plain.OwnCalls())
		}
		billed := Billed(s, config.Prices, time.Time{})
		if got := row.LoggedUSD(&billed) - plain.LoggedUSD(&billed); math.Abs(got-usd) > 1e-9 {
			t.Errorf("%s: $%.4f more of logged calls, want $%.2f", name, got, usd)
		}
	}
	prices := testConfig(t, "none").Prices
	with, bare := Billed(s, prices, time.Time{}), Billed(&without, prices, time.Time{})
	if got := with.CostUSD() - bare.CostUSD(); math.Abs(got-usd) > 1e-9 {
		t.Errorf("billed $%.4f more, want $%.2f", got, usd)
	}
}
