package check

import (
	"math"
	"strings"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// minus is the sign of negative numbers in text for people.
const minus = "−"

// figure writes a value of a unit for people.
func figure(unit string, v float64) string { return precise(unit, v, 0) }

// apart writes two values of a unit for people, with as many digits as tell them
// apart where they are not equal.
func apart(unit string, a, b float64) (string, string) {
	for more := 0; ; more++ {
		x, y := precise(unit, a, more), precise(unit, b, more)
		if x != y || a == b || more == maxDigits {
			return x, y
		}
	}
}

// maxDigits is how many digits are added to tell two figures apart. Figures that
// differ by less than the tolerance for rounding are never told apart.
const maxDigits = 12

// precise writes a value of a unit with more decimals than usual.
func precise(unit string, v float64, more int) string {
	switch unit {
	case results.UnitUSD:
		return signed(v, "$"+reports.Grouped(math.Abs(v), decimals(v, 2, 4)+more))
	case results.UnitRatio:
		return signed(v, reports.Grouped(100*math.Abs(v), 2+more)+" %")
	case results.UnitSeconds:
		return signed(v, reports.Grouped(math.Abs(v), 1+more)+" s")
	}
	return signed(v, reports.Grouped(math.Abs(v), decimals(v, 0, 1)+more))
}

func signed(v float64, text string) string {
	if v < 0 && strings.ContainsAny(text, "123456789") {
		return minus + text
	}
	return text
}

// decimals returns few for whole and large values, many for others.
func decimals(v float64, few, many int) int {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return few
	}
	if few > 0 && math.Abs(v) >= 1 {
		return few
	}
	return many
}
