package ablate

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// The mechanisms of own are the mechanisms of the generations that sessions run under: a session
// of Claude Code 2.1.42 has full-compact's and microcompact's, and none of a layer that only
// presets of other agents have.
func TestAblateOwn(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenarios.Parse(registry, []byte("strategies: [own]"), "scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Of(file)
	if err != nil {
		t.Fatal(err)
	}
	all := len(a.Changes)
	corpus := scenariostest.Samples(t)
	a.drop(corpus.Sessions)
	has := map[string]bool{}
	for _, c := range a.Changes {
		layer, _, _ := strings.Cut(c.Path, ".")
		has[layer] = true
	}
	for _, layer := range []string{"full-compact", "microcompact", "client", "server"} {
		if !has[layer] {
			t.Errorf("no mechanism of %s among %d", layer, len(a.Changes))
		}
	}
	if len(a.Changes) == 0 || len(a.Changes) >= all {
		t.Errorf("%d of %d changes are left: other agents' are to go", len(a.Changes), all)
	}
	if cells := len(a.Design.Cells) - 2; cells != len(a.Changes) { // recorded and own
		t.Errorf("%d cells for %d changes", cells, len(a.Changes))
	}
}
