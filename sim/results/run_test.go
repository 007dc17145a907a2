package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results/measures"
)

func costing(strategy, session string, usd float64) *Row {
	r := &Row{Strategy: strategy, Session: session, Figures: Figures{measures.Sessions: 1, measures.CostByClass + measures.ID(measures.ClassRead): usd}}
	*r.CostBy(measures.SourceMain) = *r.CostByClass()
	return r
}

// references is a run of two sessions: billed $8, recorded $10, half $5, and
// partial, which lacks session b.
func references() *Run {
	r := &Run{Cells: []Cell{
		{Cell: "billed", Strategy: measures.StrategyBilled, Rows: Rows{}.With(costing("billed", "b", 6), costing("billed", "a", 2))},
		{Cell: "recorded", Strategy: measures.StrategyRecorded, Rows: Rows{}.With(costing("recorded", "a", 3), costing("recorded", "b", 7))},
		{Cell: "half", Strategy: "x", Rows: Rows{}.With(costing("x", "b", 3), costing("x", "a", 2))},
		{Cell: "partial", Strategy: "x", Rows: Rows{}.With(costing("x", "a", 1))},
	}}
	r.Sum()
	return r
}

func TestVsRecorded(t *testing.T) {
	r := references()
	for i, want := range []struct {
		rel float64
		ok  bool
	}{
		{0, false},      // billed: its difference is the model error
		{0, false},      // the reference itself
		{-0.5, true},    // (5 − 10) / 10
		{-2. / 3, true}, // lacks session b: (1 − 3) / 3
	} {
		if d, ok := r.VsRecorded(&r.Cells[i]); d.Relative != want.rel || ok != want.ok {
			t.Errorf("%s: %v, %v; want %v, %v", r.Cells[i].Cell, d.Relative, ok, want.rel, want.ok)
		}
	}
	other := Cell{Cell: "other", Strategy: "x", Rows: Rows{}.With(costing("x", "a", 1), costing("x", "c", 1))}
	other.sum()
	if _, ok := r.VsRecorded(&other); ok {
		t.Error("sessions a and c were compared with a and b")
	}
}

func TestFootnotes(t *testing.T) {
	r := references()
	r.Notes = []Note{{Text: "last"}}
	r.Cells[0].Total.CostByClass()[measures.ClassOutput], r.Cells[0].Total.Figures[measures.LoggedOutputUSD] = 4, 1.25
	r.Cells[0].Total.Figures[measures.UnloggedWritesUSD] = 0.5
	r.Cells[2].Total.Figures[measures.OverWindow] = 12
	r.Cells[2].Total.Figures[measures.UnpricedCalls] = 1
	r.Cells[2].Total.Figures[measures.FailedCompactions] = 2
	want := []Note{
		{Cell: "billed", Metric: "cost_usd", Text: "includes $2.75 estimated for outputs that the logs cut short"},
		{Cell: "billed", Metric: "cost_usd", Detail: true, Text: fmt.Sprintf("the provider charges for cache writes that "+
			"some logs do not show: $%.2f if nothing was written, $%.2f if every token not read was",
			r.Cells[0].Total.CostUSD(), r.Cells[0].Total.CostUSD()+0.5)},
		{Cell: "half", Metric: "overflows", Text: "12 sessions pass the window"},
		{Cell: "half", Metric: "compactions", Text: "2 compactions failed"},
		{Cell: "partial", Metric: "cost_usd", Text: "covers 1 session, recorded covers 2: compared over these"},
		{Cell: "half", Metric: "cost_usd", Text: "the cost leaves out 1 call of models without a price; --price-as bills them as another model"},
		{Text: "last"},
	}
	if diff := cmp.Diff(want, r.Footnotes()); diff != "" {
		t.Errorf("footnotes (-want +got):\n%s", diff)
	}
}

// Calls without a price are one note, whatever the number of cells that have some.
func TestUnpricedCallsAreOneNote(t *testing.T) {
	r := references()
	r.Cells[1].Total.Figures[measures.UnpricedCalls], r.Cells[2].Total.Figures[measures.UnpricedCalls] = 180, 3
	notes := slices.DeleteFunc(r.Footnotes(), func(n Note) bool { return !strings.Contains(n.Text, "without a price") })
	want := []Note{{Metric: "cost_usd", Text: "the cost leaves out 3 calls of models without a price, and up to 177 more that a strategy adds; --price-as bills them as another model"}}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A row with sessions that ended early is never the cheaper one: it has no difference,
// ranks behind every other, and says what it leaves out. Calls beyond the window that
// are counted as answered are told.
func TestCutShortIsNoBargain(t *testing.T) {
	r := references()
	half := &r.Cells[2]
	if d, ok := r.VsRecorded(half); !ok || d.Relative >= 0 || half.Total.RankUSD() != half.Total.CostUSD() {
		t.Fatalf("%+v, %v: the cell is to be the cheaper one", d, ok)
	}
	half.Total.Figures[measures.OverWindow], half.Total.Figures[measures.Overflows] = 2, 2
	half.Total.Figures[measures.EndedSessions], half.Total.Figures[measures.UnsimulatedCalls] = 2, 40
	half.Total.Figures[measures.PeakContext] = 176_743
	if d, ok := r.VsRecorded(half); ok || !math.IsInf(half.Total.RankUSD(), 1) {
		t.Errorf("%+v: compared, ranks at %v", d, half.Total.RankUSD())
	}
	want := Note{Cell: "half", Metric: "cost_usd",
		Text: "2 sessions end early, behind requests of up to 176,743 tokens, 40 recorded calls not simulated: cost of an answered call, not compared"}
	if !slices.Contains(r.Footnotes(), want) {
		t.Errorf("footnotes %+v, want %+v", r.Footnotes(), want)
	}
	half.Total.Figures[measures.CallsBySource+measures.ID(measures.SourceMain)], half.Total.Figures[measures.CallsBySource+measures.ID(measures.SourceCompact)] = 20, 5
	if got := half.Total.OwnCalls(); got != 20 { // calls of the summaries answer no conversation
		t.Errorf("%d calls, want 20", got)
	}
	half.Total.Figures[measures.EndedSessions], half.Total.Figures[measures.UnsimulatedCalls], half.Total.Figures[measures.AnsweredOverWindow] = 0, 0, 40
	want = Note{Cell: "half", Metric: "overflows", Text: "2 sessions pass the window: their 40 calls beyond it count as answered"}
	if !slices.Contains(r.Footnotes(), want) {
		t.Errorf("footnotes %+v, want %+v", r.Footnotes(), want)
	}
}

// TestSumOrder: 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit; the
// total must not depend on which session finished first.
func TestSumOrder(t *testing.T) {
	a, b, c := costing("x", "a", 0.1), costing("x", "b", 0.2), costing("x", "c", 0.3)
	up := Cell{Cell: "x", Strategy: "x", Rows: Rows{}.With(a, b, c)}
	down := Cell{Cell: "x", Strategy: "x", Rows: Rows{}.With(c, b, a)}
	up.sum()
	down.sum()
	if diff := cmp.Diff(up, down, sameRows); diff != "" {
		t.Errorf("order shows:\n%s", diff)
	}
	if up.Sessions != 3 || up.Total.Strategy != "x" || up.Total.Session != "" {
		t.Errorf("total %+v", up.Total)
	}
}

// A row whose sessions ended early has no cost of the whole.
func TestCostOfAWhole(t *testing.T) {
	r := Row{Figures: Figures{measures.CostByClass + measures.ID(measures.ClassRead): 2}}
	if usd, err := r.WholeUSD(); err != nil || usd != 2 {
		t.Errorf("$%v, %v; want $2", usd, err)
	}
	r.Figures[measures.UnsimulatedCalls] = 3
	if usd, err := r.WholeUSD(); err == nil || usd != 0 {
		t.Errorf("$%v, %v of a row that leaves out 3 calls", usd, err)
	}
}
