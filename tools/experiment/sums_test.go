package main

import (
	"fmt"
	"slices"
	"strings"
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

// Where no summary is recorded, a run tells what its own cell costs with summaries of 700 and of 6,000 tokens, which is what runs with these
// lengths told cost; and a run that is told tells nothing.
func TestSpanOfLengths(t *testing.T) {
	i := slices.IndexFunc(runs, func(r *run) bool { return r.Name == "pi-large-A" })
	c, done, err := corpus(t.Context(), ".", runs[i])
	if err != nil {
		t.Fatal(err)
	}
	own := func(sets ...string) (usd float64, notes string) {
		file, err := scenarios.Parse(scenariostest.Registry(t), []byte("schema: 1\nseed: 1\nstrategies: [recorded, own]\n"), "test")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(sets, "full-compact.trigger.reserve=110000") {
			if err := file.Assign(s); err != nil {
				t.Fatal(err)
			}
		}
		design, err := file.Expand()
		if err != nil {
			t.Fatal(err)
		}
		p := scenarios.Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: design}
		did, err := p.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range did.Notes {
			notes += n.Text + "\n"
		}
		return did.Reference(measures.StrategyOwn).Total.CostUSD(), notes
	}
	least, quiet := own("summarizer.median=700", "summarizer.sigma=0")
	most, _ := own("summarizer.median=6000", "summarizer.sigma=0")
	_, notes := own()
	if want := fmt.Sprintf("own costs $%.2f with 700 tokens, and $%.2f with 6,000", least, most); !strings.Contains(notes, want) || most-least < 0.05 {
		t.Errorf("%q is not in %q", want, notes)
	}
	if strings.Contains(quiet, "show no summary") {
		t.Errorf("a told length is called drawn: %q", quiet)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}
