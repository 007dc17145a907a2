package stats

import (
	"cmp"
	"slices"
)

// Holm returns the p-values adjusted for their number by Holm's step-down
// method (Holm 1979): rejecting those at or below α keeps the chance of any
// wrong rejection at α, however they depend on each other. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	var least float64
	for rank, i := range order {
		least = max(least, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}
