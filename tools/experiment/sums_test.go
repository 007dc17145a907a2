package main

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// The model does not bill more than one per cent beyond what Claude Code 2.1.277 and later were billed, calls that no line shows
// included: of the recordings of the experiment the one that compacted most often, and one with sub-agents (2.1.332, 2026-11-28).
func TestModelledBillOfSums(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, name := range []string{"claude-recall-P45", "claude-helpers-A"} {
		i := slices.IndexFunc(runs, func(r *run) bool { return r.Name == name })
		c, done, err := corpus(t.Context(), ".", runs[i])
		if err != nil {
			t.Fatal(err)
		}
		p := scenarios.Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Seed: 1, Strategies: []string{measures.StrategyRecorded}}
		did, err := p.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		billed, modelled := did.Reference(measures.StrategyBilled).Total.CostUSD(), did.Reference(measures.StrategyRecorded).Total.CostUSD()
		if billed == 0 || modelled > 1.01*billed || modelled < 0.97*billed {
			t.Errorf("%s: the model bills $%.2f of $%.2f", name, modelled, billed)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
