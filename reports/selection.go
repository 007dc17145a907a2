package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// selected returns run with at most limit of its cells for a table of lines,
// and a line that says which are left out: the references in their place, then
// the cheapest half and the dearest half of the others, by cost. All cells stay
// when they fit or limit is 0.
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
	slices.SortStableFunc(others, func(a, b results.Cell) int { return cmp.Compare(a.Total.CostUSD(), b.Total.CostUSD()) })
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
		"The %d cheapest and the %d dearest of %d cells, by cost; %d between them are left out: --all, --format csv or --out DIR have every cell.",
		cheap, dear, len(others), left)
}

// sweptNames returns the parameters in which cells of one strategy differ: the
// columns a table needs beside the strategy.
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
