package advise

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
)

// Advice about sessions that a store has is kept there: asked again, with a context in which nothing can be simulated, it is the
// same to the last figure. Another seed, other sessions or a corpus in memory ask anew.
func TestAdviceIsKept(t *testing.T) {
	t.Parallel()
	c := scenariostest.Made(t, 8)
	ask := func(ctx context.Context, seed uint64, c *traces.Corpus) (*Advice, error) {
		return Run(ctx, adviserOf(t, seed).Plan, c)
	}
	memory, err := ask(t.Context(), 1, c)
	if err != nil {
		t.Fatal(err)
	}
	c, kept := scenariostest.Stored(t, c)
	c.Keep(kept, nil)
	first, err := ask(t.Context(), 1, c)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := ask(gone, 1, c)
	if err != nil {
		t.Fatalf("the advice is not kept: %v", err)
	}
	if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(memory, first) {
		t.Error("kept advice is other advice")
	}
	for _, one := range again.Agents {
		for _, change := range slices.Concat(one.Changes, one.Open) {
			if change.taken != nil {
				t.Error("all calls under a change are kept with it")
			}
		}
	}
	if _, err := ask(gone, 2, c); err == nil {
		t.Error("advice by another seed was taken for it")
	}
	c.Sessions = c.Sessions[1:]
	if _, err := ask(gone, 1, c); err == nil {
		t.Error("advice about more sessions was taken for it")
	}
}
