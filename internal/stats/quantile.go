package stats

import "math"

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
