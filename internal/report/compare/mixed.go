package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// mixed says in what runs differ, each property with the values of all runs,
// and which runs are incomplete.
func mixed(inputs []Input, list []*pairs, reseeded bool) []string {
	var notes []string
	for _, property := range []struct {
		what string
		of   func(*results.Provenance) string
	}{
		{"versions of the tool", func(p *results.Provenance) string { return p.Version }},
		{"sets of sessions", func(p *results.Provenance) string { return p.SessionsDigest }},
		{"prices", func(p *results.Provenance) string { return cmp.Or(fmt.Sprintf("%.8s", p.PricesDigest), p.Prices) }},
		{"seeds", func(p *results.Provenance) string { return strconv.FormatUint(p.Seed, 10) }},
	} {
		if property.what == "seeds" && !reseeded {
			continue // the figures do not depend on them
		}
		if values, differ := valuesOf(inputs, property.of); differ {
			notes = append(notes, fmt.Sprintf("The runs have different %s: %s.", property.what, values))
		}
	}
	notes = append(notes, switches(inputs)...)
	used := map[*results.Cell]bool{}
	for _, p := range list {
		for _, c := range slices.Concat(p.sides[0].cells, p.sides[1].cells) {
			used[c] = true
		}
	}
	for _, in := range inputs {
		notes = append(notes, partial(in, used)...)
	}
	return notes
}

// valuesOf formats the values of a property with the runs that have each, in
// the order of the runs, and reports whether there are several.
func valuesOf(inputs []Input, of func(*results.Provenance) string) (text string, differ bool) {
	var values []string
	have := map[string][]string{} // labels by value
	for _, in := range inputs {
		v := of(&in.Run.Provenance)
		if have[v] == nil {
			values = append(values, v)
		}
		have[v] = append(have[v], in.Label)
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, and(have[v])+" "+shortened(v))
	}
	return strings.Join(parts, ", "), len(values) > 1
}

// switches says in which switches runs differ, without those that all runs
// share.
func switches(inputs []Input) []string {
	names := map[string]bool{}
	for _, in := range inputs {
		for name := range in.Run.Provenance.Switches {
			names[name] = true
		}
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values, differ := valuesOf(inputs, func(p *results.Provenance) string { return p.Switches[name] })
		if differ {
			notes = append(notes, fmt.Sprintf("The runs differ in the switch %s: %s.", name, values))
		}
	}
	return notes
}

// partial says what a run and its compared cells lack.
func partial(in Input, used map[*results.Cell]bool) []string {
	var notes []string
	add := func(format string, args ...any) {
		notes = append(notes, "Run "+in.Label+fmt.Sprintf(format, args...)+".")
	}
	if n := in.Run.Workload.Unfinished; n > 0 {
		add(" stopped before its end: %s of a session not done", document.Count(n, "simulation"))
	}
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		if len(c.Rows) == 0 {
			add(": cell %s has no session", c.Cell)
		}
		if !used[c] {
			continue // notes about others would not help
		}
		if n := c.Total.N(results.UnpricedCalls); n > 0 {
			add(", cell %s: the cost leaves out %s of models without a price", c.Cell, document.Count(n, "call"))
		}
		if n := c.Total.N(results.UnsimulatedCalls); n > 0 {
			add(", cell %s: %s not simulated, sessions end early", c.Cell, document.Count(n, "recorded call"))
		}
	}
	return notes
}

// and joins names with commas and "and".
func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// maxValue is the largest length of a value in a note, in characters: two of
// them and their labels fit on a line.
const maxValue = 40

// shortened cuts the middle of a long value, which has no blank to break a line
// at. The formats for machines have the whole values.
func shortened(s string) string {
	if strings.ContainsRune(s, ' ') {
		return s
	}
	return document.Shortened(cmp.Or(s, "(none)"), maxValue)
}
