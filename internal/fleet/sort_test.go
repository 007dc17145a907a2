package fleet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Times come out as a comparison sorts them, few or many, from before and behind 0.
func TestSortTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.Int64Range(-1<<46, 1<<46), 1, 40).Draw(t, "times")
		got := slices.Repeat(few, rapid.SampledFrom([]int{1, manyTimes}).Draw(t, "times each"))
		for i := range got {
			got[i] += int64(i * 7919 % 1009)
		}
		want := slices.Sorted(slices.Values(got))
		if sortTimes(got); !slices.Equal(got, want) {
			t.Fatalf("%d times are not in order", len(got))
		}
	})
}
