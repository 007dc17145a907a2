package stats

import (
	"math"
	"testing"
)

// Ten of now above ten of was win all hundred pairs: z = (100 − 50 − 0.5)/√(100·21/12) = 3.742, 9.13e-05. With four of was as
// high, tied with all of now, z = (80 − 50 − 0.5)/√(100/12·(21 − (14³ − 14 + 6³ − 6)/380)) = 2.806, 0.00251. Equal values tell nothing.
func TestHigherRanks(t *testing.T) {
	ten := func(v float64) (list []float64) {
		for range 10 {
			list = append(list, v)
		}
		return list
	}
	apart := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	above := []float64{11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	mixed := append(ten(1)[:6], ten(3)[:4]...)
	for _, c := range []struct {
		was, now []float64
		want     float64
	}{{apart, above, 9.13e-5}, {mixed, ten(3), 0.00251}, {ten(1), ten(1), 1}, {nil, ten(1), 1}} {
		if got := HigherRanks(c.was, c.now); math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%v after %v: %g, want %g", c.now, c.was, got, c.want)
		}
	}
}
