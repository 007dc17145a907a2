package scenarios

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// The note on what agents do names the calls in which they fetch again, of the strategy that has most of them, and the switch
// that leaves these out.
func TestMostFetches(t *testing.T) {
	run := &results.Run{Cells: []results.Cell{{Strategy: "own"}, {Strategy: "none"}, {Strategy: "truncate"}}}
	if got := mostFetches(run); got != "" {
		t.Errorf("%q without a fetch", got)
	}
	run.Cells[0].Total.Figures[measures.Needs+measures.ID(recall.Fetches)] = 3
	run.Cells[2].Total.Figures[measures.Needs+measures.ID(recall.Fetches)] = 7
	if got, want := mostFetches(run), " (7 calls of truncate; --open-loop leaves these out)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
