package scenarios

import (
	"context"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// Compactions do not depend on the workers, and equal the compactions in the rows.
func TestChains(t *testing.T) {
	p, corpus := &Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t)}, scenariostest.Samples(t)
	p.Strategies = []string{"auto-compact/167k", "none"}
	var first []studies.Chains
	for _, workers := range []int{1, 4} {
		p.Workers = workers
		run, list, err := p.Chains(context.Background(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			c := &list[i]
			if total := run.Reference(c.Strategy).Total; len(c.Compactions) != total.N(measures.Compactions) {
				t.Errorf("%s: %d compactions, the row has %d", c.Cell, len(c.Compactions), total.N(measures.Compactions))
			}
			if first != nil && !slices.Equal(c.Compactions, first[i].Compactions) {
				t.Errorf("%s: %d workers give other compactions", c.Cell, workers)
			}
		}
		first = list
	}
}
