// Package stats estimates differences: on which side a figure is lower, what chance there is
// that this is chance, and the smallest difference that would have been seen. Sessions are
// the sampling unit.
//
// All inputs must be finite. Same inputs and seed give the same bits, whatever
// the number of workers.
package stats

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Bootstrap draws as many pairs as there are, with replacement, Resamples
// times. The weight of a pair is the number of times it was drawn. All columns
// share the weights, so that functions of several columns can be resampled
// together.
type Bootstrap struct {
	Seed      uint64
	Resamples int // at least 1
	Workers   int // 0 for one per processor; does not change the results
}

// Draws are the sums and maxima of columns under each resample.
type Draws struct {
	Sums   [][]float64 // by column, then by resample
	Maxima [][]float64 // by column, then by resample
}

// Draw returns the weighted sums of the columns in sums, and the maxima of the
// columns in maxima over the drawn pairs. Every column has n values, one for
// each pair. Draw fails when ctx ends.
func (b Bootstrap) Draw(ctx context.Context, n int, sums, maxima [][]float64) (Draws, error) {
	d := Draws{matrix(len(sums), b.Resamples), matrix(len(maxima), b.Resamples)}
	err := parallel.Do(ctx, b.Workers, b.Resamples, func(r int) error {
		counts := make([]uint8, n)
		count(counts, draws.Source{Seed: b.Seed, Session: uint64(r)})
		for c, column := range sums {
			sum := 0.0
			for i, k := range counts {
				sum += float64(k) * column[i]
			}
			d.Sums[c][r] = sum
		}
		for c, column := range maxima {
			top := math.Inf(-1)
			for i, k := range counts {
				if k > 0 {
					top = max(top, column[i])
				}
			}
			d.Maxima[c][r] = top
		}
		return nil
	})
	if err != nil {
		return Draws{}, fmt.Errorf("resampling %d pairs: %w", n, err)
	}
	return d, nil
}

// resampling is the purpose of the draws of a bootstrap, which keeps them apart from the draws of
// a simulation.
const resampling draws.Purpose = 1 << 32

// count draws len(counts) pairs. Each 64-bit draw gives two: its halves, scaled
// to the number of pairs, which are off uniform by at most n/2³². The chance
// that a byte cannot hold the count of a pair is below 10⁻⁵⁰⁰.
func count(counts []uint8, source draws.Source) {
	n := uint64(len(counts))
	for i := uint64(0); i < n; i += 2 {
		u := source.Uint64(resampling, i)
		counts[(u>>32)*n>>32]++
		if i+1 < n {
			counts[(u&math.MaxUint32)*n>>32]++
		}
	}
}

func matrix(n, size int) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, size)
	}
	return all
}

// Figure is a metric of one side by session, or by another unit that is sampled: a sum, a
// ratio of two sums, or the mean of several extremes.
type Figure struct {
	Part []float64   // of a sum or a ratio; of extremes what each session has by itself
	Base []float64   // of a ratio, else nil
	Tops [][]float64 // the columns whose maxima count, −∞ without a sample; else nil
	Down bool        // minima count, and Tops has the negatives
}

// Value returns the figure over all sessions. It is NaN or infinite for a ratio whose base is
// 0 and for extremes without a sample.
func (f *Figure) Value() float64 {
	switch {
	case f.Tops != nil:
		var sum float64
		for _, column := range f.Tops {
			sum += slices.Max(column)
		}
		return f.mean(sum)
	case f.Base != nil:
		return total(f.Part) / total(f.Base)
	}
	return total(f.Part)
}

// mean returns the mean of extremes from the sum of the maxima of Tops.
func (f *Figure) mean(sum float64) float64 {
	if f.Down {
		sum = -sum
	}
	return sum / float64(len(f.Tops))
}

// columns returns what is resampled of f: the sums or, of extremes, the maxima.
func (f *Figure) columns() (sums, maxima [][]float64) {
	switch {
	case f.Tops != nil:
		return nil, f.Tops
	case f.Base != nil:
		return [][]float64{f.Part, f.Base}, nil
	}
	return [][]float64{f.Part}, nil
}

func (f *Figure) at(columns [][]float64, resample int) float64 {
	switch {
	case f.Tops != nil:
		var sum float64
		for _, column := range columns[:len(f.Tops)] {
			sum += column[resample]
		}
		return f.mean(sum)
	case f.Base != nil:
		return columns[0][resample] / columns[1][resample]
	}
	return columns[0][resample]
}

// influence returns the linear influence of each session on the figure, up to a constant. An
// extreme has none; what the sessions have by themselves stands for it.
func (f *Figure) influence() []float64 {
	if f.Base == nil {
		return f.Part
	}
	ratio, base := f.Value(), total(f.Base)
	out := make([]float64, len(f.Part))
	for i := range out {
		out[i] = (f.Part[i] - ratio*f.Base[i]) / base
	}
	return out
}

func total(values []float64) float64 {
	var t float64
	for _, v := range values {
		t += v
	}
	return t
}

// rounding is the relative difference up to which two figures are equal, for sums that were
// added up in another order.
const rounding = 1e-12

// Difference returns b − a, or 0 when the two differ only by rounding.
func Difference(a, b float64) float64 {
	if math.Abs(b-a) <= rounding*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return b - a
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
