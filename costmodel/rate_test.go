package costmodel_test

import (
	"math"
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
	if n := testing.AllocsPerRun(100, func() { c := r.Cost(&u); sum += c[results.ClassRead] }); n != 0 {
		t.Errorf("%g allocations a call, want 0", n)
	}
	if sum == 0 {
		t.Error("nothing was billed")
	}
}

// What was not read and would have been written costs a quarter more (OpenAI's page on
// GPT-5.6: writes at 1.25 times the input), and nothing where the log has writes, or none
// are billed.
func TestUnwritten(t *testing.T) {
	for _, tc := range []struct {
		model string
		usage prompt.Usage
		want  float64 // USD
	}{
		{"gpt-5.6-sol", prompt.Usage{Uncached: 40_000, Read: 100_000}, 40_000 * 0.25 * 5 / 1e6},
		{"gpt-5.6-sol", prompt.Usage{Uncached: 40_000, WriteOther: 1}, 0},
		{"gpt-5.5", prompt.Usage{Uncached: 40_000}, 0},
	} {
		p := lookup(t, table(t), tc.model, "2026-07-10")
		rate := p.Standard()
		if got := rate.Unwritten(tc.usage); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s, %+v: $%g, want $%g", tc.model, tc.usage, got, tc.want)
		}
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
				c := r.Cost(&u)
				sum += c[results.ClassRead]
			}
			b.ReportMetric(sum/float64(b.N), "USD/op")
		})
	}
}
