package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// A strategy composed of what a preset writes about itself is the preset, and
// is not added to the registry.
func TestComposeIsTheInverseOfYAML(t *testing.T) {
	r := builtin(t)
	before := r.Presets()
	for _, name := range before {
		preset, err := r.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := preset.YAML()
		if err != nil {
			t.Fatal(err)
		}
		tree, err := spec.Parse(text, "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Compose("composed", tree.Root, "here")
		if err != nil {
			t.Fatal(err)
		}
		if diff := preset.Diff(s); len(diff) > 0 || s.Name != "composed" {
			t.Errorf("%s composed is %s with %v", name, s.Name, diff)
		}
	}
	if got := r.Presets(); !slices.Equal(got, before) {
		t.Errorf("presets %v, were %v", got, before)
	}
}

func TestComposeSaysWhere(t *testing.T) {
	tree, err := spec.Parse([]byte("layers: [{full-compact: {breaker: -1}}]"), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := builtin(t).Compose("x", tree.Root, "s.yaml:7"); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:7: ") {
		t.Errorf("error %v", err)
	}
}

func TestBodyKeys(t *testing.T) {
	if got := BodyKeys(); !slices.Equal(got, []string{"layers", "exclusive", "generation", "client", "own"}) {
		t.Errorf("keys %v: a scenario takes these beside its own", got)
	}
}
