package costmodel_test

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// A resolved rate does not allocate.
func TestCostDoesNotAllocate(t *testing.T) {
	p := lookup(t, table(t), "claude-haiku-5-5", "2026-11-01")
	r := p.Standard()
	u := prompt.Usage{Uncached: 12, Read: 120_000, Write5m: 900, Output: 300}
	var sum float64
	if n := testing.AllocsPerRun(100, func() { c := r.Cost(u); sum += c[results.ClassRead] }); n != 0 {
		t.Errorf("%g allocations a call, want 0", n)
	}
	if sum == 0 {
		t.Error("nothing was billed")
	}
}

func BenchmarkCost(b *testing.B) {
	for _, model := range []string{"claude-opus-4-6", "claude-haiku-5-5"} {
		b.Run(model, func(b *testing.B) {
			p := lookup(b, table(b), model, "2026-11-01")
			r := p.Standard()
			u := prompt.Usage{Uncached: 12, Read: 120_000, Write5m: 900, Output: 300}
			var sum float64
			b.ReportAllocs()
			for b.Loop() {
				u.Read++
				c := r.Cost(u)
				sum += c[results.ClassRead]
			}
			b.ReportMetric(sum/float64(b.N), "USD/op")
		})
	}
}
