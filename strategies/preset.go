package strategies

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
)

// presetFile is a preset as written in YAML.
type presetFile struct {
	Name      string      `yaml:"name"`
	Doc       string      `yaml:"doc"`
	Rank      int         `yaml:"rank"` // place in lists, smallest first
	Layers    []layerFile `yaml:"layers"`
	Exclusive [][]string  `yaml:"exclusive"` // layers of which one bars the others
}

// layerFile is a layer by name with its parameters, or first_of with a list of
// layers of which the first that acts bars the rest.
type layerFile map[string]spec.Lazy

const firstOf = "first_of"

// maxLayers is how many layers a preset may have: as many as bars have bits.
const maxLayers = 64

// AddPreset reads one preset from the YAML file called name. All problems are
// reported at once, with file and line.
func (r *Registry) AddPreset(text []byte, name string) error {
	var f presetFile
	if err := spec.Decode(text, name, &f); err != nil {
		return err
	}
	p := presetReader{registry: r, file: name}
	p.layers(f.Layers, 0)
	p.exclusive(f.Exclusive)
	if f.Name == "" {
		p.problem("preset has no name")
	}
	if len(p.found) > maxLayers {
		p.problem("%d layers, at most %d are possible", len(p.found), maxLayers)
	}
	if len(p.errs) > 0 {
		return errors.Join(p.errs...)
	}
	s := &Strategy{Name: f.Name, Doc: strings.TrimSpace(f.Doc), rank: f.Rank, layers: p.found, exclusive: f.Exclusive}
	if r.presets == nil {
		r.presets = map[string]*Strategy{}
	}
	if _, dup := r.presets[s.Name]; !dup {
		r.order = append(r.order, s.Name)
	}
	r.presets[s.Name] = s
	return nil
}

// presetReader gathers the layers of a preset and what is wrong with it.
type presetReader struct {
	registry *Registry
	file     string
	found    []configured
	groups   int
	errs     []error
}

func (p *presetReader) problem(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(p.file+": "+format, args...))
}

// layers reads a list of layers into a group, 0 for none.
func (p *presetReader) layers(list []layerFile, group int) {
	for _, entry := range list {
		if len(entry) != 1 {
			p.problem("a layer is one key with its parameters, not %d", len(entry))
			continue
		}
		for key, body := range entry {
			switch {
			case key == firstOf && group > 0:
				p.problem("%s inside %s", firstOf, firstOf)
			case key == firstOf:
				p.group(&body)
			default:
				p.layer(key, &body, group)
			}
		}
	}
}

func (p *presetReader) group(body *spec.Lazy) {
	var list []layerFile
	if err := body.Decode(&list); err != nil {
		p.errs = append(p.errs, spec.Errors(p.file, err, &list))
		return
	}
	if len(list) < 2 {
		p.problem("%s wants at least two layers", firstOf)
	}
	p.groups++
	p.layers(list, p.groups)
}

func (p *presetReader) layer(key string, body *spec.Lazy, group int) {
	if p.index(key) >= 0 {
		p.problem("layer %s stands twice", key)
		return
	}
	c, err := p.registry.configure(p.file, key, body)
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	c.group = group
	p.found = append(p.found, c)
}

func (p *presetReader) index(name string) int {
	return slices.IndexFunc(p.found, func(c configured) bool { return c.def.Name == name })
}

// exclusive checks that lists of exclusive layers name layers of the preset.
func (p *presetReader) exclusive(lists [][]string) {
	for _, list := range lists {
		if len(list) < 2 {
			p.problem("exclusive: %v wants at least two layers", list)
		}
		for _, name := range list {
			if p.index(name) < 0 && len(p.errs) == 0 {
				p.problem("exclusive: no layer %q in this preset%s", name, nearest.Hint(name, p.registry.Layers()))
			}
		}
	}
}

// configure decodes the parameters of one layer and checks that it can be
// built.
func (r *Registry) configure(file, key string, body *spec.Lazy) (configured, error) {
	def, ok := r.layers[key]
	if !ok {
		return configured{}, fmt.Errorf("%s: unknown layer %q%s", file, key, nearest.Hint(key, r.Layers()))
	}
	params := def.Params()
	if err := body.Decode(params); err != nil {
		return configured{}, spec.Errors(file, err, params)
	}
	if _, err := def.Build(params); err != nil {
		return configured{}, within(fmt.Sprintf("%s: layer %s: ", file, key), err)
	}
	return configured{def: def, params: params}, nil
}

// within puts a place ahead of each of several joined errors.
func within(place string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s%w", place, err)
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, fmt.Errorf("%s%w", place, e))
	}
	return errors.Join(all...)
}
