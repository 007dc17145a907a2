package reports

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// sweepDrawings returns the charts of the swept parameters of run: over one parameter cost, recall and hit ratio in one
// chart, over two a map of each; metrics takes others in their place. Strategies with the same single parameter share
// a chart; more parameters make maps for each strategy. Without a sweep it returns nothing.
func sweepDrawings(run *results.Run, metrics ...string) []Drawing {
	if len(metrics) == 0 {
		metrics = slices.DeleteFunc([]string{results.NameCost, results.NameRecall, results.NameHitRatio},
			func(name string) bool { return !sampled(run, name) })
	}
	var list []Drawing
	add := func(f *sweepFamily, file []string, metrics ...string) {
		for i := range f.axes {
			file = append(file, f.axes[i].key)
		}
		d := drawing("sweep", func() (*document.Chart, error) { return f.chart(run, metrics...) })
		d.Name = fileName(append(file, f.name)...)
		list = append(list, d)
	}
	families := sweepFamilies(run)
	for i := range families {
		if len(families[i].axes) == 1 {
			add(&families[i], []string{"sweep"}, metrics...)
		}
	}
	for _, name := range metrics {
		for i := range families {
			if len(families[i].axes) == 2 {
				add(&families[i], []string{"sweep", name}, name)
			}
		}
	}
	return list
}

// sampled reports whether a cell other than a reference has a sample of a metric.
func sampled(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		_, ok := c.Value(m)
		return ok && !isReference(&c)
	})
}

// sweepFamily is the cells of one chart of a sweep: lines over one parameter, a
// map over two.
type sweepFamily struct {
	axes  []axis
	cells []*results.Cell
	name  string // of the strategy of a map
	note  string
}

// sweepFamilies groups the cells of a run by their swept parameters.
func sweepFamilies(run *results.Run) []sweepFamily {
	byStrategy := map[string][]*results.Cell{}
	var strategies []string
	for i := range run.Cells {
		c := &run.Cells[i]
		if isReference(c) {
			continue
		}
		if byStrategy[c.Strategy] == nil {
			strategies = append(strategies, c.Strategy)
		}
		byStrategy[c.Strategy] = append(byStrategy[c.Strategy], c)
	}
	var families []sweepFamily
	var plain []*results.Cell
	shared := map[string]int{} // families over one parameter, by key
	for _, name := range strategies {
		cells := byStrategy[name]
		axes := axesOf(cells)
		switch len(axes) {
		case 0:
			plain = append(plain, cells...)
		case 1:
			if i, ok := shared[axes[0].key]; ok {
				families[i].cells = append(families[i].cells, cells...)
				continue
			}
			shared[axes[0].key] = len(families)
			families = append(families, sweepFamily{axes: axes, cells: cells})
		default:
			families = append(families, mapped(name, axes, cells))
		}
	}
	for _, i := range shared {
		families[i].cells = append(families[i].cells, plain...)
		families[i].axes = axesOf(families[i].cells)
	}
	return families
}

// mapped returns the family over the two parameters with the most values, at the first setting of the others.
func mapped(strategy string, axes []axis, cells []*results.Cell) sweepFamily {
	f := sweepFamily{axes: axes[:2], name: strategy}
	for _, c := range cells {
		if !slices.ContainsFunc(axes[2:], func(a axis) bool { return c.Params[a.key] != cells[0].Params[a.key] }) {
			f.cells = append(f.cells, c)
		}
	}
	if n := len(cells) - len(f.cells); n > 0 {
		f.note = document.Count(n, "cell") + " with other settings not drawn"
	}
	return f
}

// axis is a parameter that takes several values under one strategy.
type axis struct {
	key string
	// values are the texts of the parameter, each once: by size if all are numbers,
	// else in the order of the cells.
	values []string
	// numeric says that all values are numbers in human notation (155000, 155k,
	// 1.5M, 80%) or all are durations such as 5m and 1h.
	numeric bool
}

// axesOf returns the swept parameters of cells other than references, the one
// with the most values first.
func axesOf(cells []*results.Cell) []axis {
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
	var axes []axis
	for _, k := range slices.Sorted(maps.Keys(swept)) {
		if a := newAxis(k, values[k]); len(a.values) > 1 {
			axes = append(axes, a)
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(len(b.values), len(a.values)) })
	return axes
}

// newAxis sorts the values of a parameter. Two texts of the same number are one
// value.
func newAxis(key string, values []string) axis {
	a := axis{key: key, values: values}
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
	a.numeric = true
	slices.SortStableFunc(a.values, func(v, w string) int { return cmp.Compare(numberOf(v), numberOf(w)) })
	a.values = slices.CompactFunc(a.values, func(v, w string) bool { return numberOf(v) == numberOf(w) })
	return a
}

// index returns the index of a value among those of a, −1 if it is missing.
func (a *axis) index(value string) int {
	return slices.IndexFunc(a.values, func(v string) bool {
		return v == value || a.numeric && numberOf(v) == numberOf(value)
	})
}

// label formats a value compactly: 167k for 167000.
func (a *axis) label(value string) string {
	if a.numeric && len(value) > 4 {
		if short := document.Tokens(numberOf(value)); numberOf(short) == numberOf(value) {
			return short
		}
	}
	return document.Shortened(document.Printable(value), maxValueRunes)
}

// maxValueRunes is the largest length of values at an axis, characters.
const maxValueRunes = 18

// numberOf returns the number of a value of a numeric axis.
func numberOf(value string) float64 {
	v, _, _ := parseNumber(value)
	return v
}

// parseNumber reads a number in human notation: with k, M, G or B for powers of
// a thousand, with % for hundredths, or a duration, in seconds.
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
