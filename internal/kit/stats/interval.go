package stats

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// freedom returns the degrees of freedom of a standard error, given the influence of each session
// on the figure: one less than the number of sessions or, where few sessions make up most of the
// spread, than the number of sessions alike whose spread is known as well, by the fourth moment.
// The fourth moment of normal values is three times the square of the second (Satterthwaite 1946);
// twice is taken, for small samples lack the largest values.
func freedom(influence []float64) float64 {
	n := float64(max(len(influence), 2))
	unit := largest(influence)
	var mean, squares, fourths float64
	for _, v := range influence {
		mean += v / unit / n
	}
	for _, v := range influence {
		d := v/unit - mean
		squares += d * d
		fourths += d * d * d * d
	}
	if !(fourths > 0) {
		return n - 1
	}
	return max(1, min(n, 2*squares*squares/fourths)-1)
}

// accelerated returns the bias-corrected and accelerated interval of a bootstrap (BCa, Efron 1987) of an estimate, whose ends belong to
// the points −z and z of the standard normal distribution. Its quantiles of draws are shifted by the share of draws below the estimate
// and by the skewness of influence, the linear influence of each pair on the estimate. The order of draws does not matter.
func accelerated(draws []float64, estimate float64, influence []float64, z float64) Interval {
	sorted := slices.Clone(draws)
	slices.Sort(sorted)
	bias, acceleration := biasOf(sorted, estimate), skewness(influence)/6
	return Interval{
		Quantile(sorted, accelerate(-z, bias, acceleration)),
		Quantile(sorted, accelerate(z, bias, acceleration)),
	}
}

// widenLevel returns the point of the standard normal distribution at which to take a percentile
// instead of the level's point, given the degrees of freedom.
//
// Percentile intervals of few pairs are too narrow: the variance of resamples is (n −
// 1)/n of the estimate's, and the quantiles are normal instead of Student's. Both are
// corrected by taking quantiles further out (Hesterberg 2015, §4.2); at 12 pairs that are alike and a
// level of 0.95 those are 1.1 instead of 2.5 % at either end.
func widenLevel(level, freedom float64) float64 {
	t := studentPoint(freedom, 1-(1-level)/2)
	return math.Sqrt((freedom+1)/freedom) * t
}

// biasOf returns the normal quantile of the share of ascending draws below
// estimate, where draws equal to it up to rounding count half. A share of none or all counts as
// the share of half a draw.
func biasOf(ascending []float64, estimate float64) float64 {
	const rounding = 1e-12
	off := rounding * math.Abs(estimate)
	below, _ := slices.BinarySearch(ascending, estimate-off)
	upTo, _ := slices.BinarySearch(ascending, math.Nextafter(estimate+off, math.Inf(1)))
	n := float64(len(ascending))
	share := float64(below+upTo) / 2
	return normalPoint(min(max(share, 0.5), n-0.5) / n)
}

// skewness returns Σx³/(Σx²)^1.5 of values about their mean, which lies between
// −1 and 1. It does not depend on the unit of the values, so they are scaled by
// the largest: squares of large ones would overflow. It is 0 if a value is not
// finite.
func skewness(values []float64) float64 {
	unit := largest(values)
	if unit == 0 || math.IsNaN(unit) || math.IsInf(unit, 0) {
		return 0
	}
	var mean, squares, cubes float64
	for _, v := range values {
		mean += v / unit / float64(len(values))
	}
	for _, v := range values {
		d := v/unit - mean
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (squares * math.Sqrt(squares))
}

// largest returns the largest absolute value, NaN if a value is NaN.
func largest(values []float64) float64 {
	var size float64
	for _, v := range values {
		size = max(size, math.Abs(v))
	}
	return size
}

// accelerate returns the probability whose quantile replaces the quantile of the normal point z.
// Beyond the pole of the formula it is 0 or 1.
func accelerate(z, bias, acceleration float64) float64 {
	at := bias + z
	left := 1 - acceleration*at
	switch {
	case left <= 0 && at > 0:
		return 1
	case left <= 0:
		return 0
	}
	return normalShare(bias + at/left)
}

func normalPoint(share float64) float64 { return math.Sqrt2 * math.Erfinv(2*share-1) }
func normalShare(point float64) float64 { return math.Erfc(-point/math.Sqrt2) / 2 }

// points has quantiles of Student's distribution by freedom and share: comparisons of many pairs ask
// for the same few.
var points sync.Map

// studentPoint returns a quantile of Student's distribution. Quantiles of whole degrees of
// freedom, of which there are as many as sessions, are kept.
func studentPoint(freedom, p float64) float64 {
	key := [2]float64{freedom, p}
	if x, ok := points.Load(key); ok {
		return x.(float64)
	}
	x := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(p)
	if freedom == math.Trunc(freedom) {
		points.Store(key, x)
	}
	return x
}

// Quantile returns the quantile p in [0, 1] of ascending values by linear
// interpolation between order statistics at 1 + (n−1)·p (type 7 of Hyndman and
// Fan 1996, the default of R and NumPy). It is NaN for no values and for p NaN.
func Quantile(ascending []float64, p float64) float64 {
	if len(ascending) == 0 || math.IsNaN(p) {
		return math.NaN()
	}
	at := float64(len(ascending)-1) * min(max(p, 0), 1)
	below := int(at)
	if below == len(ascending)-1 {
		return ascending[below]
	}
	low, high := ascending[below], ascending[below+1]
	return low + (at-float64(below))*(high-low)
}

// Interval is a two-sided confidence interval, in the unit of its quantity.
type Interval struct{ Low, High float64 }

// Everything is the interval of a figure of which nothing is known.
var Everything = Interval{math.Inf(-1), math.Inf(1)}

// Known reports whether an interval says anything.
func (i Interval) Known() bool { return finite(i.High - i.Low) }

// Contains reports whether v lies in the interval, its ends included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Percentile returns the interval between the two quantiles of draws that leave
// (1 − level)/2 outside at either end: Efron's percentile interval of a
// bootstrap. The order of draws does not matter.
func Percentile(draws []float64, level float64) Interval {
	sorted := slices.Clone(draws)
	slices.Sort(sorted)
	outside := (1 - level) / 2
	return Interval{Quantile(sorted, outside), Quantile(sorted, 1-outside)}
}

// snap sets an end that is zero except for the rounding of sums to zero: whether an
// interval contains zero decides a verdict.
func (i Interval) snap() Interval {
	for _, end := range []*float64{&i.Low, &i.High} {
		if math.Abs(*end) < 1e-9*(i.High-i.Low) {
			*end = 0
		}
	}
	return i
}

// widen returns the interval around a value with an independent error, whose own interval reaches
// as far as half to either side.
func (i Interval) widen(at, half float64) Interval {
	return Interval{at - math.Hypot(at-i.Low, half), at + math.Hypot(i.High-at, half)}
}

// student returns Student's interval of a value with a standard error.
func student(value, deviation, freedom, level float64) Interval {
	half := studentPoint(freedom, (1+level)/2) * deviation
	return Interval{value - half, value + half}
}

// standardError returns the standard error of a figure, given the influence of each session on
// it.
func standardError(influence []float64) float64 {
	n := float64(len(influence))
	if n < 2 {
		return 0
	}
	return math.Sqrt(n/(n-1)) * StandardErrorOfSum(influence)
}

// StandardErrorOfSum returns the standard error of the sum of values when as many values are drawn
// with replacement: the limit of a bootstrap of the sum
// for many resamples. For a smooth function of sums, pass the linear influence
// of each pair on it (the delta method, or infinitesimal jackknife).
func StandardErrorOfSum(values []float64) float64 {
	unit := largest(values) // squares of large values would overflow
	if unit == 0 {
		return 0
	}
	var mean float64
	for _, v := range values {
		mean += v / unit
	}
	mean /= float64(len(values))
	var squares float64
	for _, v := range values {
		squares += (v/unit - mean) * (v/unit - mean)
	}
	return unit * math.Sqrt(squares)
}

// PairsNeeded returns the number of pairs below which no two-sided test of
// signs or ranks can reject at a level, whatever the data: the least n with
// 2/2ⁿ ≤ 1 − level, 6 for 0.95.
func PairsNeeded(level float64) int {
	for n := 1; n < 64; n++ {
		// The binary value of a level such as 0.95 is not exact.
		if math.Exp2(float64(1-n)) <= (1-level)*(1+1e-9) {
			return n
		}
	}
	return 64
}

// manyPairs is the number of sessions that differ from which the sum of exchanged differences is
// taken as normal.
const manyPairs = 200

// common is the least chance of a sum with random signs that is as far from 0 as its standard deviation, whatever it is a sum of (Oleszkiewicz,
// On the Stein property of Rademacher sequences, 1996).
const common = 0.1

// exchangeSigns returns the chance of a sum of differences as far from 0 as theirs if the sides of each
// session were exchanged at random, as they may be where there is no difference (Fisher 1935), and
// the standard deviation of that sum. The chance is the tail beyond the saddle point of the cumulants (Lugannani and Rice 1980), which is close also
// where a single one of all exchanges is as far. Where all that matters is that it is above a level, which is then below common, it may be 1.
func exchangeSigns(differences []float64, level float64) (chance, deviation float64) {
	unit := largest(differences)
	if unit == 0 || !finite(unit) {
		return 1, 0
	}
	var sum, most, squares float64
	sizes := make([]float64, 0, len(differences)) // in the unit, of sessions that differ
	for _, d := range differences {
		if d != 0 {
			d /= unit
			sizes = append(sizes, math.Abs(d))
			sum, most, squares = sum+d, most+math.Abs(d), squares+d*d
		}
	}
	sum, deviation = math.Abs(sum), unit*math.Sqrt(squares)
	least := math.Exp2(float64(1 - len(sizes)))
	switch {
	case len(sizes) > manyPairs:
		return max(least, 2*normalShare(-sum/math.Sqrt(squares))), deviation
	case sum >= most*(1-1e-9):
		return least, deviation
	case level < common && sum*sum <= squares:
		return 1, deviation
	}
	// Newton's method comes to the saddle point from below, as the first derivative is concave.
	at := 0.0
	for range 60 {
		first, second := slopes(sizes, at)
		step := (sum - first) / second
		if at += step; step <= 1e-9*at {
			break
		}
	}
	_, second := slopes(sizes, at)
	w, u := math.Sqrt(max(0, 2*(at*sum-cumulant(sizes, at)))), at*math.Sqrt(second)
	if w < 1e-3 || u == 0 {
		return 1, deviation
	}
	tail := normalShare(-w) + math.Exp(-w*w/2)/math.Sqrt(2*math.Pi)*(1/u-1/w)
	return min(1, max(least, 2*tail)), deviation
}

// cumulant returns the cumulant generating function of a sum with random signs.
func cumulant(sizes []float64, at float64) (sum float64) {
	for _, x := range sizes {
		sum += at*x + math.Log1p(math.Exp(-2*at*x)) - math.Ln2
	}
	return sum
}

// slopes returns the first two derivatives of cumulant.
func slopes(sizes []float64, at float64) (first, second float64) {
	for _, x := range sizes {
		e := math.Exp(-2 * at * x)
		slope := (1 - e) / (1 + e) // the hyperbolic tangent
		first += x * slope
		second += x * x * (1 - slope*slope)
	}
	return first, second
}
