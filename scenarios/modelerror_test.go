package scenarios

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// The model error is that of the sessions as they were: a setting that asks what
// would have been does not change it, nor does the order of a sweep.
func TestModelErrorIsOfTheSessionsAsTheyWere(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	errorOf := func(assignment string) results.ModelError {
		f, err := NewFile(registry, Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Choose("test", []string{results.StrategyRecorded}); err != nil {
			t.Fatal(err)
		}
		if assignment != "" {
			if err := f.Assign(assignment); err != nil {
				t.Fatal(err)
			}
		}
		d, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		plan := Plan{Registry: registry, Prices: prices, Design: d}
		run, err := plan.Run(context.Background(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		return run.ModelError
	}
	want := errorOf("")
	for _, assignment := range []string{"client.env.DISABLE_PROMPT_CACHING=1", "server.max_markers=[1,4]", "server.max_markers=[4,1]"} {
		if got := errorOf(assignment); got != want {
			t.Errorf("%s: %+v, want %+v", assignment, got, want)
		}
	}
	if none := errorOf("profile=none"); none == want {
		t.Error("the plain cache model has the error of the profile")
	}
}
