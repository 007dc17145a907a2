package charts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// brokenRun is a run of a cell the detector watched and of one it did not. Of 10
// expiries it found 6 as such after 5 minutes and 2 after an hour (8 of 10); it
// took 2 cuts for expiries (6 of 8 are right); of 4 changed heads it named 3,
// once the tools and always the system prompt.
func brokenRun() *results.Run {
	run := &results.Run{Cells: []results.Cell{
		{Cell: "none", Strategy: "none", Rows: results.Rows{}.With(&results.Row{Strategy: "none", Session: "a", Figures: results.Figures{measures.Sessions: 1}})},
		{Cell: "billed", Strategy: "billed", Rows: results.Rows{}.With(&results.Row{Strategy: "billed", Session: "a", Figures: results.Figures{measures.Sessions: 1}})},
	}}
	b := run.Cells[0].Rows.At(0).Breaks.Matrix()
	*b.Calls(confusion.None) = confusion.Missed{exchange.MissNone: 1_200, exchange.MissExpiry: 2}
	*b.Calls(confusion.Expiry5m) = confusion.Missed{exchange.MissExpiry: 6, exchange.MissEdit: 2}
	*b.Calls(confusion.Expiry1h) = confusion.Missed{exchange.MissExpiry: 2}
	*b.Calls(confusion.State) = confusion.Missed{exchange.MissHead: 3}
	*b.Calls(confusion.Server) = confusion.Missed{exchange.MissHead: 1, exchange.MissNone: 1}
	b.Changed(confusion.FieldSystem)[exchange.MissHead] = 3
	b.Changed(confusion.FieldTools)[exchange.MissHead] = 1
	b[confusion.Beside+int(confusion.None)], b[confusion.Beside+int(confusion.Server)] = 5, 1
	run.Cells[0].Rows.Edit(0, func(r *results.Row) { r.Breaks = b.Counts() })
	run.Sum()
	return run
}

// The table has n beside every share, and a line for each reason that was given
// or should have been.
func TestBreaksAgainstWhatHappened(t *testing.T) {
	var b bytes.Buffer
	if err := Run(brokenRun(), Options{Split: true}).Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "what the break detector says against what happened\n")
	got, _, _ = strings.Cut(got, "\n\n")
	want := `STRATEGY  IT SAYS                             CALLS  RIGHT  PRECISION  MISSED SO  FOUND  RECALL  WHAT HAPPENED
none      no break                            1,202  1,200     99.8 %                            1,200 hit, 2 expiry
none      prompt changed                          3      3    100.0 %          4      3  75.0 %  3 head
none      · system prompt                         3      3    100.0 %                            3 head
none      · tools                                 1      1    100.0 %                            1 head
none      possible expiry, 5 minutes              8      6     75.0 %         10      8  80.0 %  6 expiry, 2 edit
none      possible expiry, an hour                2      2    100.0 %         10      8  80.0 %  2 expiry
none      likely the server                       2      0      0.0 %                            1 hit, 1 head
none      calls of layers: likely the server      1`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// A run without a detector has no such table.
func TestNoTableWithoutADetector(t *testing.T) {
	var b bytes.Buffer
	if err := Run(bill(), Options{Split: true}).Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "break detector") {
		t.Error("a table of a detector that did not run")
	}
}
