package scenarios

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// Charts take their calls from the recorded cell and from the cheapest other cells, as many calls
// as the rows count.
func TestCallsOfForemostCells(t *testing.T) {
	corpus := scenariostest.Samples(t, "long-refactor")
	d := expand(t, "schema: 1")
	plan := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}
	run, err := plan.Run(context.Background(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := plan.Follow(context.Background(), corpus, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != measures.ForemostCells || cells[0].Cell != measures.StrategyRecorded {
		t.Fatalf("%d cells, first %q", len(cells), cells[0].Cell)
	}
	for _, c := range cells {
		for i := range run.Cells {
			if run.Cells[i].Cell == c.Cell && run.Cells[i].Total.N(measures.Calls) != len(c.Calls) {
				t.Errorf("%s: %d calls, its row counts %d", c.Cell, len(c.Calls), run.Cells[i].Total.N(measures.Calls))
			}
		}
	}
}

// A single strategy with changes, as sim explain takes it.
func TestConfig(t *testing.T) {
	plan := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Seed: 3, Window: 500_000}
	c, err := plan.Config("auto-compact/155k", []string{"full-compact.breaker=7", "server.lookback=5"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Strategy.Name != "auto-compact/155k" || c.Seed != 3 || c.Window != 500_000 {
		t.Errorf("%s, seed %d, window %d", c.Strategy.Name, c.Seed, c.Window)
	}
	for _, bad := range []string{"full-compact.breaker=[1, 2]", "full-compact.braker=1", "breaker"} {
		if _, err := plan.Config("auto-compact/155k", []string{bad}); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	text := []byte("strategies: [{preset: auto-compact/167k, set: {full-compact.trigger.fixed: {from: 60000, to: 159000, step: 1000}}}]\nserver: {lookback: [20, 21]}")
	r := scenariostest.Registry(b)
	for b.Loop() {
		f, err := Parse(r, text, "b.yaml")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Expand(); err != nil {
			b.Fatal(err)
		}
	}
}
