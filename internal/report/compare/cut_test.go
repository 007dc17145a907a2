package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// A side whose sessions ended early did less work: it is never the better one, and a
// note says so.
func TestCutShortIsNeverBetter(t *testing.T) {
	cheap := after()
	rows := cheap.Cells[0].Rows
	for i := range rows {
		rows[i].CostByClass()[1] /= 2
		rows[i].CostBy(0)[1] /= 2
	}
	cheap.Sum()
	inputs := []Input{{Label: "old", Run: before()}, {Label: "new", Run: cheap}}
	verdict := func() (Verdict, string) {
		r, err := Run(context.Background(), inputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := r.Comparisons[0].Figure("cost_usd")
		return f.Verdict, strings.Join(f.Notes, "; ")
	}
	if v, _ := verdict(); v != Better {
		t.Fatalf("verdict %v of half the cost, want better", v)
	}
	rows[2].Figures[results.EndedSessions], rows[2].Figures[results.UnsimulatedCalls] = 1, 7
	if v, notes := verdict(); v != Unknown || !strings.Contains(notes, "1 session of new ended early") {
		t.Errorf("verdict %v, notes %q", v, notes)
	}
}
