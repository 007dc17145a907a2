package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// clients is a run whose sessions write the given shares for an hour. What an hour costs is
// 5 of 100 dollars less, from nowhere.
func clients(hour ...float64) *Input {
	in := input()
	in.Sessions = map[string]Session{}
	var rows []tally
	for i, h := range hour {
		id := fmt.Sprintf("%v %d", hour, i)
		rows = append(rows, tally{session: id, usd: 100 / float64(len(hour))})
		facts := map[string][2]float64{validate.FactLifetime: {h, 1}}
		in.Sessions[id] = Session{Agent: "claude-code", Facts: facts}
	}
	in.Cells = []Cell{cell("billed", rows)}
	in.Price = func(_ string, was func(string) float64) (map[string]float64, bool, error) {
		return map[string]float64{"": 10 * (was("") - 0.5)}, true, nil
	}
	return in
}

const factRules = "  - {metric: cost_usd, strategy: billed, max_increase: 100%}\n"

// A fact that is the baseline's breaks nothing and is not told; one beyond the spread of both
// is told with its price, (1 − 0.5)·10 = $5 or 5 % of 100, and breaks a bar of 2 %. One session
// against three is enough where no session is like it. A lifetime that is kept may cost nothing and is broken, unless one session
// alone has another: that is suspect, and no window takes the run.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		facts  string
		now    []float64
		status Status
		told   string
	}{
		{"{max: 2%}", []float64{1, 1, 1}, OK, ""},
		{"{max: 2%}", []float64{0, 0, 0}, Breach, "100.0 % → 0.0 % (with what was: $5.00 less, −5 %)"},
		{"{max: 2%}", []float64{0}, Breach, "100.0 % → 0.0 %"},
		{"{max: 6%}", []float64{0, 0, 0}, OK, "$5.00 less"},
		{"{max: 6%, lifetime: 1h}", []float64{0, 0, 0}, Breach, "100.0 % → 0.0 %"},
		{"{max: 6%, lifetime: 1h}", []float64{1, 1, 1}, OK, ""},
		{"{max: 6%, lifetime: keep}", []float64{0, 0, 0}, Breach, "100.0 % → 0.0 %"},
		{"{max: 6%, lifetime: keep}", []float64{0}, Suspect, "100.0 % → 0.0 %"},
	} {
		f := levels(t, "baseline: base.json\nwindow: 2\nfacts: "+c.facts+"\nrules:\n"+factRules)
		r := against(t, f, clients(1, 1, 1), clients(c.now...))
		res := r.Results[len(r.Results)-1]
		if why := r.Withheld(f); (why == "") != (res.Status == OK) {
			t.Errorf("%s, %v: %s, withheld %q", c.facts, c.now, res.Status, why)
		}
		if told := strings.Join(r.Changed, "\n"); res.Metric != "facts" || res.Status != c.status || !strings.Contains(told, c.told) ||
			c.told == "" && told != "" {
			t.Errorf("%s, %v: %s %s %q, told %q; want %s %q", c.facts, c.now, res.Metric, res.Status, res.Message, told, c.status, c.told)
		}
	}
}

// What was spread in the baseline is no change.
func TestFactWithinItsSpread(t *testing.T) {
	f := levels(t, "baseline: base.json\nfacts: {max: 2%}\nrules:\n"+factRules)
	says(t, against(t, f, clients(1, 0, 1, 0, 1), clients(0, 1, 0, 1, 0)))
}

// Compactions that the baseline has none of are another level where sessions of the same model went on beyond: two that
// reached 150,000 tokens against two that compact at 70,000. One is an exception, and near the level it is none.
func TestFirstCompactions(t *testing.T) {
	list := func(n int, facts map[string][2]float64) (list []Past) {
		for i := range n {
			list = append(list, Past{ID: fmt.Sprint(facts, i), Calls: 1, Facts: facts})
		}
		return list
	}
	f := levels(t, "facts: {max: 2%}\nrules:\n"+factRules)
	reached := map[string][2]float64{validate.FactReached: {150_000, 1}}
	for _, c := range []struct {
		before, now int
		level       float64
		want        bool
	}{{2, 2, 70_000, true}, {1, 4, 70_000, false}, {4, 1, 70_000, false}, {4, 4, 140_000, false}} {
		compacts := map[string][2]float64{validate.FactCompactedAt: {c.level, 1}}
		got := f.findChange(validate.FactCompactedAt, list(c.before, reached), list(c.now, compacts), 20)
		if (got != nil) != c.want || got != nil && got.had() != "none up to 150,000" {
			t.Errorf("%d after %d at %g: %+v, want %t", c.now, c.before, c.level, got, c.want)
		}
	}
}

// A lifetime that is kept may become longer.
func TestLongerLifetime(t *testing.T) {
	f := levels(t, "baseline: base.json\nfacts: {lifetime: keep}\nrules:\n"+factRules)
	says(t, against(t, f, clients(0, 0, 0), clients(1, 1, 1)))
}

// Responses of the same sessions that are longer by 40 % (100 to 140 tokens) cost 0.4/1.4 of what their output is predicted to,
// $7 of $100: $2, within a bar of 3 % and beyond one of 1 %. What another fact saves does not make up for it. Other sessions
// have other answers.
func TestLongerResponses(t *testing.T) {
	answers := func(id string, tokens float64) *Input {
		in := clients(1)
		in.Sessions = map[string]Session{id: {Agent: "claude-code", Predicted: map[string]results.Cost{"opus": {measures.ClassOutput: 7, measures.ClassRead: 93}},
			Facts: map[string][2]float64{validate.FactOutput: {10 * tokens, 10}, validate.FactLifetime: {1 - tokens/1000, 1}}}}
		in.Cells = []Cell{cell("billed", []tally{{session: id, usd: 100}})}
		in.Price = func(string, func(string) float64) (map[string]float64, bool, error) {
			return map[string]float64{id: -5}, true, nil
		}
		return in
	}
	for most, want := range map[string][]string{"3%": nil, "1%": {"output tokens per response: 100 → 140 (with what was: $2.00 less, −2 %)"}} {
		f := levels(t, "baseline: base.json\nfacts: {max: "+most+"}\nrules:\n"+factRules)
		says(t, against(t, f, answers("a", 100), answers("a", 140)), want...)
		says(t, against(t, f, answers("a", 100), answers("b", 140)))
	}
}

// Sub-agents that are gone are told, though one of the sessions had most of their calls: ranks count each session once. Their
// prices are held no more, which a note says.
func TestFactByRanks(t *testing.T) {
	const fact = "share of calls by sub-agents"
	run := func(name string, share func(i int) float64) *Input {
		in := clients(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		i := 0
		for _, id := range sortedKeys(in.Sessions) {
			s := in.Sessions[id]
			s.Name = name + id
			s.Facts = map[string][2]float64{fact: {share(i), 1}, validate.FactPrice: {1, 1}}
			if share(i) > 0 {
				s.Facts[validate.FactPriceAgent] = [2]float64{1, 1}
			}
			in.Sessions[id], i = s, i+1
		}
		in.SessionsDigest = name
		return in
	}
	f := levels(t, "baseline: base.json\nfacts: {max: 2%}\nprices: {max: 5%}\nrules:\n"+factRules)
	r := against(t, f, run("was", func(i int) float64 { return []float64{0.001, 90}[i/9] }), run("now", func(int) float64 { return 0 }))
	if !strings.Contains(strings.Join(r.Changed, "\n"), fact) || !strings.Contains(strings.Join(r.Notes, "\n"), "no call of sub-agents with a price is here") {
		t.Errorf("%q %q", r.Changed, r.Notes)
	}
}
