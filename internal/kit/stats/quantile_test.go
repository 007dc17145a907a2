package stats

import (
	"math"
	"testing"
)

// Type 7 by its definition: value at 1 + (n−1)·p. Of 1…10 R gives 5.5 as the
// median, 3.25 and 7.75 as the quartiles.
func TestQuantile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tc := range []struct {
		values  []float64
		p, want float64
	}{
		{ten, 0.5, 5.5},
		{ten, 0.25, 3.25},
		{ten, 0.75, 7.75},
		{ten, 0, 1},
		{ten, 1, 10},
		{ten, 0.025, 1.225},
		{[]float64{4}, 0.3, 4},
		{[]float64{-1, 3}, 0.25, 0},
		{[]float64{1, 2, 3, 4}, 0.9, 3.7}, // np.quantile
	} {
		if got := Quantile(tc.values, tc.p); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("quantile %v of %v = %v, want %v", tc.p, tc.values, got, tc.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing = %v", got)
	}
	if got := Quantile([]float64{1, 2, 3}, math.NaN()); !math.IsNaN(got) {
		t.Errorf("quantile NaN = %v", got)
	}
}
