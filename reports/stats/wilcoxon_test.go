package stats

import (
	"cmp"
	"math"
	"math/bits"
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
		s := Wilcoxon(tc.differences)
		if s.Plus != tc.plus || s.Minus != tc.minus || !s.Exact || math.Abs(s.P-tc.p) > 1e-15 {
			t.Errorf("%+v, want %v and %v with p %v", s, tc.plus, tc.minus, tc.p)
		}
	}
}

// By hand. Sizes 1 1 2 3 3 3: ranks 1.5 1.5 3 5 5 5. Positive are 1, 2, 3, 3, 3:
// 19.5, negative one 1: 1.5. Mean 10.5, Σ(t³−t) = 6 + 24, variance 6·7·13/24 −
// 30/48 = 22.125, so |z| = (9 − 0.5)/4.70372 = 1.80708 and p = 0.07075.
func TestWilcoxonTies(t *testing.T) {
	s := Wilcoxon([]float64{3, 0, -1, 1, 3, 2, 0, 3})
	if s.N != 6 || s.Zeros != 2 || s.Plus != 19.5 || s.Minus != 1.5 || s.Exact {
		t.Fatalf("%+v", s)
	}
	if math.Abs(s.P-0.07075) > 1e-5 {
		t.Errorf("p = %v", s.P)
	}
	if want := 18.0 / 21; s.RankBiserial() != want {
		t.Errorf("rank-biserial %v, want %v", s.RankBiserial(), want)
	}
}

func TestWilcoxonNothing(t *testing.T) {
	for _, d := range [][]float64{nil, {0, 0, 0}} {
		if s := Wilcoxon(d); s.P != 1 || s.RankBiserial() != 0 || s.Zeros != len(d) {
			t.Errorf("%v: %+v", d, s)
		}
	}
	// Differences as often above as below by the same ranks: at the mean the
	// correction for continuity does not carry beyond it.
	if s := Wilcoxon([]float64{1, -1}); s.P != 1 {
		t.Errorf("%+v", s)
	}
}

// enumerate counts all signs of the sizes whose rank sum is as far from the
// middle as that of the differences.
func enumerate(differences []float64) float64 {
	sorted := slices.Clone(differences)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	n := len(sorted)
	middle := float64(n*(n+1)) / 4
	far := func(signs uint) float64 {
		sum := 0
		for s := signs; s != 0; s &= s - 1 {
			sum += bits.TrailingZeros(s) + 1
		}
		return math.Abs(float64(sum) - middle)
	}
	var own uint
	for i, d := range sorted {
		if d > 0 {
			own |= 1 << i
		}
	}
	as := 0
	for signs := range uint(1) << n {
		if far(signs) >= far(own) {
			as++
		}
	}
	return float64(as) / float64(int(1)<<n)
}

// Without ties P is what counting out all signs gives.
func TestWilcoxonIsFullEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(1, 1000), 1, 10, rapid.ID).Draw(t, "sizes")
		differences := make([]float64, len(sizes))
		for i, size := range sizes {
			differences[i] = float64(size)
			if rapid.Bool().Draw(t, "negative") {
				differences[i] = -differences[i]
			}
		}
		if got, want := Wilcoxon(differences).P, enumerate(differences); math.Abs(got-want) > 1e-12 {
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
		a, b := Wilcoxon(d), Wilcoxon(negative)
		if a.Plus != b.Minus || a.Minus != b.Plus || a.P != b.P || a.RankBiserial() != -b.RankBiserial() {
			t.Fatalf("%+v and %+v", a, b)
		}
		if n := float64(a.N); a.Plus+a.Minus != n*(n+1)/2 {
			t.Fatalf("%+v: ranks of %v do not sum up", a, n)
		}
	})
}

// Where the exact distribution ends, the approximation is close to it.
func TestWilcoxonApproximation(t *testing.T) {
	s := SignedRank{N: maxExact, Plus: 870, Minus: 405}
	if exact, about := exactP(s.N, int(s.Minus)), s.approximateP(0); math.Abs(exact-about) > 0.0015 {
		t.Errorf("exact %v, approximate %v", exact, about)
	}
}
