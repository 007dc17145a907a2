package fleet

import "slices"

// manyTimes are so many that they are sorted digit by digit.
const manyTimes = 1 << 12

// sortTimes sorts times: digit by digit when there are many, as comparing takes
// longer for each the more there are.
func sortTimes(list []int64) {
	if len(list) < manyTimes {
		slices.Sort(list)
		return
	}
	least, most := slices.Min(list), slices.Max(list)
	from, to := list, make([]int64, len(list))
	for shift := 0; (most-least)>>shift > 0; shift += digit {
		var at [1 << digit]int
		for _, v := range from {
			at[(v-least)>>shift&(1<<digit-1)]++
		}
		sum := 0
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, v := range from {
			d := (v - least) >> shift & (1<<digit - 1)
			to[at[d]] = v
			at[d]++
		}
		from, to = to, from
	}
	copy(list, from)
}

// digit is the size of one, bits: the counts of all values fit a core's own memory.
const digit = 12
