package costmodel_test

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// A resolved rate does not allocate.
func TestCostDoesNotAllocate(t *testing.T) {
	p := lookup(t, table(t), "claude-haiku-5-5", "2026-11-01")
	r := p.Standard()
	u := prompt.Usage{Uncached: 12, Read: 120_000, Write5m: 900, Output: 300}
	var sum float64
	if n := testing.AllocsPerRun(100, func() { c := r.Cost(&u); sum += c[measures.ClassRead] }); n != 0 {
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
				sum += c[measures.ClassRead]
			}
			b.ReportMetric(sum/float64(b.N), "USD/op")
		})
	}
}

// Terms of service in a name multiply the price: fast mode of Opus 4.6 by 6 until 2026-06-28,
// inference in the United States by 1.1, batches by 0.5 (platform.claude.com, pricing). A term
// without a rate has no price, unless the whole name is billed as another model.
func TestTerms(t *testing.T) {
	prices, at := table(t), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sum := func(name string) (usd float64) {
		p := lookup(t, prices, name, "2026-03-01")
		for _, v := range p.Cost(prompt.Usage{Uncached: 1e6, Output: 1e6}) {
			usd += v
		}
		return usd
	}
	usual := sum("claude-opus-4-6")
	for name, factor := range map[string]float64{
		"claude-opus-4-6[fast]": 6, "claude-opus-4-6[us]": 1.1, "claude-opus-4-6[batch]": 0.5, "claude-opus-4-6[fast][us]": 6.6,
	} {
		if got := sum(name); math.Abs(got/usual-factor) > 1e-9 {
			t.Errorf("%s costs %g times the usual, want %g", name, got/usual, factor)
		}
	}
	if _, err := prices.Lookup("claude-opus-4-6[priority]", at); err == nil {
		t.Error("a term without a rate has a price")
	}
	as, err := prices.WithAliases(map[string]string{"claude-opus-4-6[priority]": "claude-opus-4-6"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as.Lookup("claude-opus-4-6[priority]", at); err != nil {
		t.Error(err)
	}
}
