package draws

import (
	"math"
	"sort"
	"testing"
)

func TestDrawsAreFunctionsOfTheirKey(t *testing.T) {
	s := Source{Seed: 1, Session: 2}
	if s.Uint64(Eviction, 3) != s.Uint64(Eviction, 3) {
		t.Error("the same key gives two draws")
	}
	seen := map[uint64]string{}
	for name, d := range map[string]uint64{
		"base":    s.Uint64(Eviction, 3),
		"seed":    Source{2, 2}.Uint64(Eviction, 3),
		"session": Source{1, 3}.Uint64(Eviction, 3),
		"purpose": s.Uint64(SummarySize, 3),
		"event":   s.Uint64(Eviction, 4),
	} {
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s share a draw", name, other)
		}
		seen[d] = name
	}
}

// The draws of consecutive events must look uniform: the largest distance
// between the empirical and the uniform distribution of n draws stays below
// 1.95/√n with probability 0.999 (Kolmogorov).
func TestUniform(t *testing.T) {
	const n = 20000
	for _, s := range []Source{{}, {Seed: 1}, {Session: 1}, {Seed: 42, Session: 7}} {
		u := make([]float64, n)
		for i := range u {
			u[i] = Unit(s.Uint64(SummarySize, Event(0, int32(i), 0, 0)))
		}
		sort.Float64s(u)
		var d float64
		for i, v := range u {
			d = max(d, math.Abs(v-float64(i)/n), math.Abs(v-float64(i+1)/n))
		}
		if limit := 1.95 / math.Sqrt(n); d > limit {
			t.Errorf("%+v: Kolmogorov distance %.4f > %.4f", s, d, limit)
		}
	}
}

func TestEventsAreDistinct(t *testing.T) {
	seen := map[uint64]bool{}
	for thread := range int32(5) {
		for round := int32(-1); round < 100; round++ {
			for layer := range uint8(3) {
				for ordinal := range uint8(4) {
					e := Event(thread, round, layer, ordinal)
					if seen[e] {
						t.Fatalf("thread %d round %d layer %d ordinal %d: id already used", thread, round, layer, ordinal)
					}
					seen[e] = true
				}
			}
		}
	}
}

func TestLogNormalMedian(t *testing.T) {
	s := Source{Seed: 9}
	v := make([]float64, 10001)
	for i := range v {
		v[i] = LogNormal(s.Uint64(SummarySize, uint64(i)), 4000, 0.35)
	}
	sort.Float64s(v)
	if m := v[len(v)/2]; math.Abs(m-4000) > 60 {
		t.Errorf("median %.0f, want 4000 ± 60", m)
	}
	if q := v[len(v)*841/1000] / v[len(v)/2]; math.Abs(q-math.Exp(0.35)) > 0.05 {
		t.Errorf("84.1 %% quantile over median %.3f, want e^0.35 = %.3f", q, math.Exp(0.35))
	}
}
