package strategies

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"sort"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/yamlx"
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
	order   []string
}

//go:embed presets/*.yaml
var presetFiles embed.FS

// Builtin returns a registry with the layers and presets of this package.
func Builtin() (*Registry, error) {
	r := &Registry{}
	for _, d := range []Definition{recordedDefinition, truncateDefinition, compactDefinition} {
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

// presetFile is a preset as written in YAML.
type presetFile struct {
	Name   string                  `yaml:"name"`
	Doc    string                  `yaml:"doc"`
	Rank   int                     `yaml:"rank"` // place in lists, smallest first
	Layers []map[string]yamlx.Lazy `yaml:"layers"`
}

// AddPreset reads one preset from the YAML file called name. All problems are
// reported at once, with file and line.
func (r *Registry) AddPreset(text []byte, name string) error {
	var f presetFile
	if err := yamlx.Decode(text, name, &f); err != nil {
		return err
	}
	s := &Strategy{Name: f.Name, Doc: strings.TrimSpace(f.Doc), rank: f.Rank}
	var errs []error
	for _, entry := range f.Layers {
		if len(entry) != 1 {
			errs = append(errs, fmt.Errorf("%s: a layer is one key with its parameters, not %d", name, len(entry)))
			continue
		}
		for key, body := range entry {
			c, err := r.configure(name, key, &body)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			s.layers = append(s.layers, c)
		}
	}
	if f.Name == "" {
		errs = append(errs, fmt.Errorf("%s: preset has no name", name))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if r.presets == nil {
		r.presets = map[string]*Strategy{}
	}
	if _, dup := r.presets[s.Name]; !dup {
		r.order = append(r.order, s.Name)
	}
	r.presets[s.Name] = s
	return nil
}

// configure decodes the parameters of one layer and checks that it can be
// built.
func (r *Registry) configure(file, key string, body *yamlx.Lazy) (configured, error) {
	def, ok := r.layers[key]
	if !ok {
		return configured{}, fmt.Errorf("%s: unknown layer %q%s", file, key, nearest.Hint(key, r.Layers()))
	}
	params := def.Params()
	if err := body.Decode(params); err != nil {
		return configured{}, yamlx.Errors(file, err, params)
	}
	if _, err := def.Build(params); err != nil {
		return configured{}, fmt.Errorf("%s: layer %s: %w", file, key, err)
	}
	return configured{def, params}, nil
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
	names := append([]string(nil), r.order...)
	sort.SliceStable(names, func(i, j int) bool {
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

// Strategy is a way of managing a context: configured layers in the order
// their hooks are called. It is immutable and shared by all threads.
type Strategy struct {
	Name   string
	Doc    string
	rank   int
	layers []configured
}

type configured struct {
	def    Definition
	params any
}

// NewStrategy returns a strategy from layers built by the caller. Each thread
// gets a clone of them.
func NewStrategy(name, doc string, layers ...Layer) *Strategy {
	s := &Strategy{Name: name, Doc: doc}
	for _, l := range layers {
		s.layers = append(s.layers, configured{def: Definition{
			Name:  l.Name(),
			Build: func(any) (Layer, error) { return l.Clone(), nil },
		}})
	}
	return s
}

// Layers returns a fresh set of the strategy's layers for one thread.
func (s *Strategy) Layers() ([]Layer, error) {
	layers := make([]Layer, len(s.layers))
	for i, c := range s.layers {
		l, err := c.def.Build(c.params)
		if err != nil {
			return nil, fmt.Errorf("strategy %s: layer %s: %w", s.Name, c.def.Name, err)
		}
		layers[i] = l
	}
	return layers, nil
}

// Params returns the parameters of the layer with a name as set by the preset,
// or nil.
func (s *Strategy) Params(layer string) any {
	for _, c := range s.layers {
		if c.def.Name == layer && c.params != nil {
			return reflect.ValueOf(c.params).Elem().Interface()
		}
	}
	return nil
}
