package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// interrupted makes a run honest that was stopped before its end: it says above
// the figures how much of it there is, and for a recorded cell that is not whole
// it leaves in the billed ones the same sessions, so that the two are still
// comparable. What other cells lack, results.Run.Footnotes tells. cells is the
// number of cells there should be, err what stopped it. It comes before Sum.
func interrupted(run *results.Run, cells int, err error) {
	sessions := run.Workload.Sessions
	done := 0
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != results.StrategyBilled {
			done += len(c.Rows)
		}
	}
	how := "interrupted"
	if !errors.Is(err, context.Canceled) {
		how = "stopped by an error"
	}
	remark := fmt.Sprintf("%s: %d of %d sessions simulated (%d sessions in %d cells); the figures are of these",
		how, done, cells*sessions, sessions, cells)
	run.Workload.Remarks = append(run.Workload.Remarks, remark)
	recorded := run.Reference(results.StrategyRecorded)
	if recorded == nil || len(recorded.Rows) == sessions {
		return
	}
	have := map[string]bool{}
	for i := range recorded.Rows {
		have[recorded.Rows[i].Session] = true
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Strategy == results.StrategyBilled {
			c.Rows = slices.DeleteFunc(c.Rows, func(r results.Row) bool { return !have[r.Session] })
		}
	}
	run.Notes = append(run.Notes, results.Note{Cell: recorded.Cell, Metric: "cost_usd",
		Text: fmt.Sprintf("covers %d of %d sessions, and so does what was billed", len(recorded.Rows), sessions)})
}
