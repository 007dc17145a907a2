package stats

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/kit/draws"
)

// A sum adds each value times the number of times its pair was drawn, whatever the weights, of
// columns with and without zeros. The values are whole numbers, so that all sums are exact.
func TestSumsAreWeighted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: rapid.SampledFrom([]int{1, 16, 17}).Draw(t, "resamples")}
		columns := matrix(rapid.IntRange(1, 6).Draw(t, "columns"), n)
		for _, column := range columns {
			zeros := rapid.IntRange(0, n).Draw(t, "zeros")
			for i := zeros; i < n; i++ {
				column[(7*i)%n] = float64(rapid.IntRange(-1000, 1000).Draw(t, "value"))
			}
		}
		d, err := b.Draw(context.Background(), n, columns, columns)
		if err != nil {
			t.Fatal(err)
		}
		for r := range b.Resamples {
			counts := make([]uint8, n)
			count(counts, draws.Source{Seed: b.Seed, Session: uint64(r)})
			for c, column := range columns {
				sum, top := weighted(column, counts)
				if d.Sums[c][r] != sum || d.Maxima[c][r] != top {
					t.Fatalf("resample %d, column %d: sum %v, maximum %v, want %v and %v", r, c, d.Sums[c][r], d.Maxima[c][r], sum, top)
				}
			}
		}
	})
}

// weighted returns the sum of values under counts and the largest value of those
// counted.
func weighted(values []float64, counts []uint8) (sum, top float64) {
	some := false
	for i, k := range counts {
		sum += float64(k) * values[i]
		if k > 0 && (!some || values[i] > top) {
			top, some = values[i], true
		}
	}
	return sum, top
}
