package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// mixed says in what runs differ, each property with the values of all runs,
// and which runs are incomplete.
func mixed(inputs []Input) []string {
	var notes []string
	for _, property := range []struct {
		what string
		of   func(*results.Provenance) string
	}{
		{"versions of the tool", func(p *results.Provenance) string { return p.Version }},
		{"sets of sessions", func(p *results.Provenance) string { return p.SessionsDigest }},
		{"prices", pricesOf(inputs)},
	} {
		if values, differ := valuesOf(inputs, property.of); differ {
			notes = append(notes, fmt.Sprintf("The runs have different %s: %s.", property.what, values))
		}
	}
	notes = append(notes, switches(inputs)...)
	for _, in := range inputs {
		notes = append(notes, partial(in)...)
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
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values, differ := valuesOf(inputs, func(p *results.Provenance) string { return p.Switches[name] })
		if differ {
			parts = append(parts, fmt.Sprintf("%s: %s", name, values))
		}
	}
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) == 1:
		return []string{"The runs differ in the switch " + parts[0] + "."}
	}
	return []string{fmt.Sprintf("The runs differ in %d switches: %s.", len(parts), strings.Join(parts, "; "))}
}

// partial says what a run lacks.
func partial(in Input) []string {
	var notes []string
	add := func(format string, args ...any) {
		notes = append(notes, "Run "+in.Label+fmt.Sprintf(format, args...)+".")
	}
	if n := in.Run.Workload.Unfinished; n > 0 {
		add(" stopped before its end: %s of a session not done", document.Count(n, "simulation"))
	}
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		if n := c.Total.N(results.UnpricedCalls); n > 0 {
			add(", cell %s: the cost leaves out %s of models without a price", c.Cell, document.Count(n, "call"))
		}
		if n := int64(c.Total.N(results.UnsimulatedCalls)); n > 0 {
			add(", cell %s: %s not simulated, sessions end early", c.Cell, document.Count(int(n), "recorded call"))
		}
		if len(c.Rows) == 0 {
			add(": cell %s has no session", c.Cell)
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

// pricesOf returns a function that names the prices of runs in a comparison: by date, or by the
// name of a file with the beginning of its digest, because two files may have the same name. Files
// with the same content get the same name.
func pricesOf(inputs []Input) func(*results.Provenance) string {
	return func(p *results.Provenance) string {
		if p.PricesDigest == "" {
			return p.Prices
		}
		i := slices.IndexFunc(inputs, func(in Input) bool { return in.Run.Provenance.PricesDigest == p.PricesDigest })
		digest := []rune(p.PricesDigest)
		return fmt.Sprintf("%s (digest %s)", shortened(inputs[i].Run.Provenance.Prices), string(digest[:min(len(digest), shownDigest)]))
	}
}

// shownDigest is the number of characters of a digest in a note: 32 bits of a
// hexadecimal one.
const shownDigest = 8
