package reports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// maxSlices is the largest number of maps of one metric with more than two
// swept parameters: one map for each setting of the others.
const maxSlices = 12

// sweepDrawings returns the charts of the swept parameters of run: over one parameter cost, recall and hit ratio in one
// chart, over two a map of each; metrics takes others in their place. Strategies with the same single parameter share
// a chart, as many as it can distinguish. Two parameters make maps for each
// strategy and setting of the rest. Without a sweep it returns nothing.
func sweepDrawings(run *results.Run, metrics ...string) []Drawing {
	if len(metrics) == 0 {
		metrics = slices.DeleteFunc([]string{results.NameCost, results.NameRecall, results.NameHitRatio},
			func(name string) bool { return !sampled(run, name) })
	}
	var list []Drawing
	used := map[string]int{}
	add := func(f *sweepFamily, file string, metrics ...string) {
		if used[file]++; used[file] > 1 {
			file = fmt.Sprintf("%s-%d", file, used[file])
		}
		list = append(list, Drawing{Kind: "sweep", Name: file, chart: func() (*document.Chart, error) { return f.chart(run, metrics...) }})
	}
	families := sweepFamilies(run)
	for i := range families {
		if f := &families[i]; len(f.axes) == 1 {
			add(f, fileName("sweep", strings.Join(f.keys(), "-"), f.name), metrics...)
		}
	}
	for _, name := range metrics {
		for i := range families {
			if f := &families[i]; len(f.axes) == 2 {
				add(f, fileName("sweep", name, strings.Join(f.keys(), "-"), f.name), name)
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
	name  string // distinguishes it from other families with these axes
	slice string // fixed values, for people
	note  string
}

func (f *sweepFamily) keys() []string {
	var keys []string
	for i := range f.axes {
		keys = append(keys, f.axes[i].key)
	}
	return keys
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
			families = append(families, sliced(name, axes, cells)...)
		}
	}
	for _, i := range shared {
		families[i].cells = append(families[i].cells, plain...)
		families[i].axes = axesOf(families[i].cells)
	}
	var readable []sweepFamily
	for _, f := range families {
		readable = append(readable, f.split()...)
	}
	return readable
}

// split divides f into parts of as many lines as a chart can show. Cells
// without the parameter are in each.
func (f sweepFamily) split() []sweepFamily {
	if len(f.axes) > 1 {
		return []sweepFamily{f}
	}
	part := map[string]int{} // by group
	for _, c := range f.cells {
		if _, ok := c.Params[f.axes[0].key]; ok {
			if g := groupOf(c, f.axes); !hasKey(part, g) {
				part[g] = len(part) / len(looks())
			}
		}
	}
	parts := make([]sweepFamily, (len(part)+len(looks())-1)/len(looks()))
	for i := range parts {
		parts[i].axes = f.axes
		for _, c := range f.cells {
			if at, ok := part[groupOf(c, f.axes)]; !ok || at == i {
				parts[i].cells = append(parts[i].cells, c)
			}
		}
	}
	return parts
}

func hasKey(m map[string]int, key string) bool {
	_, ok := m[key]
	return ok
}

// sliced returns a family over the first two axes for each setting of the
// others.
func sliced(strategy string, axes []axis, cells []*results.Cell) []sweepFamily {
	var families []sweepFamily
	at := map[string]int{}
	for _, c := range cells {
		var fixed []string
		for _, a := range axes[2:] {
			fixed = append(fixed, a.key+"="+c.Params[a.key])
		}
		name := strings.Join(fixed, " · ")
		i, ok := at[name]
		if !ok {
			i = len(families)
			at[name] = i
			file := strategy + "-" + strings.Join(fixed, "-")
			families = append(families, sweepFamily{axes: axes[:2], name: file, slice: document.Printable(name)})
		}
		families[i].cells = append(families[i].cells, c)
	}
	if n := len(families) - maxSlices; n > 0 {
		families = families[:maxSlices]
		rest := sweepFamily{axes: axes[2:]}
		of := strings.Join(rest.keys(), " and ")
		families[maxSlices-1].note = document.Count(n, "further setting") + " of " + of + " not drawn"
	}
	return families
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
