package sim

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// A client that logs the sum of all its calls has told which calls no line shows: these are billed, a title also under
// every strategy, and none is invented at the end of turns unless the sum has room for it. A title of 1,000 tokens by a
// model at $1 per million costs $0.001 (Haiku 4.5, pricing page).
func TestCallsOfTheClientsSum(t *testing.T) {
	title := traces.UnshownCall{Event: -1, Model: "claude-haiku-4-5", Usage: prompt.Usage{Uncached: 1000}}
	turns := traces.UnshownCall{Event: -1, Model: "claude-opus-4-5", Usage: prompt.Usage{Read: 200_000}}
	for _, c := range []struct {
		name    string
		summed  bool
		unshown []traces.UnshownCall
		calls   int     // beside the conversation
		usd     float64 // billed for them
	}{
		{"no sum", false, nil, 5, 0},
		{"nothing beyond the lines", true, nil, 0, 0},
		{"a title", true, []traces.UnshownCall{title}, 1, 0.001},
		{"room for calls at the end of turns", true, []traces.UnshownCall{title, turns}, 1 + 5, 0.001 + 200_000*0.5e-6},
	} {
		b := signed()
		for range 5 {
			b.turn(0, 0)
		}
		s := b.session()
		s.Summed, s.Unshown = c.summed, c.unshown
		cell := testConfig(t, "none")
		cell.Profile = &profile.Profile{Weight: 1, Switches: profile.Switches{Hidden: true}, Hidden: []profile.Habit{{Estimate: profile.Estimate{Value: 1, N: 100}}}}
		row, calls := run(t, cell, s)
		made := 0
		for i := range calls {
			if calls[i].Source == measures.SourceOther {
				made++
			}
		}
		if made != c.calls || row.CallsBy(measures.SourceOther) != c.calls {
			t.Errorf("%s: %d calls beside the conversation, %d in the row, want %d", c.name, made, row.CallsBy(measures.SourceOther), c.calls)
		}
		billed := Billed(s, cell.Prices, time.Time{})
		if got := billed.CostBy(measures.SourceOther).Total(); math.Abs(got-c.usd) > 1e-9 {
			t.Errorf("%s: $%.6f billed, want $%.6f", c.name, got, c.usd)
		}
	}
}
