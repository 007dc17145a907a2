package reading

import "slices"

// Share sets weights to shares of total in proportion to what they are, by
// largest remainder, so that the sum is exact. Weights that are all zero share
// by count. Weights must not be negative; without any nothing happens.
func Share(total int64, weights []*int32) {
	if len(weights) == 0 {
		return
	}
	var sum int64
	for _, w := range weights {
		sum += int64(*w)
	}
	if sum == 0 {
		for _, w := range weights {
			*w = 1
		}
		sum = int64(len(weights))
	}
	type rest struct {
		at   int
		left int64
	}
	rests := make([]rest, len(weights))
	given := int64(0)
	for i, w := range weights {
		n := int64(*w) * total // at most 1e8 × 1e8: far inside int64
		*w = int32(n / sum)
		given += n / sum
		rests[i] = rest{i, n % sum}
	}
	slices.SortStableFunc(rests, func(a, b rest) int {
		switch {
		case a.left > b.left:
			return -1
		case a.left < b.left:
			return 1
		}
		return 0
	})
	for k := int64(0); k < total-given; k++ {
		*weights[rests[k].at]++
	}
}
