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
func figure(unit string, v float64) string { return document.ScaleFor(unit, v).Text(v) }

// difference formats the difference of two values of a unit: in points for ratios.
func difference(unit string, v float64) string {
	return document.ScaleOf(unit, math.Abs(v), v).Change(v)
}
