package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// A side whose sessions ended early did less work: it is never the better one, and the
// headline says so in place of a difference in cost.
func TestCutShortIsNeverBetter(t *testing.T) {
	cheap := after()
	rows := &cheap.Cells[0].Rows
	for i := range rows.Len() {
		rows.Edit(i, func(r *results.Row) {
			r.CostByClass()[1] /= 2
			r.CostBy(0)[1] /= 2
		})
	}
	cheap.Sum()
	inputs := []Input{{Label: "old", Run: before()}, {Label: "new", Run: cheap}}
	verdict := func() (Verdict, string, string) {
		r, err := Run(context.Background(), inputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &r.Comparisons[0]
		text := r.headline(c)
		f := c.Figure("cost_usd")
		return f.Verdict, text.Lead + text.Text, strings.Join(f.Notes, "; ")
	}
	if v, _, _ := verdict(); v != Better {
		t.Fatalf("verdict %v of half the cost, want better", v)
	}
	rows.Edit(2, func(r *results.Row) { r.Figures[measures.EndedSessions], r.Figures[measures.UnsimulatedCalls] = 1, 7 })
	v, headline, notes := verdict()
	if v != Unknown || !strings.Contains(notes, "1 session of new ended early") ||
		headline != "What old and new cost cannot be compared: 1 session of new ended early: not the same work." {
		t.Errorf("verdict %v, %q, notes %q", v, headline, notes)
	}
}
