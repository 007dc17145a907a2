package stats

import (
	"math"
	"slices"
)

// HigherRanks returns the chance, one-sided, that values as high as the second list come from where the first list does: the rank sum
// test of Mann and Whitney with the normal approximation, corrected for ties and continuity (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 3rd ed., section 4.1). It is 1 where either has no value or all are equal.
func HigherRanks(was, now []float64) float64 {
	n, m := float64(len(was)), float64(len(now))
	all := slices.Sorted(slices.Values(slices.Concat(was, now)))
	ties := 0.0
	for from := 0; from < len(all); {
		to, _ := slices.BinarySearchFunc(all[from:], all[from], func(v, x float64) int {
			if v <= x {
				return -1
			}
			return 1
		})
		t := float64(to)
		ties += t*t*t - t
		from += to
	}
	deviation := math.Sqrt(n * m / 12 * (n + m + 1 - ties/max((n+m)*(n+m-1), 1)))
	if !(deviation > 0) {
		return 1
	}
	won := 0.0 // pairs in which now is higher, ties by half
	for _, x := range now {
		for _, y := range was {
			switch {
			case x > y:
				won++
			case x == y:
				won += 0.5
			}
		}
	}
	return 1 - normalShare((won-n*m/2-0.5)/deviation)
}
