package validate

import (
	"math"
	"testing"
)

// Two sessions of an agent at one provider and one at another: by hand the first two cost 10 as
// predicted, 12 with losses and 11 as recorded. Their replications, 12 or 10, are 11 on average: they are scaled to the expected 12, and lie
// 1/11 around it.
func TestScoresByAgent(t *testing.T) {
	call := func(session, model string, predicted, loss, actual float64) Call {
		return Call{Session: session, Agent: "a", Model: model, Class: ClassToolResult, Context: 1,
			costs: costs{Priced: true, PredictedUSD: predicted, LossUSD: loss, ActualUSD: actual, NaiveUSD: 2 * actual}}
	}
	r := reportOn(ofSessions(
		call("1", "gpt-5.4", 4, 1, 5), call("2", "gpt-5.3-codex", 6, 1, 6), call("3", "muse", 1, 0, 1),
	), 0)
	r.addReplications("1", []float64{6, 5}, 5, 5, true)
	r.addReplications("2", []float64{6, 5}, 6, 7, false)
	if len(r.Agents) != 2 {
		t.Fatalf("%+v, want two", r.Agents)
	}
	a, b := r.Agents[0], r.Agents[1]
	if a.Provider != "openai" || a.Score.Calls != 2 || a.Score.Sessions != 2 || a.Inside != 1 || a.Banded != 2 || b.Provider != "" || b.Banded != 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
	for _, f := range []struct {
		name      string
		got, want float64
	}{{"expected", *a.Expected, 1. / 11}, {"low", *a.Low, (10.1*12/11 - 11) / 11}, {"high", *a.High, (11.9*12/11 - 11) / 11}, {"naive", *a.Naive.Corpus, 1}} {
		if math.Abs(f.got-f.want) > 1e-9 {
			t.Errorf("%s %g, want %g", f.name, f.got, f.want)
		}
	}
	table := r.byAgent()
	if len(table.Rows) != 2 || len(table.Notes) != 2 || table.Rows[0][1] != "unknown" {
		t.Errorf("rows %v, notes %q; want a note on the provider that is not known", table.Rows, table.Notes)
	}
}
