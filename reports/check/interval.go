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

// estimate returns the mean of values and Student's interval of a confidence in
// (0, 1), as wide as no value when all are equal.
func estimate(values []float64, confidence float64) sample {
	if !spread(values) {
		return sample{values[0], values[0], values[0], false}
	}
	n := float64(len(values))
	mean, deviation := stat.MeanStdDev(values, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.5 + confidence/2)
	half := t * deviation / math.Sqrt(n)
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
