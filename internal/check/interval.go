package check

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// sample is the mean of a figure over seeds with its confidence interval.
type sample struct {
	mean, low, high float64
	spread          bool // the figure differs between seeds
}

// estimator makes intervals that miss the true mean in a share of all samples, in
// (0, 1). The confidence is what is left of 1; as a share it keeps its digits near 0.
// Student's quantiles take longer than all else and depend on the number of values
// alone: they are kept.
type estimator struct {
	share     float64
	quantiles map[int]float64 // by number of values
}

func newEstimator(share float64) *estimator { return &estimator{share, map[int]float64{}} }

// quantile returns Student's for n values.
func (e *estimator) quantile(n int) float64 {
	t, ok := e.quantiles[n]
	if !ok {
		t = -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n) - 1}.Quantile(e.share / 2)
		e.quantiles[n] = t
	}
	return t
}

// estimate returns the mean of values and Student's interval, as wide as no value
// when all are equal.
func (e *estimator) estimate(values []float64) sample {
	if !spread(values) {
		return sample{values[0], values[0], values[0], false}
	}
	n := float64(len(values))
	mean, deviation := stat.MeanStdDev(values, nil)
	half := e.quantile(len(values)) * deviation / math.Sqrt(n)
	return sample{mean, mean - half, mean + half, true}
}

func spread(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}

func mean(values []float64) float64 {
	if !spread(values) {
		return values[0] // sums of equal numbers need not divide back to them
	}
	return stat.Mean(values, nil)
}
