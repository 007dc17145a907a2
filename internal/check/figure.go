package check

import (
	"math"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
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
		return signed(v, "$"+digits(v, decimals(v, 2, 4)+more))
	case results.UnitRatio:
		return signed(v, digits(100*v, 2+more)+" %")
	case results.UnitSeconds:
		return signed(v, digits(v, 1+more)+" s")
	}
	return signed(v, digits(v, decimals(v, 0, 1)+more))
}

// hugeFigure is the first figure that is written with a power of ten.
const hugeFigure = 1e15

// digits writes the size of v with some decimals.
func digits(v float64, decimals int) string {
	v = math.Abs(v)
	switch {
	case math.IsInf(v, 0):
		return "∞"
	case v >= hugeFigure:
		return strconv.FormatFloat(v, 'g', 3+decimals, 64)
	}
	return document.Grouped(v, decimals)
}

// difference writes how far two values of a unit are apart: with as many decimals
// as show that they are, and those of ratios in points.
func difference(unit string, v float64) string {
	text := figure(unit, v)
	for more := 1; v != 0 && zero(text); more++ {
		if more > maxDigits {
			text = figure(unit, 0)
			break
		}
		text = precise(unit, v, more)
	}
	if unit == results.UnitRatio {
		text = strings.TrimSuffix(text, "%") + "pp"
	}
	return text
}

// zero reports whether a figure that is written has no digit but 0.
func zero(text string) bool { return !strings.ContainsAny(text, "123456789∞") }

func signed(v float64, text string) string {
	if v < 0 && !zero(text) {
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
