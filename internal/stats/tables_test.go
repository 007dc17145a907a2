package stats

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/draws"
)

// A sum is that of each value times the number of times its pair was drawn,
// whatever the weights: more than one batch of resamples, groups that are not
// full, columns with and without zeros, more columns than a tile has. The values
// are whole numbers, so that all sums are exact.
func TestSumsAreWeighted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: rapid.SampledFrom([]int{1, 17, batch + 3}).Draw(t, "resamples")}
		columns := matrix(rapid.IntRange(1, tile+2).Draw(t, "columns"), n)
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
		counts := make([]uint8, n)
		for r := range b.Resamples {
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

// Weights of all sizes, up to the largest that are held: bits 0 and 1 of each
// are in a code, the rest among the fours.
func TestWeightsOfAllSizes(t *testing.T) {
	const n = 256
	counts, column := make([]uint8, n+1), make([]float64, n)
	want := 0.0
	for i := range n {
		counts[i], column[i] = uint8(i), float64(1000-3*i)
		want += float64(i) * column[i]
	}
	column[7] = 0
	want -= 7 * (1000 - 21)
	w := newWeights(0, n, order(n, [][]float64{column}))
	w.reset(0, 1)
	w.fours[0] = w.encode(w.codes, counts, nil)
	out := [][]float64{{0}}
	w.sum([][]float64{column}, out)
	if out[0][0] != want {
		t.Errorf("sum %v, want %v", out[0][0], want)
	}
}

// Bytes 0x01, 0x03, 0xff are odd, all others even.
func TestLowest(t *testing.T) {
	if got := lowest(0xff_02_00_03_fe_80_04_01); got != 0b1001_0001 {
		t.Errorf("%08b", got)
	}
}

// Pairs by the number of columns in which they have a value, then as they were.
func TestOrder(t *testing.T) {
	got := order(5, [][]float64{{0, 1, 0, 1, 1}, {0, 0, 2, 2, 0}, {0, 0, 0, 5, 0}})
	want := []uint32{3, 1, 2, 4, 0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
