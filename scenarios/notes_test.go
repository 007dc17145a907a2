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

// Where a recording has no compaction, own draws how long summaries are; where it has one, their mean length is known. A session
// of either kind, and one that own leaves alone: one is drawn, at the $2 of its summary calls.
func TestDrawnSummaries(t *testing.T) {
	row := func(id string, compactions, usd float64) *results.Row {
		r := &results.Row{Session: id}
		r.Figures[measures.Compactions] = compactions
		r.CostBy(measures.SourceCompact)[0] = usd
		return r
	}
	recorded := &results.Cell{Strategy: measures.StrategyRecorded, Rows: results.Rows{}.With(row("a", 0, 0), row("b", 1, 1), row("c", 0, 0))}
	own := &results.Cell{Strategy: measures.StrategyOwn, Rows: results.Rows{}.With(row("a", 3, 2), row("b", 2, 5), row("c", 0, 0))}
	if rows, usd := drawnSummaries(own, recorded); len(rows) != 1 || usd != 2 {
		t.Errorf("%d sessions, $%.2f, want 1 and $2", len(rows), usd)
	}
	own.Strategy = "none"
	if rows, _ := drawnSummaries(own, recorded); rows != nil {
		t.Errorf("%d sessions of a strategy whose summaries are all drawn", len(rows))
	}
}

// Of a bill of $10, $8 are for calls that no line shows and that the recorded row has too: the model error of the whole is −5 %, and of
// the $2 that lines show −25 %. Of a bill with $0.50 of such calls nothing is said.
func TestUnshownCallsAreToldApart(t *testing.T) {
	cell := func(main, other float64) *results.Cell {
		c := &results.Cell{}
		r := &c.Total
		r.CostBy(measures.SourceMain)[0], r.CostBy(measures.SourceOther)[0], r.CostByClass()[0] = main, other, main+other
		if other > 0 {
			r.Figures[measures.CallsBySource+measures.ID(measures.SourceOther)] = 1
		}
		return c
	}
	const want = "includes $8.00 for calls that no line shows; the model error of the rest is −25.0 % net"
	if got := unshown(cell(2, 8), cell(1.5, 8)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unshown(cell(9.5, .5), cell(9, .5)); got != "" {
		t.Errorf("%q of a twentieth", got)
	}
}
