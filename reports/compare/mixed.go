package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// partialRemarks begin the remark of a run that was stopped before its end.
var partialRemarks = [...]string{"interrupted", "stopped by an error"}

// mixed says what keeps runs from being alike, each with the values of all, and
// which of them are not whole.
func mixed(inputs []Input) []string {
	var notes []string
	for _, property := range []struct {
		what string
		of   func(*results.Provenance) string
	}{
		{"versions of the tool", func(p *results.Provenance) string { return p.Version }},
		{"sets of sessions", func(p *results.Provenance) string { return p.SessionsDigest }},
		{"prices", func(p *results.Provenance) string { return p.Prices }},
		{"seeds", func(p *results.Provenance) string { return strconv.FormatUint(p.Seed, 10) }},
		{"switches", func(p *results.Provenance) string { return switches(p.Switches) }},
	} {
		first := property.of(&inputs[0].Run.Provenance)
		var values []string
		same := true
		for _, in := range inputs {
			v := property.of(&in.Run.Provenance)
			same = same && v == first
			values = append(values, in.Label+" "+orNone(v))
		}
		if !same {
			notes = append(notes, fmt.Sprintf("the runs have different %s: %s", property.what, strings.Join(values, ", ")))
		}
	}
	for _, in := range inputs {
		notes = append(notes, partial(in)...)
	}
	return notes
}

// partial says what a run lacks.
func partial(in Input) []string {
	var notes []string
	for _, remark := range in.Run.Workload.Remarks {
		for _, how := range partialRemarks {
			if strings.HasPrefix(remark, how) {
				notes = append(notes, in.Label+" was "+remark)
			}
		}
	}
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		if n := c.Total.Unpriced; n > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s: %s of models without a price not in the cost", in.Label, c.Cell, reports.CountOf(n, "call")))
		}
		if n := c.Total.Counts[results.CountUnsimulated]; n > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s: %s not simulated behind the blocking level", in.Label, c.Cell, reports.CountOf(int(n), "recorded call")))
		}
		if len(c.Rows) == 0 {
			notes = append(notes, fmt.Sprintf("%s: cell %s has no session", in.Label, c.Cell))
		}
	}
	return notes
}

func switches(all map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+"="+all[name])
	}
	return strings.Join(parts, " ")
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
