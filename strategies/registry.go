package strategies

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/nearest"
)

// Definition is a kind of layer that presets can name: its typed parameters
// with their defaults, what it can do, and how to build it.
type Definition struct {
	Name   string
	Doc    string
	Traits Traits
	Params func() any             // pointer to a fresh copy of the default parameters
	Build  func(params any) Layer // takes what Params returned, set by a preset
}

// Traits say what a layer can do, as others need to know it. A layer that declares none
// may do anything.
type Traits struct {
	Declared bool // the fields below are filled in
	Replays  bool // carries out what the recording did
	Draws    bool // leaves something to chance, by itself or by what a summariser answers
	Compacts bool // replaces messages by something smaller
	Clears   bool // clears tool results or thinking, or puts them to disk
	// Polls are the parameters that the layer reads through Turn.Check and polls alone: a simulation under one
	// value stands for other values as long as these answer the same.
	Polls []string
}

// triggered is implemented by parameters of a layer that acts at a level.
type triggered interface{ Fires() *Trigger }

// limited is implemented by parameters that, besides their trigger, have to fit the
// window.
type limited interface{ ValidateFor(*Reading) []error }

// Switch turns a layer on or off. Parameters embed it inline; a layer that is
// off is as if the preset did not name it.
type Switch struct {
	Enabled bool `yaml:"enabled" doc:"off, the layer does nothing"`
}

// On reports whether the layer is on.
func (s Switch) On() bool { return s.Enabled }

var on = Switch{Enabled: true}

// Define makes a Definition from default parameters of type P, a struct with YAML tags. A
// method Rules() []error of *P returns contradictions between them.
func Define[P any](name, doc string, defaults P, build func(P) Layer) Definition {
	return Definition{
		Name: name,
		Doc:  doc,
		Params: func() any {
			p := defaults
			return &p
		},
		Build: func(params any) Layer { return build(*params.(*P)) },
	}
}

// with returns the definition with its traits.
func (d Definition) with(t Traits) Definition {
	t.Declared = true
	d.Traits = t
	return d
}

// Registry knows layers by name and the presets made from layers. It is a value: add a definition
// to use a layer of one's own.
type Registry struct {
	layers  map[string]Definition
	presets map[string]listed
}

//go:embed presets
var presetFiles embed.FS

// Builtin returns a registry with the layers and presets of this package, which are read once.
func Builtin() (*Registry, error) {
	r, err := readBuiltin()
	if err != nil {
		return nil, err
	}
	return &Registry{layers: maps.Clone(r.layers), presets: maps.Clone(r.presets)}, nil
}

var readBuiltin = sync.OnceValues(func() (*Registry, error) {
	r := &Registry{}
	for _, d := range []Definition{
		recordedDefinition, truncateDefinition, compactDefinition, microcompactDefinition, clearDefinition, distilDefinition, sessionMemoryDefinition,
		toolStorageDefinition, timeClearDefinition, cachedClearDefinition, apiContextDefinition, serverHintDefinition,
		keepaliveDefinition,
		memoryDefinition, dreamDefinition, suggestionDefinition, speculationDefinition,
		agentsDefinition, agentSummaryDefinition, messagesDefinition,
	} {
		if err := r.Define(d); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, pattern := range []string{"presets/*.yaml", "presets/*/*.yaml"} {
		found, err := fs.Glob(presetFiles, pattern)
		if err != nil {
			return nil, fmt.Errorf("list presets: %w", err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		text, err := presetFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read preset: %w", err)
		}
		r.addLater(text, path.Base(name), path.Base(path.Dir(name)))
	}
	return r, nil
})

// Define adds a kind of layer. A name that is taken is an error.
func (r *Registry) Define(d Definition) error {
	if _, taken := r.layers[d.Name]; taken {
		return fmt.Errorf("layer %s is defined already", d.Name)
	}
	if r.layers == nil {
		r.layers = map[string]Definition{}
	}
	r.layers[d.Name] = d
	return nil
}

// Definition returns the kind of layer with a name, false when there is none.
func (r *Registry) Definition(name string) (Definition, bool) {
	d, ok := r.layers[name]
	return d, ok
}

// Layers returns the names of all known layers, sorted.
func (r *Registry) Layers() []string { return slices.Sorted(maps.Keys(r.layers)) }

// Presets returns the names of all presets in the order they are listed.
func (r *Registry) Presets() []string {
	var names []string
	for _, l := range r.inOrder(func(*listed) bool { return true }) {
		names = append(names, l.name)
	}
	return names
}

// inOrder returns some of the presets in the order they are listed.
func (r *Registry) inOrder(wanted func(*listed) bool) (list []listed) {
	for _, l := range r.presets {
		if wanted(&l) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	return list
}

// Strategy returns the preset with a name; an unknown one is an error that
// names the nearest.
func (r *Registry) Strategy(name string) (*Strategy, error) {
	if l, ok := r.presets[name]; ok {
		return l.strategy()
	}
	names := r.Presets()
	hint := nearest.Like(name, names)
	if hint == "" {
		hint = ": sim strategies ls lists them"
	}
	if family, size, sized := strings.Cut(name, "/"); sized && thousands.MatchString(size) {
		for _, near := range names {
			if of, own, _ := strings.Cut(near, "/"); of == family && thousands.MatchString(own) {
				hint += "; for a threshold of your own: --strategy " + near + " --set full-compact.trigger.fixed=" + strings.TrimSuffix(size, "k") + "000"
				break
			}
		}
	}
	return nil, fmt.Errorf("unknown strategy %q%s", name, hint)
}

// thousands are the names of presets by their threshold, thousands of tokens.
var thousands = regexp.MustCompile(`^[1-9][0-9]{0,4}k$`)
