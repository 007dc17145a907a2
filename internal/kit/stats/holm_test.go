package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// By hand: 0.005·4, 0.01·3, 0.03·2, and 0.04·1 raised to the one before it. R's
// p.adjust gives the same.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("adjusted %v, want %v at %d", got, want, i)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("adjusted %v, want no p-value above 1", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("adjusted %v of nothing", got)
	}
}

// Adjusting never lowers a p-value, never goes beyond Bonferroni, and keeps
// their order.
func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		adjusted := Holm(p)
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > min(1, float64(len(p))*p[i]) {
				t.Fatalf("%v adjusted to %v", p, adjusted)
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("%v adjusted to %v: other order", p, adjusted)
				}
			}
		}
	})
}
