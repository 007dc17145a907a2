package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// The row counts what the records of the conversation's own calls show: hits, misses by
// class and the largest context. A summary call does not count here, not even a call of the first layer.
func TestRowCountsTheConversation(t *testing.T) {
	row, calls := run(t, testConfig(t, "auto-compact/155k"), newSession("s").turns(40, 0, 4000).turns(30, 6*minute, 4000).session())
	var want results.Row
	for i := range calls {
		c := &calls[i]
		if c.Source == measures.SourceCompact {
			if c.Round != -1 {
				t.Errorf("a summary call is recorded as round %d", c.Round)
			}
			continue
		}
		want.Figures[measures.PeakContext] = float64(max(int64(want.N(measures.PeakContext)), c.Context))
		switch {
		case c.First:
		case c.Miss == exchange.MissNone:
			want.Figures[measures.HitCalls]++
			want.Figures[measures.LaterCalls]++
		default:
			want.Figures[measures.MissesByClass+measures.ID(c.Miss)]++
			want.Figures[measures.LaterCalls]++
		}
	}
	if row.N(measures.HitCalls) != want.N(measures.HitCalls) || row.N(measures.LaterCalls) != want.N(measures.LaterCalls) ||
		!slices.Equal(row.Figures[measures.MissesByClass:measures.Waits], want.Figures[measures.MissesByClass:measures.Waits]) ||
		row.N(measures.PeakContext) != want.N(measures.PeakContext) {
		t.Errorf("%d of %d hit, misses %v, peak %d; want %d of %d, %v, %d", row.N(measures.HitCalls),
			row.N(measures.LaterCalls), row.Figures[measures.MissesByClass:measures.Waits],
			row.N(measures.PeakContext), want.N(measures.HitCalls), want.N(measures.LaterCalls),
			want.Figures[measures.MissesByClass:measures.Waits], want.N(measures.PeakContext))
	}
	if row.N(measures.Compactions) == 0 || row.MissesOf(exchange.MissExpiry) != 1 {
		t.Errorf("%d compactions, %d calls behind a pause miss", row.N(measures.Compactions), row.MissesOf(exchange.MissExpiry))
	}
}

// Calls of a model without a price cost nothing and are counted.
func TestUnpricedCallsAreCounted(t *testing.T) {
	s := newSession("s").turns(3, 0, 1000).session()
	s.Models = []string{"nobody's-model"}
	c := testConfig(t, "none")
	billed := Billed(s, c.Prices, time.Time{})
	row, _ := run(t, c, s)
	for _, r := range []results.Row{billed, row} {
		if r.N(measures.UnpricedCalls) != 3 || r.CostByClass().Total() != 0 {
			t.Errorf("%s: %d of 3 calls unpriced, $%g", r.Strategy, r.N(measures.UnpricedCalls), r.CostByClass().Total())
		}
	}
}

// What the summariser says of a call's time is ahead of what its input takes: 20,000 tokens
// that no cache holds take 0.608 s at 30.4 µs.
func TestSummariserTimesAreAheadOfTheInput(t *testing.T) {
	latency, th := costmodel.DefaultLatency(), new(thread)
	c := &call{side: new(side.Call), answer: prompt.Answer{First: 2 * second, Total: 9 * second}}
	first, total := th.takeTime(&latency, c, &prompt.Usage{Write5m: 20_000})
	if !near(float64(first)/1e9, 2.608) || !near(float64(total)/1e9, 9.608) {
		t.Errorf("%g s to the first token, %g s in all", float64(first)/1e9, float64(total)/1e9)
	}
	c.side.Known = &prompt.Answer{}
	if first, total = th.takeTime(&latency, c, &prompt.Usage{Write5m: 20_000}); first != 2*second || total != 9*second {
		t.Errorf("a known time became %d and %d ns", first, total)
	}
}
