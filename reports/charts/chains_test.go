package charts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// chainsOf are the compactions of two cells over the bill of two sessions. By
// hand, with tokens read at $0.5 a million:
//
//	          call  re-writing   saved     net
//	a main 1  $1.00   $0.50      $6.00   +$4.50, paid back after 5 of 20 calls
//	a main 2  $1.00   $0.20      $0.30   −$0.90, never; 120,000 tokens are $0.06 a call: 20 calls needed
//	b main 1  $2.00   $0.00      $4.00   +$2.00, paid back after 10 of 20
//	total     $4.00   $0.70     $10.30   +$5.60, less $0.25 of a call that led to nothing: $5.35
func chainsOf() []studies.Chains {
	compaction := func(session string, round, place int, call, rewrite, gain float64, paid, later int) studies.Compaction {
		return studies.Compaction{
			Session: session, Thread: "main", Round: round, File: session + ".jsonl", Line: 10 * round, Layer: "full-compact",
			What: "compaction", Trigger: "auto", Measure: "client_tokens", Measured: 167_512, Value: 167_000, Source: "compact",
			Before: 168_000, After: 48_000, Since: 50, Chain: 1, Place: place, Recompaction: place > 1,
			Payback: studies.Payback{
				Saved: 120_000, Calls: 1, CallCost: results.Cost{measures.ClassOutput: call}, RewriteUSD: rewrite, GainUSD: gain,
				PaidAfter: paid, Later: later, Context: 99_000, ReadPrice: 0.5e-6,
			},
		}
	}
	manual := compaction("b", 70, 1, 2, 0, 4, 10, 20)
	manual.Trigger, manual.Measure, manual.Measured, manual.Value = "manual", "", 0, 0
	return []studies.Chains{
		{Cell: "auto-compact/167k", Strategy: "auto-compact", LostUSD: 0.25, Compactions: []studies.Compaction{
			compaction("a", 50, 1, 1, 0.5, 6, 5, 20), compaction("a", 100, 2, 1, 0.2, 0.3, 0, 5), manual,
		}},
		{Cell: "none", Strategy: "none", Compactions: []studies.Compaction{}},
	}
}

// TestChainsGolden holds the outputs against files that a person read through.
func TestChainsGolden(t *testing.T) {
	for file, format := range map[string]string{"chains.txt": "table", "chains.md": "markdown", "chains.csv": "csv", "chains.json": "json"} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := Chains(bill(), chainsOf(), 0).Write(&got, format); err != nil {
				t.Fatal(err)
			}
			golden(t, file, got.Bytes())
		})
	}
}

// The totals of the comment on chainsOf.
func TestChainTotals(t *testing.T) {
	want := []string{
		"3 compactions: 2 paid back (66.7 %, median after 5 calls), 1 net-negative; longest chain 2, 0 spirals",
		"saved $10.30; calls cost $4.00 and re-writing $0.70, and calls that led to no compaction $0.25. NET values do not add up: each compares with waiting for the next compaction",
	}
	if got := chainsOf()[0].Told(); !slices.Equal(got, want) {
		t.Errorf("totals\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What has no price is neither paid back nor not.
func TestUnpricedCompactions(t *testing.T) {
	cells := chainsOf()[:1]
	x := &cells[0].Compactions[1]
	x.ReadPrice, x.CallCost, x.RewriteUSD, x.GainUSD = 0, results.Cost{}, 0, 0
	want := "3 compactions, 1 of models without a price: 2 paid back (100.0 %, median after 5 calls), 0 net-negative; longest chain 2, 0 spirals"
	if got := cells[0].Told()[0]; got != want {
		t.Errorf("totals %s\nwant   %s", got, want)
	}
	var got bytes.Buffer
	if err := Chains(bill(), cells, 0).Write(&got, "table"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "no price") {
		t.Errorf("nothing says so in\n%s", got.String())
	}
}

// Of many compactions a table shows the worst and the best, a spiral where there
// is one, and the layers when there are several.
func TestManyCompactions(t *testing.T) {
	cells := chainsOf()[:1]
	one := cells[0].Compactions[0]
	for i := range 10 {
		x := one
		x.GainUSD = float64(i)
		cells[0].Compactions = append(cells[0].Compactions, x)
	}
	cells[0].Compactions[1].Spiral, cells[0].Compactions[1].Layer = studies.SpiralUnpaid, "truncate-oldest"
	var got bytes.Buffer
	if err := Chains(bill(), cells, 4).Write(&got, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"9 compactions in between left out", "never paid back", "LAYER", "1 spiral", "$7.50", "−$1.50"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
	if strings.Contains(got.String(), "$2.50") {
		t.Errorf("a net in the middle is shown\n%s", got.String())
	}
}
