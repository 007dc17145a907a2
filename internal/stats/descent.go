package stats

import (
	"cmp"
	"slices"
)

// maxSorted is how many of the largest values of a column are kept in order: a
// resample misses all of them with a chance of about e⁻³².
const maxSorted = 32

// descent finds the largest value of a column among the pairs drawn: most
// resamples hold one of its first few.
type descent []int // indices of the largest values, descending

func newDescent(column []float64) descent {
	order := make([]int, len(column))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(column[b], column[a]) })
	return order[:min(maxSorted, len(order))]
}

// max returns the largest value of a pair that was drawn; one was.
func (d descent) max(column []float64, counts []uint8) float64 {
	for _, i := range d {
		if counts[i] > 0 {
			return column[i]
		}
	}
	best, found := 0.0, false
	for i, k := range counts {
		if k > 0 && (!found || column[i] > best) {
			best, found = column[i], true
		}
	}
	return best
}
