package reports

import (
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// maxModels is the number of models that a head names.
const maxModels = 3

// headLines says what was replayed: one line of facts, then the remarks. Facts
// that are not known are left out.
func headLines(run *results.Run) []string {
	w := &run.Workload
	facts := []string{CountOf(w.Sessions, "session"), CountOf(w.Calls, "call")}
	if len(w.Models) > 0 {
		facts = append(facts, modelNames(w.Models))
	}
	switch {
	case w.First != "" && w.Last != "" && w.First != w.Last:
		facts = append(facts, w.First+" … "+w.Last)
	case w.First != "" || w.Last != "":
		facts = append(facts, max(w.First, w.Last))
	}
	if w.PricesAt != "" {
		facts = append(facts, "prices at "+w.PricesAt)
	}
	if len(w.Quality) > 0 {
		facts = append(facts, "data quality: "+qualityText(w.Quality))
	}
	lines := []string{Printable(strings.Join(facts, " · "))}
	for _, r := range w.Remarks {
		lines = append(lines, Printable(r))
	}
	return lines
}

func modelNames(models []string) string {
	if len(models) <= maxModels {
		return strings.Join(models, ", ")
	}
	return strings.Join(models[:maxModels], ", ") + ", …"
}

func qualityText(shares []results.Share) string {
	texts := make([]string, len(shares))
	for i, s := range shares {
		p := 100 * s.Value
		n := strconv.FormatFloat(p, 'f', 0, 64)
		if p > 0 && p < 0.5 {
			n = "< 1"
		}
		texts[i] = n + " % of " + s.Of + " " + s.What
	}
	return strings.Join(texts, ", ")
}

// CountOf writes a number of things: "1 session", "1,200 sessions".
func CountOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(float64(n), 0) + " " + noun + "s"
}
