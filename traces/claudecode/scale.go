package claudecode

import "slices"

// scale shares total among the blocks of lists in proportion to their tokens,
// by largest remainder, so that the sum is exact. Blocks without tokens share
// by count. Without any block nothing happens.
func scale(total int64, lists ...[]block) {
	var all []*block
	var sum int64
	for _, list := range lists {
		for i := range list {
			all = append(all, &list[i])
			sum += int64(list[i].Tokens)
		}
	}
	if len(all) == 0 {
		return
	}
	if sum == 0 {
		for _, b := range all {
			b.Tokens = 1
		}
		sum = int64(len(all))
	}
	share(total, sum, all)
}

func share(total, sum int64, all []*block) {
	type rest struct {
		at   int
		left int64
	}
	rests := make([]rest, len(all))
	given := int64(0)
	for i, b := range all {
		n := int64(b.Tokens) * total // at most 1e8 × 1e8: far inside int64
		b.Tokens = int32(n / sum)
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
		all[rests[k].at].Tokens++
	}
}
