package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
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

// partlyPriced is a run of session a, whose ten calls cost $10 and are of 100 tokens each, and session b, none of whose calls has a price.
func partlyPriced(calls int) *Input {
	in := input(one("billed", tally{session: "a", usd: 10, read: 1000}, tally{session: "b", read: int64(100 * calls), calls: calls}))
	in.Price = func(string, func(string) float64) (map[string]float64, bool, error) { return nil, false, nil }
	b := in.Sessions["b"]
	b.Facts, b.Unpriced = map[string][2]float64{validate.FactModel + "m": {float64(calls), float64(calls)}}, map[string]int{"m": calls}
	in.Sessions["b"], in.Calls, in.SessionsDigest = b, 10+calls, fmt.Sprint(calls)
	d := in.Cells[0].Draws[0]
	d.Rows.Edit(1, func(r *results.Row) { r.Figures[measures.UnpricedCalls] = float64(calls) })
	d.Total.Figures[measures.UnpricedCalls] = float64(calls)
	return in
}

// A recording that lost 95 of its 180 calls breaks the check though none of them has a price: 9,500 of 19,000 tokens. The same recordings
// are the same, and a call with a price costs $1 on both sides.
func TestUnpricedCallsAreMissed(t *testing.T) {
	f := levels(t, "unpriced: allow\n"+pairedRules)
	says(t, against(t, f, partlyPriced(180), partlyPriced(85)), "1 session has fewer calls than in the baseline, and recordings only grow: "+
		"b (85 of 180 calls); 50.0 % of the baseline's tokens are missing")
	r := against(t, f, partlyPriced(180), partlyPriced(180))
	says(t, r)
	if c := r.Change; c == nil || c.Was != 1 || c.Now != 1 || slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "other calls") }) {
		t.Errorf("%+v, notes %q", c, r.Notes)
	}
	b, err := f.NewBaseline(partlyPriced(180))
	if err != nil {
		t.Fatal(err)
	}
	if p := b.Past[1]; p.Calls != 180 || p.Unpriced != 180 {
		t.Errorf("session b has %d calls, %d without a price, want 180 of both", p.Calls, p.Unpriced)
	}
	if h := history(b, nil); h[0].PerCall != 1 || h[0].Work != 1 {
		t.Errorf("a call cost %+v, want $1", h[0])
	}
}

// A baseline that does not count calls without a price knows those of sessions that were billed nothing by their models, which have no rate:
// a call with a price costs $1 there too. Of a model with a rate of nothing all calls count.
func TestUncountedUnpricedCalls(t *testing.T) {
	f := levels(t, "unpriced: allow\n"+pairedRules)
	b, err := f.NewBaseline(partlyPriced(10))
	if err != nil {
		t.Fatal(err)
	}
	b.Past[1].Unpriced = 0
	for rate, want := range map[string]float64{"opus": 1, "m": 0.5} {
		b.Rates[rate] = results.Cost{}
		var text bytes.Buffer
		if err := b.Write(&text); err != nil {
			t.Fatal(err)
		}
		read, err := ReadBaseline("base.json", &text)
		if err != nil {
			t.Fatal(err)
		}
		if c := f.Judge(partlyPriced(10), Loaded{Baseline: read}).Change; c == nil || c.Was != want || c.Now != 1 {
			t.Errorf("%s has a rate: %+v, want $%g a call before and $1 now", rate, c, want)
		}
		delete(b.Rates, rate)
	}
}

// What calls without a price cost is unknown: a session that got a price is not paired with its calls without one, and a try without a price
// is in no mean of its task, $10 by session a alone.
func TestUnpricedSessionsAreNotPaired(t *testing.T) {
	f := levels(t, "unpriced: allow\n"+pairedRules)
	was, now := partlyPriced(10), input(one("billed", tally{session: "a", usd: 10, read: 1000}, tally{session: "b", usd: 5, read: 1000}))
	now.Price = was.Price
	if list := pairedResults(against(t, f, was, now)); len(list) != 1 || list[0].Group != "1 paired session" || list[0].Status != OK {
		t.Errorf("%+v, want session a alone", list)
	}
	was = partlyPriced(11)
	for _, in := range []*Input{was, now} {
		for id, s := range in.Sessions {
			s.Task = "x"
			in.Sessions[id] = s
		}
	}
	rename(now, "others")
	if c := against(t, f, was, now).Change; c == nil || c.Per != "task" || c.Was != 10 {
		t.Errorf("%+v, want $10 a task before", c)
	}
}

// Dollars of 100 calls are of calls with a price, $10 by 10 of them on both sides, tokens are of all: 2,000 and 5,000 tokens were read by 20 and
// by 50 calls.
func TestLookLeavesUnpricedCallsOut(t *testing.T) {
	f := levels(t, "unpriced: allow\n"+pairedRules)
	b, err := f.NewBaseline(partlyPriced(10))
	if err != nil {
		t.Fatal(err)
	}
	in := partlyPriced(40)
	s := newSums(f).of(&in.Cells[0], in.groups("")[0])
	l := looker{s, "", b.find("billed", ""), results.Metrics(), false, true}
	for name, want := range map[string][2]float64{measures.NameCostOutput: {100, 100}, measures.NameReadTokens: {10_000, 10_000}} {
		list := l.parts(func(m results.Metric) bool { return m.Name == name })
		if len(list) != 1 || list[0].was != want[0] || list[0].now != want[1] {
			t.Errorf("%s: %+v, want %v", name, list, want)
		}
	}
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
