package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Amount is a figure in the unit of a metric, or a percentage of another one.
type Amount struct {
	Value   float64 // 0.01 for 1%
	Percent bool
}

// UnmarshalYAML reads 0.92 or 1%.
func (a *Amount) UnmarshalYAML(n *yaml.Node) error {
	text, percent := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), 64)
	if err != nil || n.Kind != yaml.ScalarNode || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number such as 0.92 or a percentage such as 1%%, not %q", n.Value)
	}
	if percent {
		v /= 100
	}
	*a = Amount{v, percent}
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (a Amount) MarshalYAML() (any, error) { return a.String(), nil }

// String returns the amount in the form of a file.
func (a Amount) String() string {
	if a.Percent {
		return strconv.FormatFloat(100*a.Value, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(a.Value, 'g', -1, 64)
}

// of returns the amount in the unit of base; a percentage is one of base.
func (a Amount) of(base float64) float64 {
	if a.Percent {
		return a.Value * math.Abs(base)
	}
	return a.Value
}

// overSeeds estimates the mean of a figure over seeds, with an interval that misses the true mean
// in a share of all samples, in (0, 1). The interval has no width when all values are equal.
func overSeeds(values []float64, share float64) stats.Estimate {
	if !spread(values) {
		return stats.Estimate{Difference: values[0], Interval: stats.Interval{Low: values[0], High: values[0]}}
	}
	part := make([]float64, len(values))
	for i, v := range values {
		part[i] = v / float64(len(values))
	}
	return stats.Estimator{Level: 1 - share}.One(stats.Pair{
		Base: stats.Figure{Part: make([]float64, len(values))}, Other: stats.Figure{Part: part},
	})
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
		return values[0] // dividing a sum of equal numbers need not give the number
	}
	return stat.Mean(values, nil)
}

// figure formats a value of a unit for people.
func figure(unit string, v float64) string { return precise(unit, v, 0) }

// apart formats two values of a unit for people, with enough digits to
// distinguish them if they are not equal.
func apart(unit string, a, b float64) (string, string) {
	for more := 0; ; more++ {
		x, y := precise(unit, a, more), precise(unit, b, more)
		if x != y || a == b || more == maxDigits {
			return x, y
		}
	}
}

// maxDigits is the largest number of digits added to distinguish two figures. Figures
// that differ by less than the tolerance for rounding are not distinguished.
const maxDigits = 12

// precise formats a value of a unit with more decimals than usual.
func precise(unit string, v float64, more int) string {
	switch unit {
	case results.UnitUSD:
		return signed(v, "$"+digits(v, decimals(v, 2, 4)+more))
	case results.UnitRatio:
		return signed(v, digits(100*v, 2+more)+" %")
	case results.UnitSeconds:
		return signed(v, digits(v, 1+more)+" s")
	case results.UnitRate:
		return signed(v, digits(v, decimals(v, 2, 3)+more))
	}
	return signed(v, digits(v, decimals(v, 0, 1)+more))
}

// hugeFigure is the least figure that is written with a power of ten.
const hugeFigure = 1e15

// digits formats the size of v with some decimals.
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

// difference formats the difference of two values of a unit: with enough
// decimals to show it, and in points for ratios.
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

// zero reports whether the text of a figure has no digit but 0.
func zero(text string) bool { return !strings.ContainsAny(text, "123456789∞") }

func signed(v float64, text string) string {
	if v < 0 && !zero(text) {
		return document.Minus + text
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
