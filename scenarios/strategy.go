package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
)

// strategyKeys are the keys that a strategy of a scenario may have when it is a mapping, besides
// the keys of a preset file's body: layers and what orders them.
func strategyKeys() []string { return []string{"name", "doc", "preset", "set"} }

// entry is one strategy of a scenario: the body of a preset file with its axes.
type entry struct {
	node  *yaml.Node // where the scenario names it
	name  string
	doc   string
	body  *yaml.Node // mapping of the keys of a preset file, every parameter written
	axes  []spec.Axis
	short map[string]string // names of axes by path
	place map[string]string // where the scenario gives a parameter, by path
	given [][2]string       // what overrides set, for messages

	variants []variant // the strategy under every combination of axes
}

// expansion is the work of turning one file into cells.
type expansion struct {
	file     *File
	registry *strategies.Registry
	tree     *spec.Tree
	checker  *spec.Checker // has read the tree
	errs     []error
}

func (x *expansion) errorf(n *yaml.Node, format string, args ...any) {
	x.errs = append(x.errs, x.tree.Errorf(n, format, args...))
}

// entry reads one strategy, nil when it cannot be used.
func (x *expansion) entry(n *yaml.Node) *entry {
	e := &entry{node: n, place: map[string]string{}}
	before := len(x.errs)
	var ok bool
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		e.name = n.Value
		ok = x.preset(e, n)
	case n.Kind == yaml.MappingNode:
		ok = x.mapping(e)
	default:
		x.errorf(n, "a strategy is the name of a preset or a mapping with one of preset and layers")
	}
	if !ok || e.body == nil {
		return nil
	}
	if x.refuseReserved(e); len(x.errs) > before {
		return nil
	}
	if err := x.overrides(e); err != nil {
		x.errs = append(x.errs, err)
	}
	x.layers(e)
	if len(x.errs) > before {
		return nil
	}
	return e
}

// refuseReserved refuses another strategy under the name of a reference.
func (x *expansion) refuseReserved(e *entry) {
	switch e.name {
	case measures.StrategyBilled:
		x.errorf(e.node, "billed is what the sessions were billed, no strategy: choose another name")
	case measures.StrategyRecorded:
		if !slices.ContainsFunc(layersOf(e.body), func(l layer) bool { return l.key.Value == standard.Recorded }) {
			x.errorf(e.node, "recorded is what others are compared with and needs the layer recorded: choose another name")
		}
	}
}

// preset takes the body of the preset that n names.
func (x *expansion) preset(e *entry, n *yaml.Node) bool {
	if n.Value == measures.StrategyBilled {
		return true
	}
	s, err := x.registry.Strategy(n.Value)
	if err != nil {
		x.errorf(n, "%w", err)
		return false
	}
	if why := s.Origin.NotRun; why != "" {
		x.errorf(n, "%s is not run: %s", n.Value, why)
		return false
	}
	if err := e.take(s); err != nil {
		x.errorf(n, "%w", err)
		return false
	}
	e.doc = s.Doc
	return true
}

// take makes the layers of a strategy, with every parameter written out, the body of e.
func (e *entry) take(s *strategies.Strategy) error {
	n, err := s.Node()
	if err != nil {
		return err
	}
	e.body = without(n, strategies.HeadKeys()...)
	return nil
}

// without returns a mapping without some of its keys.
func without(n *yaml.Node, keys ...string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(keys, n.Content[i].Value) {
			out.Content = append(out.Content, n.Content[i], n.Content[i+1])
		}
	}
	return out
}

// mapping reads a strategy written as a mapping.
func (x *expansion) mapping(e *entry) bool {
	n := e.node
	before := len(x.errs)
	once := spec.Checker{Tree: x.tree} // reports duplicate keys
	once.Check(n, map[string]yaml.Node{}, "strategy")
	x.errs = append(x.errs, once.Errs...)
	child := func(key string) *yaml.Node { return spec.Child(n, key) }
	e.name = x.text(child("name"))
	preset, set := child("preset"), child("set")
	body := without(n, strategyKeys()...)
	for i := 0; i+1 < len(body.Content); i += 2 {
		key := body.Content[i]
		if known := strategies.BodyKeys(); !slices.Contains(known, key.Value) {
			x.errorf(key, "unknown key %q%s", key.Value, nearest.Hint(key.Value, append(known, strategyKeys()...)))
		}
	}
	switch {
	case preset == nil && child("layers") == nil:
		x.errorf(n, "a strategy needs preset or layers")
	case preset != nil && len(body.Content) > 0:
		x.errorf(preset, "preset %s contradicts %s in line %d: give one", preset.Value, body.Content[0].Value, body.Content[0].Line)
	case preset == nil && set != nil:
		x.errorf(set, "set changes a preset and there is none: write the values into layers")
	case preset != nil:
		if e.name == "" {
			e.name = preset.Value
		}
		x.preset(e, preset)
	default:
		e.body = body
		x.notePlaces(e)
	}
	if e.name == "" && len(x.errs) == before {
		x.errorf(n, "a strategy with layers of its own needs a name")
	}
	if doc := x.text(child("doc")); doc != "" {
		e.doc = doc
	}
	if set != nil && e.body != nil {
		if child("doc") == nil {
			e.doc = "" // the preset's text may no longer be true
		}
		x.set(e, set)
	}
	return len(x.errs) == before
}

func (x *expansion) text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		x.errorf(n, "want a text")
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// set applies changes to a preset's parameters.
func (x *expansion) set(e *entry, set *yaml.Node) {
	if set.Kind != yaml.MappingNode {
		x.errorf(set, "set takes parameters and values, such as full-compact.trigger.fixed: 120000")
		return
	}
	for i := 0; i+1 < len(set.Content); i += 2 {
		key, value := set.Content[i], set.Content[i+1]
		if _, err := x.change(e, strings.Split(key.Value, "."), value); err != nil {
			x.errorf(key, "%w", err)
		}
	}
}

// overrides applies what was set from outside the file.
func (x *expansion) overrides(e *entry) error {
	var errs []error
	for _, o := range x.file.overrides {
		if o.name != "" && o.name != e.name {
			continue
		}
		done, err := x.change(e, o.keys, o.value)
		if done {
			e.given = append(e.given, [2]string{"--set " + strings.Join(o.keys, "."), spec.Flow(o.value)})
		}
		if err != nil && (done || o.name != "") {
			errs = append(errs, fmt.Errorf("%s: %w", o.origin, err))
		}
	}
	return errors.Join(errs...)
}

// change puts a value into the parameters of every layer keys[0] of e and
// reports whether e has that layer.
func (x *expansion) change(e *entry, keys []string, value *yaml.Node) (bool, error) {
	path := strings.Join(keys, ".")
	x.ownLayer(e, keys[0])
	var names, paths []string
	var errs []error
	found := false
	for _, l := range layersOf(e.body) {
		def, ok := x.registry.Definition(l.key.Value)
		if !ok {
			continue
		}
		names = append(names, l.key.Value)
		for _, p := range spec.Paths(def.Params()) {
			paths = append(paths, l.key.Value+"."+p)
		}
		if l.key.Value != keys[0] {
			continue
		}
		found = true
		if len(keys) == 1 || spec.CheckPath(def.Params(), keys[1:]...) != nil {
			errs = append(errs, fmt.Errorf("unknown parameter %q%s", path, nearest.Hint(path, paths)))
			continue
		}
		e.place[path] = x.tree.At(value)
		v := spec.Clone(value)
		if origin := x.tree.At(value); value.Line == 0 || !strings.HasPrefix(origin, x.tree.Name+":") {
			x.tree.Mark(v, origin)
		}
		errs = append(errs, x.tree.Put(l.params, v, keys[1:]...))
	}
	if !found {
		hint := nearest.Hint(path, paths)
		return false, fmt.Errorf("%s has no layer %q%s; its layers: %s", e.name, keys[0], hint, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return true, errors.Join(errs...)
}

// ownLayer adds a layer without parameters to a strategy of generations if one
// of these has the layer.
func (x *expansion) ownLayer(e *entry, name string) {
	if own := spec.Child(e.body, "own"); own == nil || own.Value != "true" {
		return
	}
	has := slices.ContainsFunc(x.registry.Generations(), func(g *strategies.Strategy) bool { return g.Params(name) != nil })
	listed := slices.ContainsFunc(layersOf(e.body), func(l layer) bool { return l.key.Value == name })
	list := spec.Child(e.body, "layers")
	if !has || listed || list == nil {
		return
	}
	list.Style = 0
	list.Content = append(list.Content, &yaml.Node{
		Kind: yaml.MappingNode, Tag: "!!map",
		Content: []*yaml.Node{spec.Text(name), {Kind: yaml.MappingNode, Tag: "!!map"}},
	})
}

// layer is one layer within the body of a preset.
type layer struct{ key, params *yaml.Node }

// layersOf returns the layers of a body in order, including those within
// groups. A name with a mapping is a layer, a name with a list is a group.
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
// out every default.
func (x *expansion) layers(e *entry) {
	if list := spec.Child(e.body, "layers"); list != nil && list.Kind != yaml.SequenceNode {
		x.errorf(list, "layers takes a list of layers with their parameters")
		return
	}
	before := len(x.errs)
	for _, l := range layersOf(e.body) {
		def, ok := x.registry.Definition(l.key.Value)
		if !ok {
			x.errorf(l.key, "unknown layer %q%s", l.key.Value, nearest.Among(l.key.Value, x.registry.Layers()))
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
	// A problem that another strategy shares is reported once, for both.
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

// params returns the names and values of one combination of axes.
func (e *entry) params(chosen []int) [][2]string {
	var params [][2]string
	for i, a := range e.axes {
		params = append(params, [2]string{e.short[a.Path], a.Texts[chosen[i]]})
	}
	return params
}

// notePlaces notes where the scenario gives the parameters of layers.
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

// shortNames names axes without their layer if that is unambiguous.
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
