package reports

import (
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// vsRecorded returns the cost of a cell relative to the recorded one, for
// people, and whether the model error covers it.
func vsRecorded(run *results.Run, c *results.Cell) (text string, covered bool) {
	if ref := run.Reference(results.StrategyRecorded); ref != nil && ref.Cell == c.Cell {
		return "–", false
	}
	d, ok := run.VsRecorded(c)
	if !ok {
		return "", false
	}
	if run.ModelError.Covers(d) {
		return "~" + signedPercent(d), true
	}
	return signedPercent(d), false
}

// errorLine says how far the model is from the bill.
func errorLine(run *results.Run) string {
	const head = "model error on these sessions: "
	rel, ok := run.ModelError.Relative()
	if !ok {
		return head + "unknown (nothing was billed); small differences may mean nothing"
	}
	return head + signedPercent(rel) + " (recorded, less the calls no log shows, against billed); smaller differences mean nothing"
}

// trustLine is errorLine where costs that the error covers are marked.
func trustLine(run *results.Run) string {
	line := errorLine(run)
	marked := slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		_, covered := vsRecorded(run, &c)
		return covered
	})
	if marked {
		line += " and are marked ~"
	}
	return line
}
