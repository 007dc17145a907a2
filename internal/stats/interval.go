package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a two-sided confidence interval, in the unit of what it is about.
type Interval struct{ Low, High float64 }

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

// Normal returns the interval of an estimate that is about normal, given its
// standard error.
func Normal(estimate, standardError, level float64) Interval {
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	return Interval{estimate - z*standardError, estimate + z*standardError}
}

// StandardErrorOfSum returns the standard error of the sum of values under
// drawing as many of them with replacement: what a bootstrap of the sum tends
// to with the number of resamples. For a smooth function of sums, give the
// linear influence of each pair on it (the delta method, or infinitesimal
// jackknife).
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
// signs or ranks can come out at a level, whatever the data: the least n with
// 2/2ⁿ ≤ 1 − level, 6 for 0.95.
func PairsNeeded(level float64) int {
	for n := 1; n < 64; n++ {
		// A level such as 0.95 is a little off its decimal value.
		if math.Exp2(float64(1-n)) <= (1-level)*(1+1e-9) {
			return n
		}
	}
	return 64
}
