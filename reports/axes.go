package reports

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// Axis is a parameter that takes several values under one strategy.
type Axis struct {
	Key string
	// Values are the texts of the parameter, each once: by size when all are
	// numbers, else in the order of the cells.
	Values []string
	// Numeric says that all values are numbers as people write them: 155000,
	// 155k, 1.5M, 80%, or all are durations such as 5m and 1h.
	Numeric bool
}

// Axes returns the swept parameters of run, that with the most values first.
// Reference cells have no part in it.
func Axes(run *results.Run) []Axis {
	var cells []*results.Cell
	for i := range run.Cells {
		cells = append(cells, &run.Cells[i])
	}
	return axesOf(cells)
}

func axesOf(cells []*results.Cell) []Axis {
	values := map[string][]string{}
	swept := map[string]bool{}
	first := map[[2]string]string{} // value by strategy and key
	for _, c := range cells {
		if isReference(c) {
			continue
		}
		for k, v := range c.Params {
			at := [2]string{c.Strategy, k}
			if f, ok := first[at]; !ok {
				first[at] = v
			} else if f != v {
				swept[k] = true
			}
			if !slices.Contains(values[k], v) {
				values[k] = append(values[k], v)
			}
		}
	}
	var axes []Axis
	for _, k := range slices.Sorted(maps.Keys(swept)) {
		if a := newAxis(k, values[k]); len(a.Values) > 1 {
			axes = append(axes, a)
		}
	}
	slices.SortStableFunc(axes, func(a, b Axis) int { return cmp.Compare(len(b.Values), len(a.Values)) })
	return axes
}

// newAxis sorts the values of a parameter. Two texts of one number are one
// value.
func newAxis(key string, values []string) Axis {
	a := Axis{Key: key, Values: values}
	durations := 0
	for _, v := range values {
		_, duration, ok := parseNumber(v)
		if !ok {
			return a
		}
		if duration {
			durations++
		}
	}
	if durations > 0 && durations < len(values) {
		return a
	}
	a.Numeric = true
	slices.SortStableFunc(a.Values, func(v, w string) int { return cmp.Compare(numberOf(v), numberOf(w)) })
	a.Values = slices.CompactFunc(a.Values, func(v, w string) bool { return numberOf(v) == numberOf(w) })
	return a
}

// index returns the place of a value among those of a, −1 when it is not there.
func (a *Axis) index(value string) int {
	return slices.IndexFunc(a.Values, func(v string) bool {
		return v == value || a.Numeric && numberOf(v) == numberOf(value)
	})
}

// label writes a value so that it takes little room: 167k for 167000.
func (a *Axis) label(value string) string {
	if a.Numeric && len(value) > 4 {
		if short := tokens(numberOf(value)); numberOf(short) == numberOf(value) {
			return short
		}
	}
	return shortened(Printable(value), maxValueRunes)
}

// maxValueRunes is the length of values at an axis, characters.
const maxValueRunes = 18

// numberOf returns the number that a value of a numeric axis is.
func numberOf(value string) float64 {
	v, _, _ := parseNumber(value)
	return v
}

// parseNumber reads a number as people write it: with k, M, G or B for powers of a
// thousand or % for hundredths, or else a duration, in seconds.
func parseNumber(text string) (v float64, duration, ok bool) {
	s := strings.TrimSpace(text)
	scale := 1.0
	if n := len(s) - 1; n > 0 {
		switch s[n] {
		case '%':
			scale = 0.01
		case 'k', 'K':
			scale = 1e3
		case 'M':
			scale = 1e6
		case 'G', 'B':
			scale = 1e9
		}
		if scale != 1 {
			s = strings.TrimSpace(s[:n])
		}
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err == nil {
		v *= scale
		return v, false, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	d, err := time.ParseDuration(s)
	return d.Seconds(), true, err == nil && scale == 1
}
