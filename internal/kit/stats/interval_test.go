package stats

import (
	"math"
	"testing"
)

func TestPercentile(t *testing.T) {
	draws := make([]float64, 1001)
	for i := range draws {
		draws[(i*2)%len(draws)] = float64(i)
	}
	if got := Percentile(draws, 0.95); math.Abs(got.Low-25) > 1e-9 || math.Abs(got.High-975) > 1e-9 {
		t.Errorf("middle 95 %% of 0…1000 is %+v", got)
	}
	if draws[2] != 1 {
		t.Error("the draws were reordered")
	}
}

// Drawing two of {0, 2} with replacement sums to 0, 2, 2 or 4: variance 2.
func TestStandardErrorOfSum(t *testing.T) {
	if got := StandardErrorOfSum([]float64{0, 2}); math.Abs(got-math.Sqrt2) > 1e-12 {
		t.Errorf("%v", got)
	}
	// In another unit, the squares of which are beyond the range of numbers.
	if got := StandardErrorOfSum([]float64{0, 2e200}); math.Abs(got/1e200-math.Sqrt2) > 1e-12 {
		t.Errorf("%v", got)
	}
	if got := StandardErrorOfSum([]float64{0, 0}); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// 2/2⁵ = 0.0625 and 2/2⁶ = 0.03125.
func TestPairsNeeded(t *testing.T) {
	for level, want := range map[float64]int{0.9: 5, 0.9375: 5, 0.95: 6, 0.99: 8, 0.5: 2} {
		if got := PairsNeeded(level); got != want {
			t.Errorf("%v needs %d pairs, want %d", level, got, want)
		}
	}
}
