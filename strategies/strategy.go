package strategies

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// Strategy is a way of managing a context: configured layers in the order
// their hooks are called. It is immutable and shared by all threads.
type Strategy struct {
	Name string
	Doc  string
	// Group is the kind of program a preset is from, for lists: agents, libraries, papers; "" for
	// Claude Code's presets and this program's own.
	Group  string
	Origin Origin
	// Generation says whose client the strategy is; the zero value for none.
	Generation Generation

	client    *yaml.Node // the client half: keys of client and levels of a scenario; nil for none
	rank      int
	layers    []configured
	exclusive [][]string
	own       []*Strategy // the generations that it is made of, nil for a strategy of its own layers
}

type configured struct {
	def    Definition
	params any        // pointer to the parameters; nil for a layer the caller built
	group  int        // first_of group it belongs to, 0 for none
	given  *yaml.Node // the parameters that were given, in a strategy of generations
}

// on reports whether the layer is switched on.
func (c *configured) on() bool {
	s, ok := c.params.(interface{ On() bool })
	return !ok || s.On()
}

// trigger returns what the layer acts on, nil for one that acts without a level.
func (c *configured) trigger() *Trigger {
	if p, ok := c.params.(triggered); ok {
		return p.Fires()
	}
	return nil
}

// NewStrategy returns a strategy from layers built by the caller. Each thread gets a clone of the
// layers.
func NewStrategy(name, doc string, layers ...Layer) *Strategy {
	s := &Strategy{Name: name, Doc: doc}
	for _, l := range layers {
		s.layers = append(s.layers, configured{def: Definition{
			Name:  l.Name(),
			Build: func(any) Layer { return l.Clone() },
		}})
	}
	return s
}

// active returns the layers that are switched on. A strategy of generations has
// none itself.
func (s *Strategy) active() []configured {
	var list []configured
	if s.own != nil {
		return nil
	}
	for _, c := range s.layers {
		if c.on() {
			list = append(list, c)
		}
	}
	return list
}

// Layers returns a fresh set of the strategy's layers for one thread, without layers that are
// switched off.
func (s *Strategy) Layers() []Layer {
	active := s.active()
	layers := make([]Layer, len(active))
	for i, c := range active {
		layers[i] = c.def.Build(c.params)
	}
	return layers
}

// Bars returns for each of Layers, as bits by index, the layers that are not
// asked before a request once it has changed the context: those after it in
// a first_of group, and those it excludes.
func (s *Strategy) Bars() []uint64 {
	active := s.active()
	bars := make([]uint64, len(active))
	for i, a := range active {
		for j, b := range active {
			behind := a.group > 0 && a.group == b.group && j > i
			if i != j && (behind || s.excludes(a.def.Name, b.def.Name)) {
				bars[i] |= 1 << j
			}
		}
	}
	return bars
}

func (s *Strategy) excludes(a, b string) bool {
	return slices.ContainsFunc(s.exclusive, func(list []string) bool {
		return slices.Contains(list, a) && slices.Contains(list, b)
	})
}

// LayerNames returns the names of the layers that are switched on, in order.
func (s *Strategy) LayerNames() []string {
	var names []string
	for _, c := range s.active() {
		names = append(names, c.def.Name)
	}
	return names
}

// Shortens reports whether the strategy is one that shortens contexts, though a setting
// may have switched that layer off; a replay of the recording is none.
func (s *Strategy) Shortens() bool {
	return slices.ContainsFunc(s.layers, func(c configured) bool {
		t := c.def.Traits
		return !t.Replays && (t.Compacts || t.Clears)
	})
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

// Traits returns what the layer with a name can do.
func (s *Strategy) Traits(layer string) Traits {
	for _, c := range s.layers {
		if c.def.Name == layer {
			return c.def.Traits
		}
	}
	return Traits{}
}

// Threshold is the level at which a layer acts under given limits.
type Threshold struct {
	Layer   string
	Measure Measure
	Value   int64
}

// Thresholds returns the levels at which the strategy's layers act, in order of
// the layers. Layers that act without one are left out.
func (s *Strategy) Thresholds(r *Reading) []Threshold {
	var list []Threshold
	for _, c := range s.active() {
		if tr := c.trigger(); tr != nil {
			if v, ok := tr.Value(r); ok {
				list = append(list, Threshold{c.def.Name, tr.Measure, v})
			}
		}
	}
	return list
}

// ValidateFor returns what is wrong with the strategy under given limits, all
// at once: thresholds that are always reached, or never within the window.
func (s *Strategy) ValidateFor(r *Reading) error {
	var errs []error
	for _, c := range s.active() {
		var found []error
		if tr := c.trigger(); tr != nil {
			for _, err := range tr.ValidateFor(r) {
				found = append(found, fmt.Errorf("trigger: %w", err))
			}
		}
		if p, ok := c.params.(limited); ok {
			found = append(found, p.ValidateFor(r)...)
		}
		for _, err := range found {
			errs = append(errs, fmt.Errorf("strategy %s: layer %s: %w", s.Name, c.def.Name, err))
		}
	}
	return errors.Join(errs...)
}
