package strategies

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
)

// Definition is a kind of layer that presets can name: its typed parameters
// with their defaults, and how to build it from them.
type Definition struct {
	Name   string
	Doc    string
	Params func() any // pointer to a fresh copy of the default parameters
	Build  func(params any) (Layer, error)
}

// validator is implemented by parameters that can contradict each other.
type validator interface{ Validate() []error }

// limited is implemented by parameters whose sense depends on the window.
type limited interface{ ValidateFor(*Reading) []error }

// triggered is implemented by parameters of a layer that acts at a level.
type triggered interface{ Fires() *Trigger }

// Switch turns a layer on or off. Parameters embed it inline; a layer that is
// off is as if the preset did not name it.
type Switch struct {
	Enabled bool `yaml:"enabled" doc:"off, the layer is as if it were not there"`
}

// On reports whether the layer is on.
func (s Switch) On() bool { return s.Enabled }

var on = Switch{Enabled: true}

// Define makes a Definition from default parameters of type P.
func Define[P any](name, doc string, defaults P, build func(P) Layer) Definition {
	return Definition{
		Name: name,
		Doc:  doc,
		Params: func() any {
			p := defaults
			return &p
		},
		Build: func(params any) (Layer, error) {
			p := params.(*P)
			if v, ok := params.(validator); ok {
				if errs := v.Validate(); len(errs) > 0 {
					return nil, errors.Join(errs...)
				}
			}
			return build(*p), nil
		},
	}
}

// Registry knows layers by name and presets made of them. It is a value: add a
// definition to use a layer of one's own.
type Registry struct {
	layers  map[string]Definition
	presets map[string]*Strategy
}

//go:embed presets/*.yaml
var presetFiles embed.FS

// Builtin returns a registry with the layers and presets of this package.
func Builtin() (*Registry, error) {
	r := &Registry{}
	for _, d := range []Definition{
		recordedDefinition, truncateDefinition, compactDefinition, microcompactDefinition, sessionMemoryDefinition,
		toolStorageDefinition, timeClearDefinition, cachedClearDefinition, apiContextDefinition, serverHintDefinition,
		keepaliveDefinition,
		memoryDefinition, dreamDefinition, suggestionDefinition, speculationDefinition,
		agentsDefinition, agentSummaryDefinition, messagesDefinition,
	} {
		r.Define(d)
	}
	names, err := fs.Glob(presetFiles, "presets/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list presets: %w", err)
	}
	for _, name := range names {
		text, err := presetFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read preset: %w", err)
		}
		if err := r.AddPreset(text, path.Base(name)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Define adds a kind of layer; a later definition of the same name wins.
func (r *Registry) Define(d Definition) {
	if r.layers == nil {
		r.layers = map[string]Definition{}
	}
	r.layers[d.Name] = d
}

// Layers returns the names of all known layers, sorted.
func (r *Registry) Layers() []string {
	names := make([]string, 0, len(r.layers))
	for n := range r.layers {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Presets returns the names of all presets in the order they are listed.
func (r *Registry) Presets() []string {
	names := slices.Collect(maps.Keys(r.presets))
	sort.Slice(names, func(i, j int) bool {
		a, b := r.presets[names[i]], r.presets[names[j]]
		return a.rank < b.rank || a.rank == b.rank && a.Name < b.Name
	})
	return names
}

// Strategy returns the preset with a name; an unknown one is an error that
// names the nearest.
func (r *Registry) Strategy(name string) (*Strategy, error) {
	if s, ok := r.presets[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("unknown strategy %q%s; known: %s", name, nearest.Hint(name, r.Presets()), strings.Join(r.Presets(), ", "))
}
