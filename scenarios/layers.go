package scenarios

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
)

// layer is one layer within the body of a preset.
type layer struct{ key, params *yaml.Node }

// layersOf returns the layers below a body in order, those within groups
// included: a mapping of a name to a mapping is a layer, one of a name to a list
// a group.
func layersOf(body *yaml.Node) []layer {
	return collect(nil, spec.Child(body, "layers"))
}

func collect(dst []layer, list *yaml.Node) []layer {
	if list == nil || list.Kind != yaml.SequenceNode {
		return dst
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(item.Content); i += 2 {
			if value := item.Content[i+1]; value.Kind == yaml.SequenceNode {
				dst = collect(dst, value)
			} else {
				dst = append(dst, layer{item.Content[i], value})
			}
		}
	}
	return dst
}

// layers checks the parameters of all layers of e, finds their axes and writes
// every default.
func (x *expansion) layers(e *entry) {
	if list := spec.Child(e.body, "layers"); list != nil && list.Kind != yaml.SequenceNode {
		x.errorf(list, "layers takes a list of layers with their parameters")
		return
	}
	before := len(x.errs)
	for _, l := range layersOf(e.body) {
		def, ok := x.registry.Definition(l.key.Value)
		if !ok {
			known := x.registry.Layers()
			x.errorf(l.key, "unknown layer %q%s; known: %s", l.key.Value, nearest.Hint(l.key.Value, known), strings.Join(known, ", "))
			continue
		}
		c := spec.Checker{Tree: x.tree, Sweep: true}
		c.Check(l.params, def.Params(), l.key.Value)
		x.errs = append(x.errs, c.Errs...)
		e.axes = append(e.axes, c.Axes...)
	}
	slices.SortStableFunc(e.axes, func(a, b spec.Axis) int { return strings.Compare(a.Path, b.Path) })
	e.short = shortNames(e.axes)
	if len(x.errs) == before {
		x.complete(e)
	}
}

// complete makes the strategy under every combination of its axes, writes the
// defaults of all parameters into the body of e and moves the axes to their
// places there.
func (x *expansion) complete(e *entry) {
	before := len(x.errs)
	x.combine(e.axes, func(chosen []int) {
		v := variant{params: e.params(chosen)}
		var err error
		if v.strategy, err = x.compose(e, v.params); err != nil {
			x.once(err)
			return
		}
		e.variants = append(e.variants, v)
	})
	// A problem that another strategy has too is reported once, for both.
	if len(x.errs) > before || len(e.variants) == 0 {
		return
	}
	if err := e.take(e.variants[0].strategy); err != nil {
		x.errorf(e.node, "%w", err)
		return
	}
	for i := range e.axes {
		a := &e.axes[i]
		keys := strings.Split(a.Path, ".")
		for _, l := range layersOf(e.body) {
			if l.key.Value != keys[0] {
				continue
			}
			if err := x.tree.Put(l.params, spec.Clone(a.Values[0]), keys[1:]...); err != nil {
				x.errorf(e.node, "%w", err)
			}
			a.Node = spec.Find(l.params, keys[1:]...)
		}
	}
}

// params returns the names and values of a combination of axes.
func (e *entry) params(chosen []int) [][2]string {
	var params [][2]string
	for i, a := range e.axes {
		params = append(params, [2]string{e.short[a.Path], a.Texts[chosen[i]]})
	}
	return params
}

// notePlaces notes where the layers of a scenario's own give parameters.
func (x *expansion) notePlaces(e *entry) {
	var note func(n *yaml.Node, path string)
	note = func(n *yaml.Node, path string) {
		e.place[path] = x.tree.At(n)
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			note(n.Content[i+1], spec.Join(path, n.Content[i].Value))
		}
	}
	for _, l := range layersOf(e.body) {
		note(l.params, l.key.Value)
	}
}

// shortNames names axes without their layer where that tells them apart.
func shortNames(axes []spec.Axis) map[string]string {
	uses := map[string]int{}
	rest := func(path string) string {
		_, r, _ := strings.Cut(path, ".")
		return r
	}
	for _, a := range axes {
		uses[rest(a.Path)]++
	}
	names := map[string]string{}
	for _, a := range axes {
		if r := rest(a.Path); uses[r] == 1 {
			names[a.Path] = r
		} else {
			names[a.Path] = a.Path
		}
	}
	return names
}
