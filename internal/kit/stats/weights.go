package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
)

// resampling is the purpose of the draws of a bootstrap, which keeps them apart
// from those of a simulation.
const resampling draws.Purpose = 1 << 32

// lanes is the number of resamples drawn and added up together.
const lanes = 4

// weights are how often each pair was drawn in some resamples.
type weights [][lanes]float64

// count draws len(counts) pairs. Each 64-bit draw gives two: its halves, scaled
// to the number of pairs, which are off uniform by at most n/2³². The chance
// that a byte cannot hold the count of a pair is below 10⁻⁵⁰⁰.
func count(counts []uint8, source draws.Source) {
	clear(counts)
	n := uint64(len(counts))
	for i := uint64(0); i < n; i += 2 {
		u := source.Uint64(resampling, i)
		counts[(u>>32)*n>>32]++
		if i+1 < n {
			counts[(u&math.MaxUint32)*n>>32]++
		}
	}
}

// sparse is a column without its zeros: many columns count events of few pairs.
type sparse struct {
	pairs  []uint32
	values []float64
}

func newSparse(column []float64) sparse {
	var s sparse
	for i, v := range column {
		if v != 0 {
			s.pairs, s.values = append(s.pairs, uint32(i)), append(s.values, v)
		}
	}
	return s
}

// sum adds up the column under weights. The sums are separate variables, so
// that they stay in registers.
func (s *sparse) sum(w weights) [lanes]float64 {
	var s0, s1, s2, s3 float64
	for k, i := range s.pairs {
		v, x := s.values[k], &w[i]
		s0 += v * x[0]
		s1 += v * x[1]
		s2 += v * x[2]
		s3 += v * x[3]
	}
	return [lanes]float64{s0, s1, s2, s3}
}

// maxSorted is how many of the largest values of a column are kept in order: a
// resample misses all of them with a chance of about e⁻³².
const maxSorted = 32

// descent finds the largest value of a column among the drawn pairs: most
// resamples have one of its first few.
type descent []int // indices of the largest values, descending

func newDescent(column []float64) descent {
	order := make([]int, len(column))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(column[b], column[a]) })
	return order[:min(maxSorted, len(order))]
}

// max returns the largest value of a drawn pair; there is at least one.
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
