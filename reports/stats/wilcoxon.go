package stats

import (
	"math"
	"slices"
)

// maxExact is the largest number of differences without ties for which the
// distribution of the rank sum is counted out; its 2ⁿ outcomes stay exact in
// float64.
const maxExact = 50

// SignedRank is the outcome of Wilcoxon's signed-rank test (Wilcoxon 1945).
type SignedRank struct {
	N     int     // differences that are not zero
	Zeros int     // differences that are, which the test leaves out
	Plus  float64 // sum of the ranks of positive differences
	Minus float64 // sum of the ranks of negative differences
	P     float64 // two-sided, in [0, 1]; 1 when all differences are zero
	Exact bool    // P is counted out; otherwise by the normal approximation
}

// Wilcoxon tests whether differences of pairs are as often and as far above
// zero as below. Zero differences are left out, as Wilcoxon does and unlike
// Pratt, who ranks them: a pair that a change does not touch says nothing about
// the direction of the change. Equal sizes share their mean rank.
//
// Up to 50 differences of distinct sizes P is exact. Otherwise it comes from the
// normal approximation with corrections for ties and continuity.
func Wilcoxon(differences []float64) SignedRank {
	var s SignedRank
	// The size of a difference with its sign in the lowest bit: positive floats
	// sort as their bits do, and plain integers sort fast.
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
	ties := s.rank(keys)
	switch {
	case s.N == 0:
		s.P, s.Exact = 1, true
	case s.N <= maxExact && ties == 0:
		s.P, s.Exact = exactP(s.N, int(min(s.Plus, s.Minus))), true
	default:
		s.P = s.approximateP(ties)
	}
	return s
}

// rank sums the ranks of ascending keys and returns Σ(t³ − t) over groups of t
// equal sizes.
func (s *SignedRank) rank(keys []uint64) (ties float64) {
	for i := 0; i < len(keys); {
		j, minus := i, 0
		for j < len(keys) && keys[j]>>1 == keys[i]>>1 {
			minus += int(keys[j] & 1)
			j++
		}
		t := float64(j - i)
		rank := float64(i) + (t+1)/2
		s.Minus += rank * float64(minus)
		s.Plus += rank * (t - float64(minus))
		ties += t*t*t - t
		i = j
	}
	return ties
}

// exactP returns twice the share of the 2ⁿ signs of the ranks 1…n whose sum of
// either sign is at most w, at most 1.
func exactP(n, w int) float64 {
	// ways[v] counts the subsets of the ranks so far that sum to v.
	ways := make([]float64, w+1)
	ways[0] = 1
	for rank := 1; rank <= n; rank++ {
		for v := w; v >= rank; v-- {
			ways[v] += ways[v-rank]
		}
	}
	var tail float64
	for _, k := range ways {
		tail += k
	}
	return min(1, 2*math.Ldexp(tail, -n))
}

func (s *SignedRank) approximateP(ties float64) float64 {
	n := float64(s.N)
	off := math.Abs(s.Plus - n*(n+1)/4)
	off = max(0, off-0.5)
	deviation := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	return min(1, math.Erfc(off/deviation/math.Sqrt2))
}

// RankBiserial returns the matched-pairs rank-biserial correlation (Kerby
// 2014), in [−1, 1]: the share of the rank sum on positive differences less
// that on negative ones, 0 when all are zero.
func (s SignedRank) RankBiserial() float64 {
	if s.N == 0 {
		return 0
	}
	return (s.Plus - s.Minus) / (s.Plus + s.Minus)
}
