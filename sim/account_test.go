package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// The row counts what the records of the conversation's own calls show: hits, misses by
// class and the largest context. A summary call does not count here, not even a call of the first layer.
func TestRowCountsTheConversation(t *testing.T) {
	row, calls := run(t, testConfig(t, "auto-compact/155k"), newSession("s").turns(40, 0, 4000).turns(30, 6*minute, 4000).session())
	var want results.Row
	for i := range calls {
		c := &calls[i]
		if c.Source == results.SourceCompact {
			if c.Round != -1 {
				t.Errorf("a summary call is recorded as round %d", c.Round)
			}
			continue
		}
		want.Figures[results.PeakContext] = float64(max(int64(want.N(results.PeakContext)), c.Context))
		switch {
		case c.First:
		case c.Miss == prompt.MissNone:
			want.Figures[results.HitCalls]++
			want.Figures[results.LaterCalls]++
		default:
			want.Figures[results.MissesByClass+results.ID(c.Miss)]++
			want.Figures[results.LaterCalls]++
		}
	}
	if row.N(results.HitCalls) != want.N(results.HitCalls) || row.N(results.LaterCalls) != want.N(results.LaterCalls) ||
		!slices.Equal(row.Figures[results.MissesByClass:results.Waits], want.Figures[results.MissesByClass:results.Waits]) ||
		row.N(results.PeakContext) != want.N(results.PeakContext) {
		t.Errorf("%d of %d hit, misses %v, peak %d; want %d of %d, %v, %d", row.N(results.HitCalls),
			row.N(results.LaterCalls), row.Figures[results.MissesByClass:results.Waits],
			row.N(results.PeakContext), want.N(results.HitCalls), want.N(results.LaterCalls),
			want.Figures[results.MissesByClass:results.Waits], want.N(results.PeakContext))
	}
	if row.N(results.Compactions) == 0 || row.MissesOf(prompt.MissExpiry) != 1 {
		t.Errorf("%d compactions, %d calls behind a pause miss", row.N(results.Compactions), row.MissesOf(prompt.MissExpiry))
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
		if r.N(results.UnpricedCalls) != 3 || r.CostByClass().Total() != 0 {
			t.Errorf("%s: %d of 3 calls unpriced, $%g", r.Strategy, r.N(results.UnpricedCalls), r.CostByClass().Total())
		}
	}
}

// What the summariser says of a call's time is ahead of what its input takes: 20,000 tokens
// that no cache holds take 0.608 s at 30.4 µs.
func TestSummariserTimesAreAheadOfTheInput(t *testing.T) {
	latency, th := costmodel.DefaultLatency(), new(thread)
	c := &call{beside: new(side.Call), answer: prompt.Answer{First: 2 * second, Total: 9 * second}}
	first, total := th.timed(&latency, c, &prompt.Usage{Write5m: 20_000})
	if !near(float64(first)/1e9, 2.608) || !near(float64(total)/1e9, 9.608) {
		t.Errorf("%g s to the first token, %g s in all", float64(first)/1e9, float64(total)/1e9)
	}
	c.beside.Known = &prompt.Answer{}
	if first, total = th.timed(&latency, c, &prompt.Usage{Write5m: 20_000}); first != 2*second || total != 9*second {
		t.Errorf("a known time became %d and %d ns", first, total)
	}
}
