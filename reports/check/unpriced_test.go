package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// unpricedRun is a run in which session b has three calls of the model m without a
// price; in session a all have one.
func unpricedRun() *Input {
	in := plainRun()
	d := in.Cells[0].Draws[0]
	for i := range d.Rows.Len() {
		if d.Rows.At(i).Session == "b" {
			d.Rows.Edit(i, func(r *results.Row) { r.Figures[measures.UnpricedCalls] = 5 })
		}
	}
	d.Total.Figures[measures.UnpricedCalls] = 5 // with two that the strategy adds
	in.Sessions["b"] = Session{Project: "web", Unpriced: map[string]int{"m": 3}}
	return in
}

// Costs that lack prices fail the check once and by the names of the models; other
// metrics, and groups of sessions in which all has a price, are judged.
func TestUnpriced(t *testing.T) {
	f := levels(t, "rules:\n  - {metric: cost_usd, max: 10}\n  - {metric: net_negative_compactions, max: 1}\n"+
		"  - {metric: cost_usd, group: project, max: 10}\n  - {metric: calls, max: 100}\n"+
		"  - {metric: billed_to_predicted, max: 2}\n")
	r := f.Judge(unpricedRun(), Loaded{})
	says(t, r, "3 calls of m have no price, so that their costs are not judged")
	if n := len(r.failures()); n != 1 {
		t.Errorf("said %d times: %+v", n, r.failures())
	}
	var got []string
	for _, s := range r.Results {
		got = append(got, s.Metric+" "+s.Group+" "+string(s.Status))
	}
	want := []string{"cost_usd  unjudged", "net_negative_compactions  unjudged", "cost_usd project api ok", "cost_usd project web unjudged", "calls  ok", "billed_to_predicted  unjudged"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where that is allowed such calls cost nothing, and a note says so. So it does when
// no rule is on costs.
func TestUnpricedIsAllowed(t *testing.T) {
	for _, text := range []string{"unpriced: allow\nrules:\n  - {metric: cost_usd, max: 10}\n", "unpriced: refuse\nrules:\n  - {metric: calls, max: 100}\n"} {
		r := levels(t, text).Judge(unpricedRun(), Loaded{})
		says(t, r)
		if want := "3 calls of m have no price and cost nothing here; costs per call are of calls with a price"; !slices.Contains(r.Notes, want) {
			t.Errorf("notes %q, want %q", r.Notes, want)
		}
	}
	_, err := Parse([]byte("scenario: a\nunpriced: all\nrules:\n- {metric: calls, max: 1}\n"), "check.yaml")
	if want := `check.yaml:2: unpriced: unknown value "all"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// No baseline keeps costs that lack prices: they would be a bar of too little, or
// one that any price breaks.
func TestNoBaselineOfUnpricedCosts(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	b, err := f.NewBaseline(unpricedRun())
	if err != nil {
		t.Fatal(err)
	}
	for name := range b.Cells[0].Metrics {
		if strings.Contains(name, "usd") {
			t.Errorf("%s is in the baseline", name)
		}
	}
	says(t, f.Judge(plainRun(), Loaded{Baseline: b}), "base.json has not 1 seed of cost_usd of this cell")
	f.Unpriced = "allow"
	says(t, against(t, f, unpricedRun(), unpricedRun()))
}

// Where sessions ended early, sums and times are of less work: no bar judges them. What
// counts the ended sessions, and shares, are judged.
func TestCutShort(t *testing.T) {
	in := plainRun()
	d := in.Cells[0].Draws[0]
	d.Rows.Edit(0, func(r *results.Row) { r.Figures[measures.EndedSessions], r.Figures[measures.UnsimulatedCalls] = 1, 7 })
	d.Total.Figures[measures.EndedSessions], d.Total.Figures[measures.UnsimulatedCalls] = 1, 7
	f := levels(t, "rules:\n  - {metric: cost_usd, max: 1e9}\n  - {metric: ended_sessions, max: 0}\n  - {metric: cache_hit_ratio, min: 0.01}\n")
	var got []string
	for _, s := range f.Judge(in, Loaded{}).Results {
		got = append(got, s.Metric+" "+string(s.Status))
	}
	if want := []string{"cost_usd unjudged", "ended_sessions breach", "cache_hit_ratio ok"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
