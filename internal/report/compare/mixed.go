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
	differ := func(format, what string, of func(*results.Provenance) (value, shown string)) {
		var values, texts []string
		have := map[string][]string{} // labels by value
		for _, in := range inputs {
			v, text := of(&in.Run.Provenance)
			if have[v] == nil {
				values, texts = append(values, v), append(texts, text)
			}
			have[v] = append(have[v], in.Label)
		}
		for i, v := range values {
			texts[i] = and(have[v]) + " " + texts[i]
		}
		if len(values) > 1 {
			notes = append(notes, fmt.Sprintf(format, what, strings.Join(texts, ", ")))
		}
	}
	const different = "The runs have different %s: %s."
	differ(different, "versions of the tool", func(p *results.Provenance) (string, string) { return p.Version, shortened(p.Version) })
	differ(different, "sets of sessions", func(p *results.Provenance) (string, string) { return p.SessionsDigest, shortened(p.SessionsDigest) })
	differ(different, "prices", func(p *results.Provenance) (string, string) {
		if p.PricesDigest == "" {
			return p.Prices, shortened(p.Prices)
		}
		digest := []rune(p.PricesDigest) // two files may have one name
		return p.PricesDigest, fmt.Sprintf("%s (digest %s)", shortened(p.Prices), string(digest[:min(len(digest), shownDigest)]))
	})
	names := map[string]bool{}
	for _, in := range inputs {
		for name := range in.Run.Provenance.Switches {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		differ("The runs differ in the switch %s: %s.", name, func(p *results.Provenance) (string, string) {
			return p.Switches[name], shortened(p.Switches[name])
		})
	}
	for _, in := range inputs {
		notes = append(notes, partial(in)...)
	}
	return notes
}

// partial says what a run lacks.
func partial(in Input) []string {
	var notes []string
	add := func(format string, args ...any) {
		notes = append(notes, "Run "+in.Label+fmt.Sprintf(format, args...)+".")
	}
	if note := in.Run.PassedOver.Note(); note != "" {
		add(" holds what is %s", note)
	}
	if n := in.Run.Workload.Unfinished; n > 0 {
		add(" stopped before its end: %s of a session not done", document.Count(n, "simulation"))
	}
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		if n := c.Total.N(results.UnpricedCalls); n > 0 {
			add(", cell %s: %s of models without a price not in the cost", c.Cell, document.Count(n, "call"))
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

// shownDigest is the number of characters of a digest in a note: 32 bits of a
// hexadecimal one.
const shownDigest = 8
