package sim

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
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

// pricesOf are the prices of a function.
type pricesOf func(model string, at time.Time) (costmodel.Price, error)

func (f pricesOf) Lookup(model string, at time.Time) (costmodel.Price, error) { return f(model, at) }

// A prefix of 1,024 tokens can be cached unless the table states another minimum.
func TestLeastPrefix(t *testing.T) {
	for stated, want := range map[int]int32{0: 1024, 512: 512, 4096: 4096} {
		m := models{ids: modelNumbers{}, prices: pricesOf(func(string, time.Time) (costmodel.Price, error) {
			return costmodel.Price{Model: costmodel.Model{MinCache: stated}}, nil
		})}
		m.add("m", time.Time{})
		if got := m.of(0).minCache; got != want {
			t.Errorf("the table states %d: %d tokens, want %d", stated, got, want)
		}
	}
}

// A call is priced at its own date: Opus ends at noon, and what holds then are the prices of
// Sonnet. Where the table has none for the later date the old ones stay.
func TestPricesOfEachDate(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	u := prompt.Usage{Uncached: 100_000}
	for name, later := range map[string]string{"listed": "claude-sonnet-4-5", "unlisted": ""} {
		m := models{ids: modelNumbers{}, prices: pricesOf(func(model string, at time.Time) (costmodel.Price, error) {
			if !at.Before(noon) && later == "" {
				return costmodel.Price{}, errors.New("not listed")
			}
			if !at.Before(noon) {
				model = later
			}
			p, err := table.Lookup(model, at)
			if at.Before(noon) {
				p.Until = noon
			}
			return p, err
		})}
		m.reset(&traces.Session{Models: []string{"claude-opus-4-5"}, Start: noon.Add(-time.Hour).UnixNano()})
		want := []float64{0.5, 0.3}
		if later == "" {
			want[1] = 0.5
		}
		for i, at := range []time.Time{noon.Add(-1), noon} {
			cost := m.cost(0, at.UnixNano(), &u)
			if got := cost.Total(); !near(got, want[i]) {
				t.Errorf("%s, %v: $%g, want $%g", name, at, got, want[i])
			}
		}
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

// Of an output whose last line was not logged, the share that was costs its share.
func TestLoggedShareOfAnOutput(t *testing.T) {
	for _, tc := range []struct {
		logged, output int64
		want           float64
	}{{50, 200, 1}, {200, 200, 4}, {0, 200, 0}, {0, 0, 0}} {
		r := traces.Round{Usage: prompt.Usage{Output: tc.output}}
		r.Logged = tc.logged
		if got := loggedOutput(&r, 4); !near(got, tc.want) {
			t.Errorf("%d of %d tokens logged: $%g of $4, want $%g", tc.logged, tc.output, got, tc.want)
		}
	}
}

// What the summariser says of a call's time is ahead of what its input takes: 20,000 tokens
// that no cache holds take 0.608 s at 30.4 µs.
func TestSummariserTimesAreAheadOfTheInput(t *testing.T) {
	l := &Loop{config: Config{Latency: costmodel.DefaultLatency()}}
	c := &call{answer: prompt.Answer{First: 2 * second, Total: 9 * second}}
	first, total := l.timed(nil, c, &prompt.Usage{Write5m: 20_000})
	if !near(float64(first)/1e9, 2.608) || !near(float64(total)/1e9, 9.608) {
		t.Errorf("%g s to the first token, %g s in all", float64(first)/1e9, float64(total)/1e9)
	}
	c.known = true
	if first, total = l.timed(nil, c, &prompt.Usage{Write5m: 20_000}); first != 2*second || total != 9*second {
		t.Errorf("a known time became %d and %d ns", first, total)
	}
}
