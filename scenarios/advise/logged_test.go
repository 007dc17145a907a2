package advise

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// OpenCode logs the call that makes a summary: it is in the bill, in the audit, in
// the recorded calls that the model error holds against the bill, and in no remark
// on what no log shows.
func TestLoggedSummaryCallsAreBilled(t *testing.T) {
	text := agenttest.Sample(facts.OpenCode, "s", 1)
	c, err := agents.ReadFS(t.Context(), traces.Options{}, fstest.MapFS{"s.json": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	p := &scenarios.Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Workers: 1, Seed: 1, Strategies: []string{measures.StrategyRecorded, "none", "truncate-oldest"}}
	run, err := p.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sessions[0]
	price, err := p.Prices.Lookup(s.Models[0], s.StartTime())
	if err != nil || len(s.Summaries) != 1 {
		t.Fatalf("%d summary calls, %v", len(s.Summaries), err)
	}
	rate := price.Standard()
	summary := results.Cost(rate.Cost(&s.Summaries[0].Usage))
	want := summary.Total()
	for _, r := range s.Threads[0].Rounds {
		cost := results.Cost(rate.Cost(&r.Usage))
		want += cost.Total()
	}
	billed, recorded := run.Reference(measures.StrategyBilled), run.Reference(measures.StrategyRecorded)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s $%.6f, want $%.6f", what, got, want)
		}
	}
	near("billed", billed.Total.CostUSD(), want)
	audited, err := audit.Run(c.Sessions, audit.Options{Prices: p.Prices})
	if err != nil {
		t.Fatal(err)
	}
	near("audit", audited.Total.USD, want)
	logged := newTally(c.Sessions)
	logged.bill(s, p.Prices)
	used := newUse(logged, p.Prices)
	near("in cost-weighted tokens", used.Logged.Weighted.All*used.Weights.InputUSD/1e6, want)
	near("model error of", run.ModelError.BilledUSD, want)
	near("model error with", run.ModelError.RecordedUSD, recorded.Total.CostUSD())
	if recorded.Total.CostBy(measures.SourceCompact).Total() == 0 {
		t.Error("the recorded cell has no summary call")
	}
	for _, n := range run.Notes {
		if strings.Contains(n.Text, "no log shows") {
			t.Errorf("note %q of a session whose log shows all", n.Text)
		}
	}
}
