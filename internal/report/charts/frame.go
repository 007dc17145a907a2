package reports

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

// maxModels is the number of models that a head names.
const maxModels = 3

// headLines says what was replayed: one line of facts, then the remarks.
// Unknown facts are left out.
func headLines(run *results.Run) []string {
	w := &run.Workload
	facts := []string{document.Count(w.Sessions, "session"), document.Count(w.Calls, "call")}
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
	return append([]string{document.Printable(strings.Join(facts, " · "))}, w.Remarks...)
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

// selected returns run with at most limit of its cells for a table, and a line
// that says which are left out. It keeps the references in their place and, by
// cost, the cheapest half and the most expensive half of the others. All cells
// stay when they fit or limit is 0.
func selected(run *results.Run, limit int) (*results.Run, string) {
	if limit <= 0 || len(run.Cells) <= limit {
		return run, ""
	}
	var references, others []results.Cell
	for _, c := range run.Cells {
		if first := run.Reference(c.Strategy); isReference(&c) && first != nil && first.Cell == c.Cell {
			references = append(references, c)
		} else {
			others = append(others, c)
		}
	}
	slices.SortStableFunc(others,
		func(a, b results.Cell) int { return cmp.Compare(a.Total.RankUSD(), b.Total.RankUSD()) })
	room := max(2, limit-len(references))
	cheap, dear := (room+1)/2, room/2
	left := len(others) - cheap - dear
	if left <= 0 {
		return run, ""
	}
	view := *run
	view.Cells = append(append(references, others[:cheap]...), others[len(others)-dear:]...)
	view.Notes = slices.DeleteFunc(slices.Clone(run.Notes), func(n results.Note) bool {
		return n.Cell != "" && !slices.ContainsFunc(view.Cells, func(c results.Cell) bool { return c.Cell == n.Cell })
	})
	return &view, fmt.Sprintf(
		"The %d cheapest and the %d dearest of %d cells, by cost; %d between them are left out: "+
			"--all, --format csv or --out DIR have every cell.",
		cheap, dear, len(others), left)
}

// sweptNames returns the parameters in which cells of one strategy differ: the
// columns that a table needs besides the strategy.
func sweptNames(run *results.Run) []string {
	names := map[string]bool{}
	first := map[string]*results.Cell{}
	for i := range run.Cells {
		c := &run.Cells[i]
		f, ok := first[c.Strategy]
		if !ok {
			first[c.Strategy] = c
			continue
		}
		for k, v := range c.Params {
			if f.Params[k] != v {
				names[k] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// chanceMark precedes a difference whose interval contains 0.
const chanceMark = "~"

// vsRecorded returns the cost of a cell relative to the recorded one, for
// people, and whether its interval contains 0.
func vsRecorded(run *results.Run, c *results.Cell) (text string, chance bool) {
	if ref := run.Reference(results.StrategyRecorded); ref != nil && ref.Cell == c.Cell {
		return document.Dash, false
	}
	d, ok := run.VsRecorded(c)
	switch {
	case !ok:
		return "", false
	case d.Chance():
		return chanceMark + document.SignedPercent(d.Relative), true
	}
	return document.SignedPercent(d.Relative), false
}

// errorLine says how far the model is from the bill.
func errorLine(run *results.Run) string {
	which := "these sessions"
	if n := run.ModelError.Sessions; run.Workload.Unfinished > 0 && n > 0 && n < run.Workload.Sessions {
		which = fmt.Sprintf("%d of %s", n, document.Count(run.Workload.Sessions, "session"))
	}
	return "model error on " + which + ": " + run.ModelError.String()
}

// chanceLine says what the mark means.
const chanceLine = chanceMark + " marks a difference whose 95 % interval contains 0"

// trustLine is errorLine, with the mark explained when a cost has it.
func trustLine(run *results.Run) string {
	if !marked(run) {
		return errorLine(run)
	}
	return errorLine(run) + "; " + chanceLine
}

// chartTrust is what trustLine is for a chart, where brackets take the place of the mark. It is first, because the end of
// a long line may be cut.
func chartTrust(run *results.Run) string {
	if !marked(run) {
		return errorLine(run)
	}
	return "in brackets: the 95 % interval contains 0 · " + errorLine(run)
}

// bracketed marks a difference in a chart that chance can explain.
func bracketed(text string, chance bool) string {
	if !chance {
		return text
	}
	return "(" + strings.TrimPrefix(text, chanceMark) + ")"
}

// marked reports whether a cost has the mark of chance.
func marked(run *results.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		_, chance := vsRecorded(run, &c)
		return chance
	})
}
