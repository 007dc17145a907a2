package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
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

// String returns the amount as it is written in a file.
func (a Amount) String() string {
	if a.Percent {
		return strconv.FormatFloat(100*a.Value, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(a.Value, 'g', -1, 64)
}

// of returns the amount in the unit of base, of which a percentage is taken.
func (a Amount) of(base float64) float64 {
	if a.Percent {
		return a.Value * math.Abs(base)
	}
	return a.Value
}
