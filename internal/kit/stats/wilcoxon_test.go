package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Published examples. Depression scores: Hollander & Wolfe 1973, p. 29, the
// example of R's wilcox.test, V = 40 and one-sided p = 0.01953 = 10/2⁹. Maize:
// Darwin's cross- and self-fertilised plants, in which Wilcoxon's W = 24 has the
// two-sided p 0.041259765625 = 1352/2¹⁵.
func TestWilcoxonPublished(t *testing.T) {
	first := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	second := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	scores := make([]float64, len(first))
	for i := range scores {
		scores[i] = first[i] - second[i]
	}
	maize := []float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}
	for _, tc := range []struct {
		differences []float64
		plus, minus float64
		p           float64
	}{
		{scores, 40, 5, 20.0 / 512},
		{maize, 96, 24, 0.041259765625},
	} {
		s := Wilcoxon(tc.differences, 0)
		if s.Plus != tc.plus || s.Minus != tc.minus || !s.Exact || math.Abs(s.P-tc.p) > 1e-15 {
			t.Errorf("%+v, want %v and %v with p %v", s, tc.plus, tc.minus, tc.p)
		}
	}
}

// By hand. Sizes 1 1 2 3 3 3: ranks 1.5 1.5 3 5 5 5. Positive are 1, 2, 3, 3, 3:
// 19.5, negative one 1: 1.5. Of the 2⁶ signs those with a sum of at most 1.5 are
// no rank and either of the two of 1.5: p = 2·3/64.
func TestWilcoxonTies(t *testing.T) {
	s := Wilcoxon([]float64{3, 0, -1, 1, 3, 2, 0, 3}, 0)
	if s.N != 6 || s.Zeros != 2 || s.Plus != 19.5 || s.Minus != 1.5 || !s.Exact || s.P != 6.0/64 {
		t.Fatalf("%+v", s)
	}
	if want := 18.0 / 21; s.RankBiserial() != want {
		t.Errorf("rank-biserial %v, want %v", s.RankBiserial(), want)
	}
}

// n equal differences all go one way with a chance of 2/2ⁿ.
func TestWilcoxonEqualDifferences(t *testing.T) {
	for _, n := range []int{4, 5, 6, 8, 50} {
		if s := Wilcoxon(slices.Repeat([]float64{0.25}, n), 0); s.P != math.Exp2(float64(1-n)) || !s.Exact {
			t.Errorf("%d: %+v", n, s)
		}
	}
}

// (v + 0.3) − v is 0.3 up to rounding, for each v another rounding: with a
// precision above it they are ties, as they are by the figures.
func TestWilcoxonRounding(t *testing.T) {
	var differences []float64
	for _, v := range []float64{1.1, 2.3, 4.7, 9.1, 17.9, 33.3, 65.7} {
		differences = append(differences, (v+0.3)-v)
	}
	differences = append(differences, -((128.9 + 0.3) - 128.9))
	// One of eight equal sizes is negative: none or one of eight in 2⁸, twice.
	if s := Wilcoxon(differences, 1e-10); s.P != 2*9.0/256 || s.Minus != 4.5 {
		t.Errorf("%+v", s)
	}
	// A precision joins sizes with the least of their group, not in a chain.
	if s := Wilcoxon([]float64{1, -2, 3, -4}, 1); s.Plus != 1.5+3.5 || s.Minus != 1.5+3.5 {
		t.Errorf("%+v, want the ranks 1.5 1.5 3.5 3.5", s)
	}
}

func TestWilcoxonNothing(t *testing.T) {
	for _, d := range [][]float64{nil, {0, 0, 0}} {
		if s := Wilcoxon(d, 0); s.P != 1 || s.RankBiserial() != 0 || s.Zeros != len(d) {
			t.Errorf("%v: %+v", d, s)
		}
	}
	// Differences as often above as below by the same ranks: no sign is further off.
	if s := Wilcoxon([]float64{1, -1}, 0); s.P != 1 {
		t.Errorf("%+v", s)
	}
}

// enumerate counts all signs of the sizes whose rank sum is as far from the
// middle as that of the differences. The rank of a size is by definition half of
// one more than the number below it and that up to it.
func enumerate(differences []float64) float64 {
	n := len(differences)
	doubled, all := make([]int, n), 0
	for i, d := range differences {
		doubled[i] = 1
		for _, other := range differences {
			if math.Abs(other) < math.Abs(d) {
				doubled[i]++
			}
			if math.Abs(other) <= math.Abs(d) {
				doubled[i]++
			}
		}
		all += doubled[i]
	}
	far := func(positive func(i int) bool) int {
		sum := 0
		for i, rank := range doubled {
			if positive(i) {
				sum += rank
			}
		}
		return max(2*sum-all, all-2*sum)
	}
	own, as := far(func(i int) bool { return differences[i] > 0 }), 0
	for signs := range 1 << n {
		if far(func(i int) bool { return signs>>i&1 == 1 }) >= own {
			as++
		}
	}
	return float64(as) / float64(int(1)<<n)
}

// P is what counting out all signs gives, without ties and with few sizes.
func TestWilcoxonIsFullEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{1, 2, 4, 1000}).Draw(t, "most")
		sizes := rapid.SliceOfN(rapid.IntRange(1, most), 1, 10).Draw(t, "sizes")
		differences := make([]float64, len(sizes))
		for i, size := range sizes {
			differences[i] = float64(size)
			if rapid.Bool().Draw(t, "negative") {
				differences[i] = -differences[i]
			}
		}
		if got, want := Wilcoxon(differences, 0).P, enumerate(differences); math.Abs(got-want) > 1e-12 {
			t.Fatalf("p of %v = %v, counted out %v", differences, got, want)
		}
	})
}

// Swapping sides swaps the rank sums and keeps P.
func TestWilcoxonSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Float64Range(-3, 3), 0, 80).Draw(t, "differences")
		negative := make([]float64, len(d))
		for i := range d {
			negative[i] = -d[i]
		}
		a, b := Wilcoxon(d, 0), Wilcoxon(negative, 0)
		if a.Plus != b.Minus || a.Minus != b.Plus || a.P != b.P || a.RankBiserial() != -b.RankBiserial() {
			t.Fatalf("%+v and %+v", a, b)
		}
		if n := float64(a.N); a.Plus+a.Minus != n*(n+1)/2 {
			t.Fatalf("%+v: ranks of %v do not sum up", a, n)
		}
	})
}

// By hand: 51 equal differences, 20 of them negative, share the rank 26, so that 806
// is above and 520 below the mean of 663. The variance is 51·52·103/24 − (51³ −
// 51)/48 = 11381.5 − 2762.5 = 8619, z = (143 − 0.5)/√8619 = 1.534922.
func TestWilcoxonManyTies(t *testing.T) {
	s := Wilcoxon(slices.Concat(slices.Repeat([]float64{2}, 31), slices.Repeat([]float64{-2}, 20)), 0)
	if s.Plus != 806 || s.Minus != 520 || s.Exact || math.Abs(s.P-0.124803) > 1e-6 {
		t.Errorf("%+v", s)
	}
}

// Where the exact distribution ends, the approximation is close to it: across the
// range, without ties and with ten groups of five.
func TestWilcoxonApproximation(t *testing.T) {
	for _, tc := range []struct {
		tied []int
		off  float64
	}{
		{slices.Repeat([]int{1}, maxExact), 0.0025},
		{slices.Repeat([]int{5}, maxExact/5), 0.0035},
	} {
		for _, minus := range []float64{200, 300, 405, 435, 500, 600, 637} {
			s := SignedRank{N: maxExact, Plus: 1275 - minus, Minus: minus}
			if exact, about := exactP(tc.tied, int(2*minus)), s.approximateP(tc.tied); math.Abs(exact-about) > tc.off {
				t.Errorf("%d groups, %v: exact %v, approximate %v", len(tc.tied), minus, exact, about)
			}
		}
	}
}
