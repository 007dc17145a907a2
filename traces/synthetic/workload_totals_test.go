package synthetic

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/traces"
)

// Sums by hand: Bernstein's inequality with 32·ln 2 = 22.18 for a share of 2⁻³²,
// and never more than every draw at its largest.
func TestLoadSums(t *testing.T) {
	for _, tt := range []struct {
		l    load
		n    float64
		want float64
	}{
		{load{}, 100, 0},
		{always(7), 100, 700},
		{load{1, 100}, 10, 1000},                                        // 10 + √(44.36·10·100) + 1478.7 would be more
		{load{1, 100}, 10_000, 10_000 + 6660.43 + 1478.71},              // √(44.3614·10⁶) = 6660.43, 14.7871·100 = 1478.71
		{load{2, 4}.sometimes(0.5), 1e6, 1e6 + 13320.87 + 59.15},        // √(44.3614·10⁶·4) = 13320.87
		{load{2, 4}.each(load{3, 8}).and(always(1)), 1, 33},             // 4·8 + 1
		{load{2, 4}.scaled(2).atMost(5).and(load{1, 2}), 1, 7},          // 5 + 2
		{load{2, 4}.sometimes(0), 1000, 0},                              //
		{(&Dist{Median: 2.4}).counts(), 5, 10},                          // rounded
		{(&Dist{Median: 0.1}).counts(), 5, 5},                           // at least 1
		{(&Dist{Quantiles: []float64{0, 0, 8}}).load().atMost(0), 5, 0}, //
	} {
		if got := tt.l.sum(tt.n); math.Abs(got-tt.want) > 0.05 {
			t.Errorf("%g draws of %+v come to %.2f, want %.2f", tt.n, tt.l, got, tt.want)
		}
	}
}

// The mean of a distribution is bounded from above, and closely: a log-normal one
// has the mean median·exp(σ²/2), one between two quantiles above 0
// (b − a)/ln(b/a).
func TestLoadMeans(t *testing.T) {
	for _, tt := range []struct {
		d    Dist
		want float64
	}{
		{Dist{Median: 100, Sigma: 0.5}, 100 * math.Exp(0.125)},
		{Dist{Median: 10, Sigma: 1.2}, 10 * math.Exp(0.72)},
		{Dist{Quantiles: []float64{10, 1000}}, 990 / math.Log(100)},
		{Dist{Quantiles: []float64{0, 40}}, 20},
		{Dist{Min: 3}, 3},
	} {
		if got := tt.d.load(); got.mean < tt.want-1e-9 || got.mean > 1.04*tt.want || got.top != tt.d.top() {
			t.Errorf("%+v: mean %.3f and top %.3f, want %.3f or a little more, and %.3f", tt.d, got.mean, got.top, tt.want, tt.d.top())
		}
	}
}

// No draw lies beyond what is reckoned with, not even those at the very ends of
// the generator's numbers.
func TestDrawsStayWithinBounds(t *testing.T) {
	for _, d := range []Dist{{Median: 5, Sigma: 3}, {Median: 60, Sigma: 1, Min: 20, Max: 90}, {Quantiles: []float64{1, 2, 500}}, {Median: 4}, {}} {
		s := newSampler(d)
		for _, u := range []float64{0x1p-54, 1e-12, 0.5, 1 - 0x1p-40, 1 - 0x1p-53, 1} {
			if x := s.at(u); x < d.bottom() || x > d.top() {
				t.Errorf("%+v: the draw at %g is %g, outside %g…%g", d, u, x, d.bottom(), d.top())
			}
		}
	}
}

// What was reckoned before is more than any session comes to: calls, blocks, time
// and tokens.
func TestSessionsStayWithinTotals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorkload(rt)
		g := generator(t, w)
		most := w.totals()
		seed := rapid.Uint64().Draw(rt, "seed")
		seconds := most.idle + most.compacting + most.main.seconds.sum(most.calls) + most.agent.seconds.sum(most.agentCalls)
		tokens := most.main.tokens.sum(most.calls) + most.ask.sum(most.turns) + maxHidden
		if most.limit > 0 {
			tokens = float64(most.limit) + most.main.tokens.top + most.ask.top
		}
		for i := range 5 {
			s := g.Session(seed, i)
			if n := float64(s.NumCalls()); n > most.calls+most.agentCalls {
				rt.Errorf("%g calls, more than %g", n, most.calls+most.agentCalls)
			}
			if n := float64(len(s.Blocks)); n > most.blocks()+3*(most.tasks+1) {
				rt.Errorf("%g blocks, more than %g", n, most.blocks())
			}
			// A turn and a task have the milliseconds of the client besides.
			if took := float64(s.End-s.Start) / 1e9; took > seconds+most.turns+most.tasks+1 {
				rt.Errorf("%g s, more than %g", took, seconds)
			}
			if n := largestContext(s); float64(n) > tokens {
				rt.Errorf("a context of %d tokens, more than %g", n, tokens)
			}
		}
	})
}

// largestContext returns the tokens of the main thread's longest request.
func largestContext(s *traces.Session) int64 {
	var most int64
	for i := range s.Threads[0].Rounds {
		most = max(most, s.Threads[0].Rounds[i].Usage.Input())
	}
	return most
}
