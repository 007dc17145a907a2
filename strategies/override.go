package strategies

import (
	"fmt"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// Definition returns the kind of layer with a name, false when there is none.
func (r *Registry) Definition(name string) (Definition, bool) {
	d, ok := r.layers[name]
	return d, ok
}

// Compose makes a strategy from a mapping of the keys of a preset file, without
// adding it to the presets. Doc and rank in it do not matter. Errors begin with
// where.
func (r *Registry) Compose(name string, body *yaml.Node, where string) (*Strategy, error) {
	n := spec.Clone(body)
	tree := spec.Tree{Name: where, Root: n}
	if err := tree.Put(n, spec.Text(name), "name"); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("%s: encode strategy %s: %w", where, name, err)
	}
	own := &Registry{layers: r.layers}
	if err := own.AddPreset(text, where); err != nil {
		return nil, err
	}
	return own.Strategy(name)
}

// BodyKeys returns the keys of a preset file beside those that name and describe
// it: what its layers are and how they go together.
func BodyKeys() []string {
	var keys []string
	for _, key := range spec.Keys(reflect.TypeFor[presetFile]()) {
		if key != "name" && key != "doc" && key != "rank" {
			keys = append(keys, key)
		}
	}
	return keys
}
