package stats

import (
	"cmp"
	"math"
	"slices"
)

// maxExact is the largest number of differences for which the distribution of
// the rank sum is counted out; its 2ⁿ outcomes stay exact in float64.
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
// zero as below, that is whether they are symmetric about zero. Zero differences
// are left out, as Wilcoxon does and unlike Pratt, who ranks them: a pair that a
// change does not touch says nothing about the direction of the change.
//
// Equal sizes share their mean rank. Sizes that differ by at most precision, in
// the unit of the differences, count as equal: rounding would else break ties
// and make P look surer than the differences are.
//
// Up to 50 differences P is exact, with ties too: all signs of these ranks are
// counted out. Otherwise it comes from the normal approximation with corrections
// for ties and continuity.
func Wilcoxon(differences []float64, precision float64) SignedRank {
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

// rank sums the ranks of ascending keys and returns the numbers of those that
// share a rank, by ascending rank. A size is tied with the least of its group,
// so that long chains of near sizes do not become one.
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

// meanRank is the rank that t differences of equal size share above below
// smaller ones: a multiple of a half.
func meanRank(below, t int) float64 { return float64(below) + float64(t+1)/2 }

// exactP returns twice the share of the signs of all ranks whose sum of either
// sign is at most w, at most 1. Ranks are doubled, which makes those of ties
// integers; tied are the numbers of differences that share each.
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

// approximateP returns P under the normal approximation; tied are the numbers
// of differences that share a rank.
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
// 2014), in [−1, 1]: the share of the rank sum on positive differences less
// that on negative ones, 0 when all are zero.
func (s SignedRank) RankBiserial() float64 {
	if s.N == 0 {
		return 0
	}
	return (s.Plus - s.Minus) / (s.Plus + s.Minus)
}

// Holm returns the p-values adjusted for their number by Holm's step-down
// method (Holm 1979): rejecting those at or below α keeps the chance of any
// wrong rejection at α, however they depend on each other. The order is kept.
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

// tile is the number of columns that are summed up at a time.
const tile = 4

// values are those of a tile of columns, in the order of the weights and in
// whole groups: what a tile needs of a pair is in one place of memory.
type values [][tile]float64

// sum adds up the columns of a tile under the weights of the batch. out is by
// column, then by resample.
//
// The weights are taken apart into bits, so that a sum is one of values drawn an
// odd number of times, twice another such sum, and so on; and of the sums of
// eight values there are but 256, which are looked up (the "four Russians").
func (w *weights) sum(columns, out [][]float64) {
	v := w.ordered(columns)
	var first, second table
	for g := range len(v) / group {
		codes := w.codes[g*w.size : (g+1)*w.size]
		for c := range columns {
			x := v.group(g, c)
			if x == [group]float64{} {
				continue
			}
			first.fill((*[8]float64)(x[:8]))
			second.fill((*[8]float64)(x[8:]))
			add(out[c][w.first:w.first+w.size], codes, &first, &second)
		}
	}
	for r, fours := range w.fours[:w.size] {
		sums := v.at(fours)
		for c := range columns {
			out[c][w.first+r] += 4 * sums[c]
		}
	}
}

// ordered returns the values of columns up to the last group in which one is not
// zero.
func (w *weights) ordered(columns [][]float64) values {
	v := make(values, len(w.order))
	end := 0
	for c, column := range columns {
		for i, pair := range w.order[:w.pairs] {
			if v[i][c] = column[pair]; column[pair] != 0 {
				end = max(end, (i/group+1)*group)
			}
		}
	}
	return v[:end]
}

// group returns the values of a group in column c.
func (v values) group(g, c int) (x [group]float64) {
	for i := range x {
		x[i] = v[g*group+i][c]
	}
	return x
}

// at returns the sums of columns at ascending places; behind the last value they
// are zero. The sums are variables of their own so that they stay in registers.
func (v values) at(places []uint32) [tile]float64 {
	var s0, s1, s2, s3 float64
	for _, i := range places {
		if int(i) >= len(v) {
			break
		}
		s0 += v[i][0]
		s1 += v[i][1]
		s2 += v[i][2]
		s3 += v[i][3]
	}
	return [tile]float64{s0, s1, s2, s3}
}

// table holds the sums of all subsets of eight values. Bit k of an index says
// that value k is in the subset.
type table [256]float64

// fill makes the table of x.
func (t *table) fill(x *[8]float64) {
	low := subsets(x[0], x[1], x[2], x[3])
	high := subsets(x[4], x[5], x[6], x[7])
	for i, sum := range high {
		row := (*[16]float64)(t[16*i:])
		for j := range row {
			row[j] = sum + low[j]
		}
	}
}

// subsets returns the sums of all subsets of four values.
func subsets(a, b, c, d float64) [16]float64 {
	ab, cd := a+b, c+d
	return [16]float64{
		0, a, b, ab, c, a + c, b + c, ab + c,
		d, a + d, b + d, ab + d, cd, a + cd, b + cd, ab + cd,
	}
}

// add adds to each sum what the code of its resample selects.
func add(sums []float64, codes []uint32, first, second *table) {
	sums = sums[:len(codes)]
	for r, c := range codes {
		once := first[uint8(c)] + second[uint8(c>>16)]
		twice := first[uint8(c>>8)] + second[uint8(c>>24)]
		sums[r] += once + 2*twice
	}
}
