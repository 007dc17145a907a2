package reports

import (
	"math"
	"slices"

	"gonum.org/v1/plot"

	"github.com/compactsim/compactsim/sim/results"
)

// unitTicks labels an axis of a unit of results at round values that cut it
// into at most n parts.
func unitTicks(unit string, low, high float64, n int) []plot.Tick {
	span := (high - low) / float64(n)
	step := niceStep(span)
	switch unit {
	case results.UnitSeconds:
		step = timeStep(span)
	case results.UnitCount, results.UnitCalls:
		step = max(step, 1)
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i*step + 0 // a zero that came from below has no sign
		if unit == results.UnitRatio && v > 1+1e-9 {
			break
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(unit, v, step)})
	}
	return ticks
}

func tickLabel(unit string, v, step float64) string {
	switch unit {
	case results.UnitUSD:
		return usd(v, decimalsOf(step))
	case results.UnitRatio:
		return Grouped(100*v, decimalsOf(100*step)) + " %"
	case results.UnitTokens:
		return tokens(v)
	case results.UnitSeconds:
		return duration(v)
	}
	return Grouped(v, 0)
}

// decimalsOf returns the decimals that tell multiples of a nice step apart.
func decimalsOf(step float64) int {
	if step >= 1 {
		return 0
	}
	return int(math.Ceil(-math.Log10(step) - 1e-9))
}

// timeStep returns the smallest round duration not below v, s.
func timeStep(v float64) float64 {
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600} {
		if s >= v {
			return s
		}
	}
	return 24 * 3600 * niceStep(v/(24*3600))
}

// dataRange returns the ends of an axis for values of a unit, with a margin on
// each side. An axis that would begin in the lower half of its values begins at
// zero.
func dataRange(unit string, values []float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	if low >= 0 && low < 0.5*high || high == 0 && low == 0 {
		low = 0
	}
	span := high - low
	if span <= 1e-9*math.Abs(high) {
		span = math.Max(math.Abs(high)*0.02, minSpan(unit))
	}
	if low != 0 {
		low -= 0.16 * span
	}
	high += 0.12 * span
	if low == 0 {
		high = max(high, 4*minSpan(unit))
	}
	return low, high
}

// minSpan is a difference that is small for a unit.
func minSpan(unit string) float64 {
	switch unit {
	case results.UnitUSD, results.UnitRatio:
		return 1e-4
	}
	return 1
}
