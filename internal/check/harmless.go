package check

import (
	"slices"
	"strings"
	"unicode"
)

// harmless returns a copy of r whose texts stand on one line each and hold no
// command. Names of cells, projects and files come from recordings, and a runner
// of workflows carries out what a job prints when it has the form of a command:
// "::" at the start of a line, "##[" anywhere.
func (r *Report) harmless() *Report {
	out := *r
	out.File, out.Version = inert(r.File), inert(r.Version)
	out.Results = slices.Clone(r.Results)
	for i := range out.Results {
		s := &out.Results[i]
		for _, text := range []*string{&s.Cell, &s.Group, &s.Rule, &s.Message, &s.Look, &s.Note} {
			*text = inert(*text)
		}
	}
	out.Problems = slices.Clone(r.Problems)
	for i := range out.Problems {
		out.Problems[i].Text = inert(out.Problems[i].Text)
	}
	out.Notes = slices.Clone(r.Notes)
	for i := range out.Notes {
		out.Notes[i] = inert(out.Notes[i])
	}
	return &out
}

// inert returns s without what ends a line, moves a cursor, turns the direction
// of writing or begins a command.
func inert(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	s = strings.ReplaceAll(s, "##[", "# #[")
	if strings.HasPrefix(s, "::") {
		s = "·" + s
	}
	return strings.ReplaceAll(s, " ::", " ·::") // lines are wrapped at spaces
}
