package sim

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// benchSession has 4.5 blocks a call: a result, a reply of three, and an unseen
// block in every other input.
func benchSession(calls int, result int32) *sessionBuilder {
	b := newSession("bench")
	b.unseen = true
	return b.turns(calls, 0, result)
}

// BenchmarkLoop simulates sessions from the parsed form. The metric calls/s is
// simulated conversation calls on one core.
func BenchmarkLoop(b *testing.B) {
	for _, strategy := range []string{"none", "recorded", "auto-compact/167k", "claude-code/2.1", "claude-code/2026-03", "claude-code/2026-10"} {
		for _, calls := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/calls=%d", strategy, calls), func(b *testing.B) {
				c := testConfig(b, strategy)
				c.Verify, c.Breaks = false, true
				result := int32(1400)
				if calls == 100 {
					result = 3000 // at least one compaction
				}
				s := benchSession(calls, result).session()
				l := NewLoop(c)
				if _, err := l.Run(s); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					row, err := l.Run(s)
					if err != nil {
						b.Fatal(err)
					}
					n += row.N(measures.Calls)
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}
