package strategies

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// What a parameter needs is a parameter of the same section.
func TestNeedsAreParameters(t *testing.T) {
	r := builtin(t)
	for _, name := range r.Layers() {
		params := r.layers[name].Params()
		spec.Fields(params, func(f *spec.Field) {
			beside, _, _ := strings.Cut("."+f.Path, f.Path[strings.LastIndexByte(f.Path, '.')+1:])
			for need := range strings.SplitSeq(f.Needs, "|") {
				path, _, _ := strings.Cut(need, "=")
				keys := strings.Split(strings.Trim(beside+path, "."), ".")
				if err := spec.CheckPath(params, keys...); f.Needs != "" && err != nil {
					t.Errorf("%s.%s: %v", name, f.Path, err)
				}
			}
		})
	}
}

// Every layer declares its traits.
func TestTraitsAreDeclared(t *testing.T) {
	r := builtin(t)
	for _, name := range r.Layers() {
		if !r.layers[name].Traits.Declared {
			t.Errorf("%s declares no traits", name)
		}
	}
}
