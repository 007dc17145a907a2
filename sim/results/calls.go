package results

import (
	"cmp"
	"slices"
)

// CellCalls are the calls of one cell in order of completion, session by
// session.
type CellCalls struct {
	Cell  string
	Calls []CallRecord
}

// ForemostCells is how many cells a chart of single calls tells apart.
const ForemostCells = 4

// Foremost returns the names of at most ForemostCells cells among those that may be
// shown, bills aside: the recorded ones, then the cheapest, in the order of the run.
func (r *Run) Foremost(may func(cell string) bool) []string {
	rank := func(c *Cell) float64 {
		if c.Strategy == StrategyRecorded {
			return -1
		}
		return r.RankUSD(c)
	}
	var cells []*Cell
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Strategy != StrategyBilled && may(c.Cell) {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(rank(a), rank(b)) })
	cells = cells[:min(len(cells), ForemostCells)]
	var names []string
	for i := range r.Cells {
		if slices.Contains(cells, &r.Cells[i]) {
			names = append(names, r.Cells[i].Cell)
		}
	}
	return names
}
