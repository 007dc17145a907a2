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
	var ties, before float64 // before is how many values ahead of this one equal it
	for i, x := range all {
		if before++; i == 0 || x != all[i-1] {
			before = 0
		}
		ties += 3 * before * (before + 1) // t³ − t over t equal values
	}
	deviation := math.Sqrt(n * m / 12 * (n + m + 1 - ties/max((n+m)*(n+m-1), 1)))
	if !(deviation > 0) {
		return 1
	}
	was = slices.Sorted(slices.Values(was))
	won, below, upTo := 0.0, 0, 0 // pairs in which now is higher, ties by half
	for _, x := range slices.Sorted(slices.Values(now)) {
		for below < len(was) && was[below] < x {
			below++
		}
		for upTo < len(was) && was[upTo] <= x {
			upTo++
		}
		won += float64(below+upTo) / 2
	}
	return 1 - normalShare((won-n*m/2-0.5)/deviation)
}
