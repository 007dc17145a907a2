package scenarios

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Places count the sides that are shown to be better; those that differ in one session of twelve share a place.
func TestPlaces(t *testing.T) {
	flat := func(usd float64) (f stats.Figure) {
		for i := range 12 {
			f.Part = append(f.Part, usd+float64(i)/100)
		}
		return f
	}
	tie := flat(2)
	tie.Part[3] += 0.1
	sides := []stats.Figure{flat(3), flat(2), tie, flat(1)}
	if got := placesBy(sides, stats.Lower, nil); !slices.Equal(got, []int{4, 2, 2, 1}) {
		t.Errorf("places by cost are %v", got)
	}
	if got := placesBy(sides, stats.Higher, nil); !slices.Equal(got, []int{1, 2, 2, 4}) {
		t.Errorf("places where more is better are %v", got)
	}
}

// What is compared depends on the agent's own strategy alone, and one that ends a session early has no place.
func TestComparedByOwn(t *testing.T) {
	row := func(session string, id results.ID) *results.Row {
		r := &results.Row{Session: session}
		r.Figures[results.Sessions], r.Figures[id] = 1, 1
		return r
	}
	run := &results.Run{Cells: []results.Cell{
		{Cell: strategyOwn, Strategy: strategyOwn, Rows: []*results.Row{row("a", results.Calls), row("b", results.UnsimulatedCalls), row("c", results.UnpricedCalls)}},
		{Cell: "none", Strategy: "none", Rows: []*results.Row{row("a", results.UnsimulatedCalls), row("b", results.Calls), row("c", results.Calls)}},
	}}
	compared, over, unpriced := comparedIn(run, func(string) bool { return true })
	if len(compared) != 1 || !compared["a"] || len(over) != 1 || unpriced != 1 {
		t.Errorf("compared are %v, %d over and %d unpriced", compared, len(over), unpriced)
	}
	v, _ := (&ranker{plan: &Plan{Registry: registry(t)}}).view("", run, func(string) bool { return true })
	if len(v.Ended) != 1 || v.Ended[0].Strategy != "none" || v.Of("none") != nil || v.Of(strategyOwn) == nil || v.Ordered() {
		t.Errorf("the view is %+v", v)
	}
}
