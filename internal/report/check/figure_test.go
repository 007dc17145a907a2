package check

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// Figures are as short as they can be: large ones have a power of ten.
func TestFigures(t *testing.T) {
	for _, tc := range []struct {
		unit string
		v    float64
		want string
	}{
		{results.UnitUSD, 1234.5, "$1,234.50"},
		{results.UnitUSD, 0.0365, "$0.0365"},
		{results.UnitUSD, 1e300, "$1e+300"},
		{results.UnitUSD, -1.5e20, "−$1.5e+20"},
		{results.UnitUSD, math.Inf(1), "$∞"},
		{results.UnitSeconds, math.Inf(-1), "−∞ s"},
		{results.UnitRatio, 0.92, "92.00 %"},
		{results.UnitTokens, 999_999_999_999_999, "999,999,999,999,999"},
		{results.UnitTokens, 1e15, "1e+15"},
	} {
		if got := figure(tc.unit, tc.v); got != tc.want {
			t.Errorf("%v of %s: %q, want %q", tc.v, tc.unit, got, tc.want)
		}
	}
}

// Differences are 0 only where they are, and those of ratios are in points.
func TestDifferences(t *testing.T) {
	for _, tc := range []struct {
		unit string
		v    float64
		want string
	}{
		{results.UnitRatio, 0.0091, "0.91 pp"},
		{results.UnitRatio, -0.05, "−5.00 pp"},
		{results.UnitRatio, 0.00001, "0.001 pp"},
		{results.UnitRatio, 0, "0.00 pp"},
		{results.UnitUSD, 0.00002, "$0.00002"},
		{results.UnitUSD, 1e-30, "$0.00"},
		{results.UnitCalls, -423, "−423"},
	} {
		if got := difference(tc.unit, tc.v); got != tc.want {
			t.Errorf("%v of %s: %q, want %q", tc.v, tc.unit, got, tc.want)
		}
	}
}
