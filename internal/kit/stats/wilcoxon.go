package stats

import (
	"cmp"
	"math"
	"slices"
)

// maxExact is the largest number of differences for which the distribution of
// the rank sum is enumerated; its 2ⁿ outcomes are exact in float64.
const maxExact = 50

// SignedRank is the outcome of Wilcoxon's signed-rank test (Wilcoxon 1945).
type SignedRank struct {
	N     int     // differences that are not zero
	Zeros int     // differences that are zero, which the test leaves out
	Plus  float64 // sum of the ranks of positive differences
	Minus float64 // sum of the ranks of negative differences
	P     float64 // two-sided, in [0, 1]; 1 when all differences are zero
	Exact bool    // P is enumerated; otherwise it is the normal approximation
}

// Wilcoxon tests whether differences of pairs are symmetric about zero, that is
// above zero as often and as far as below. Zero differences are left out, as
// Wilcoxon does and unlike Pratt, who ranks them: a pair that a change does not
// touch says nothing about the direction of the change.
//
// Equal sizes share their mean rank. Sizes that differ by at most precision, in
// the unit of the differences, count as equal: otherwise rounding would break
// ties and make P smaller than the differences justify.
//
// Up to 50 differences P is exact, also with ties: all signs of the ranks are
// enumerated. Otherwise it comes from the normal approximation with corrections
// for ties and continuity.
func Wilcoxon(differences []float64, precision float64) SignedRank {
	var s SignedRank
	// A key is the size of a difference with its sign in the lowest bit: positive
	// floats sort like their bits, and plain integers sort fast.
	keys := make([]uint64, 0, len(differences))
	for _, d := range differences {
		switch {
		case d > 0:
			keys = append(keys, math.Float64bits(d)<<1)
		case d < 0:
			keys = append(keys, math.Float64bits(-d)<<1|1)
		}
	}
	s.N, s.Zeros = len(keys), len(differences)-len(keys)
	slices.Sort(keys)
	tied := s.rank(keys, precision)
	switch {
	case s.N == 0:
		s.P, s.Exact = 1, true
	case s.N <= maxExact:
		s.P, s.Exact = exactP(tied, int(2*min(s.Plus, s.Minus))), true
	default:
		s.P = s.approximateP(tied)
	}
	return s
}

// rank sums the ranks of ascending keys and returns how many share each rank,
// by ascending rank. A size is tied with the least of its group, so that long
// chains of near sizes do not become one group.
func (s *SignedRank) rank(keys []uint64, precision float64) (tied []int) {
	for i := 0; i < len(keys); {
		top := max(math.Float64bits(math.Float64frombits(keys[i]>>1)+precision), keys[i]>>1)
		j, minus := i, 0
		for j < len(keys) && keys[j]>>1 <= top {
			minus += int(keys[j] & 1)
			j++
		}
		rank := meanRank(i, j-i)
		s.Minus += rank * float64(minus)
		s.Plus += rank * float64(j-i-minus)
		tied = append(tied, j-i)
		i = j
	}
	return tied
}

// meanRank returns the rank that t differences of equal size share, with below
// smaller ones: a multiple of a half.
func meanRank(below, t int) float64 { return float64(below) + float64(t+1)/2 }

// exactP returns twice the share of all choices of signs for which the sum of the ranks
// of one sign is at most w, but at most 1. Ranks are doubled, which makes those of ties
// integers; tied has the number of differences that share each rank.
func exactP(tied []int, w int) float64 {
	// ways[v] counts the subsets of the ranks so far that sum to v.
	ways := make([]float64, w+1)
	ways[0] = 1
	n := 0
	for _, t := range tied {
		rank := int(2 * meanRank(n, t))
		for range t {
			for v := w; v >= rank; v-- {
				ways[v] += ways[v-rank]
			}
		}
		n += t
	}
	var tail float64
	for _, k := range ways {
		tail += k
	}
	return min(1, 2*math.Ldexp(tail, -n))
}

// approximateP returns P under the normal approximation; tied has the number of
// differences that share each rank.
func (s *SignedRank) approximateP(tied []int) float64 {
	n, ties := float64(s.N), 0.0
	for _, t := range tied {
		t := float64(t)
		ties += t*t*t - t
	}
	off := math.Abs(s.Plus - n*(n+1)/4)
	off = max(0, off-0.5)
	deviation := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	return min(1, math.Erfc(off/deviation/math.Sqrt2))
}

// RankBiserial returns the matched-pairs rank-biserial correlation (Kerby
// 2014), in [−1, 1]: the share of the rank sum on positive differences minus
// that on negative ones, 0 when all are zero.
func (s SignedRank) RankBiserial() float64 {
	if s.N == 0 {
		return 0
	}
	return (s.Plus - s.Minus) / (s.Plus + s.Minus)
}

// Holm returns the p-values adjusted for their number by Holm's step-down method (Holm
// 1979): rejecting those at or below α keeps the chance of any wrong rejection at most α,
// however they depend on each other. The order is kept.
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
