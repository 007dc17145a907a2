package exchange

import (
	"math"
	"testing"
)

// By hand, blocks of 8,192 tokens of the server's own, 2,048 below, of which it reports 0.95 for each: 9,500 reported are 10,000
// of its own, one block, 7,782 reported; 5,700 are 6,000, two blocks of 2,048, 3,891; 1,900 are 2,000 and no block.
func TestFloorOfARatio(t *testing.T) {
	s := Serving{Step: 8192, Below: 2048, Ratio: 0.95}
	for shared, want := range map[int64]int64{9_500: 7_782, 5_700: 3_891, 1_900: 0, 0: 0} {
		if got := s.Floor(shared, 0); got != want {
			t.Errorf("of %d tokens %d are read, want %d", shared, got, want)
		}
	}
	if got := s.Floor(5_700, 5_000); got != 0 {
		t.Errorf("a read of 4,096 of its own tokens under a minimum of 5,000 is %d", got)
	}
}

// A read ended at the step that is nearest by the ratio known so far: 31,633 at four blocks, 2,004 at one of 2,048. One that
// ended near no step, and a grid without a ratio, show none.
func TestRatioOf(t *testing.T) {
	s := Serving{Step: 8192, Below: 2048, Ratio: 0.965}
	for read, want := range map[int64]float64{31_633: 31_633.0 / 32_768, 2_004: 2_004.0 / 2_048, 17_459: 17_459.0 / 16_384} {
		if got, ok := s.RatioOf(read); !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("a read of %d shows %g, %v; want %g", read, got, ok, want)
		}
	}
	for _, read := range []int64{0, 500, 12_000} {
		if got, ok := s.RatioOf(read); ok {
			t.Errorf("a read of %d shows a ratio of %g", read, got)
		}
	}
	if _, ok := (Serving{Step: 128}).RatioOf(1280); ok {
		t.Error("a grid without a ratio shows one")
	}
}
