package scenarios

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/users"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// File is a scenario as written, with lists where parameters are swept. It can
// be changed before it is expanded into cells.
type File struct {
	// Builtin says that the text comes with the program, so that Unmet names only
	// settings from flags.
	Builtin bool

	registry  *strategies.Registry
	tree      *spec.Tree
	overrides []override
	first     bool // Expand takes the first value of every axis
}

// override sets a parameter of a layer in the strategy called name, or with an
// empty name in every strategy that has the layer.
type override struct {
	name   string
	keys   []string // the layer and the path of its parameter
	value  *yaml.Node
	origin string
}

// Parse reads the scenario file called name, or the scenario to which keys of the file lead. It returns an error
// only for text that is not one YAML mapping. Expand finds what is wrong with the content,
// including what Set changed.
func Parse(registry *strategies.Registry, text []byte, name string, keys ...string) (*File, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	if n := spec.Find(tree.Root, keys...); n != nil {
		tree.Root = n
	}
	if tree.Root.Kind != yaml.MappingNode {
		return nil, tree.Errorf(tree.Root, "a scenario is a mapping of keys like strategies and server")
	}
	return &File{registry: registry, tree: tree}, nil
}

// newFile returns a scenario put together by a program.
func newFile(registry *strategies.Registry, s Scenario) (*File, error) {
	root, err := spec.Encode(s)
	if err != nil {
		return nil, err
	}
	return &File{registry: registry, tree: &spec.Tree{Name: "scenario", Root: root}}, nil
}

// Name returns the name of the file as messages give it.
func (f *File) Name() string { return f.tree.Name }

// Clone returns a copy that can be changed independently.
func (f *File) Clone() *File {
	return &File{
		Builtin: f.Builtin, registry: f.registry, tree: f.tree.Copy(), overrides: slices.Clone(f.overrides),
	}
}

// Assign carries out "path=value". The value is YAML; a list or a range makes an axis. A
// path leads to a key of the scenario (server.lookback), to a parameter of a layer in
// every strategy that has it (full-compact.trigger.fixed) or in one strategy
// (strategies.NAME.full-compact.trigger.fixed).
func (f *File) Assign(assignment string) error {
	origin := "--set " + assignment
	path, value, err := spec.Assignment(origin, assignment)
	if err != nil {
		return err
	}
	f.tree.Mark(value, origin)
	keys := strings.Split(path, ".")
	if _, ok := f.registry.Definition(keys[0]); ok {
		return f.override(override{"", keys, value, origin})
	}
	if name, rest, ok := f.strategyPath(path); ok {
		return f.override(override{name, strings.Split(rest, "."), value, origin})
	}
	if err := spec.CheckPath(Scenario{}, keys...); err != nil {
		known := append(spec.Paths(Scenario{}), f.layerPaths()...)
		return fmt.Errorf("%s: unknown parameter %q%s", origin, path, nearest.Hint(path, known))
	}
	return f.tree.Put(f.tree.Root, value, keys...)
}

// Set puts a Go value at the place that keys lead to. Messages give origin, for
// instance a flag, as its source.
func (f *File) Set(origin string, value any, keys ...string) error {
	n, err := spec.Encode(value)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	f.tree.Mark(n, origin)
	if err := spec.CheckPath(Scenario{}, keys...); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	return f.tree.Put(f.tree.Root, n, keys...)
}

// strategyPath splits strategies.NAME.REST. As names may hold dots, the longest
// name that the scenario has counts.
func (f *File) strategyPath(path string) (name, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "strategies.")
	if !ok {
		return "", "", false
	}
	for _, known := range f.StrategyNames() {
		if r, found := strings.CutPrefix(path, known+"."); found && len(known) > len(name) {
			name, rest = known, r
		}
	}
	return name, rest, name != ""
}

// override checks that the layer has the parameter and stores the override.
func (f *File) override(o override) error {
	path := strings.Join(o.keys, ".")
	def, ok := f.registry.Definition(o.keys[0])
	if !ok {
		return fmt.Errorf("%s: unknown layer %q%s", o.origin, o.keys[0], nearest.Hint(o.keys[0], f.registry.Layers()))
	}
	if len(o.keys) == 1 || spec.CheckPath(def.Params(), o.keys[1:]...) != nil {
		return fmt.Errorf("%s: unknown parameter %q%s", o.origin, path, nearest.Hint(path, f.layerPaths()))
	}
	f.overrides = append(f.overrides, o)
	return nil
}

// layerPaths returns the parameters of all layers as paths.
func (f *File) layerPaths() []string {
	var all []string
	for _, layer := range f.registry.Layers() {
		def, _ := f.registry.Definition(layer)
		for _, path := range spec.Paths(def.Params()) {
			all = append(all, layer+"."+path)
		}
	}
	return all
}

// entries returns the nodes of the strategies. A file that has none gets the default's.
func (f *File) entries() []*yaml.Node {
	list := spec.Child(f.tree.Root, "strategies")
	if list != nil && list.Kind == yaml.SequenceNode {
		return list.Content
	}
	var nodes []*yaml.Node
	for _, name := range DefaultStrategies() {
		if name == measures.StrategyRecorded && hasUsers(f.tree) {
			continue
		}
		nodes = append(nodes, spec.Text(name))
	}
	return nodes
}

// StrategyNames returns the names of the strategies that the file lists.
func (f *File) StrategyNames() []string {
	var names []string
	for _, n := range f.entries() {
		names = append(names, entryName(n))
	}
	return names
}

// entryName returns the name of a strategy of the scenario, as far as its node
// gives one.
func entryName(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	for _, key := range []string{"name", "preset"} {
		if c := spec.Child(n, key); c != nil {
			return c.Value
		}
	}
	return ""
}

// Choose keeps only the strategies with the given names. A name that the scenario does
// not have is taken as a preset, as a pattern of presets, or as a file with one; origin is the flag that asks for it.
func (f *File) Choose(origin string, names []string) error {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	var errs []error
	for _, name := range names {
		have := f.entries()
		if i := slices.IndexFunc(have, func(n *yaml.Node) bool { return entryName(n) == name }); i >= 0 {
			list.Content = append(list.Content, have[i])
			continue
		}
		presets, err := f.presetsOf(name)
		errs = append(errs, err)
		for _, name := range presets {
			n := spec.Text(name)
			f.tree.Mark(n, origin)
			list.Content = append(list.Content, n)
		}
	}
	list.Content = slices.CompactFunc(list.Content, func(a, b *yaml.Node) bool { return a == b })
	errs = append(errs, f.tree.Put(f.tree.Root, list, "strategies"))
	return errors.Join(errs...)
}

// presetsOf returns the presets that a word stands for, of which one can be in a file.
func (f *File) presetsOf(word string) ([]string, error) {
	if !strings.HasSuffix(word, ".yaml") {
		return f.registry.Match(word) //nolint:wrapcheck // it says what
	}
	s, err := f.registry.Load(word)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says where
	}
	return []string{s.Name}, nil
}

// Locate rewrites names of files in the scenario so that they open from the working
// folder. Profiles and prices are relative to the folder of the
// scenario if exists reports such a file, else to the working folder. Recordings are
// relative to the working folder. Later settings are not rewritten.
func (f *File) Locate(exists func(name string) bool) {
	if n := spec.Child(f.tree.Root, "profile"); n != nil && n.Value != ProfileDefault && n.Value != ProfileNone {
		f.tree.Beside(n, exists)
	}
	f.tree.Beside(spec.Find(f.tree.Root, "prices", "file"), exists)
	if orgs := spec.Find(f.tree.Root, "users", "organisations"); orgs != nil {
		for i := 1; i < len(orgs.Content); i += 2 {
			if profiles := spec.Find(orgs.Content[i], "sessions", "profiles"); profiles != nil {
				for k := 0; k < len(profiles.Content); k += 2 {
					f.beside(profiles.Content[k], exists)
				}
			}
		}
	}
	f.beside(spec.Find(f.tree.Root, "sessions", "generate", "profile"), exists)
}

// beside does for the name of a workload what Locate does. One that is neither a path nor YAML
// comes with the program.
func (f *File) beside(n *yaml.Node, exists func(name string) bool) {
	if n != nil && (strings.ContainsAny(n.Value, `/\`) || strings.HasSuffix(n.Value, ".yaml") || strings.HasSuffix(n.Value, ".yml")) {
		f.tree.Beside(n, exists)
	}
}

// Resolved returns the scenario as a complete file: defaults written out,
// presets expanded into their layers, and axes as lists. Running this file makes the same rows.
func (d *Design) Resolved() ([]byte, error) {
	s := d.Scenario
	s.Strategies = nil
	if reflect.DeepEqual(s.Live, live.DefaultSettings()) {
		s.Live = live.Settings{} // irrelevant to most runs
	}
	if !s.Users.Any() {
		s.Users = users.Settings{}
	}
	root, err := spec.Encode(s)
	if err != nil {
		return nil, err
	}
	tree := spec.Tree{Name: "resolved", Root: root}
	for i := range d.axes {
		a := &d.axes[i]
		if err := tree.Put(root, a.List(), strings.Split(a.Path, ".")...); err != nil {
			return nil, err
		}
	}
	if err := tree.Put(root, d.strategyNodes(), "strategies"); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# Every value of a scenario that was run. sim run on this file repeats it.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("encode a resolved scenario: %w", err)
	}
	return b.Bytes(), nil
}

// strategyNodes returns the strategies with their layers.
func (d *Design) strategyNodes() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, e := range d.entries {
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		n.Content = append(n.Content, spec.Text("name"), spec.Text(e.name))
		if e.doc != "" {
			n.Content = append(n.Content, spec.Text("doc"), spec.Text(e.doc))
		}
		for i := range e.axes {
			e.axes[i].Node.Content = nil
			*e.axes[i].Node = *e.axes[i].List()
		}
		n.Content = append(n.Content, spec.Clone(e.body).Content...)
		for i := range e.axes {
			e.axes[i].Choose(0)
		}
		list.Content = append(list.Content, n)
	}
	return list
}

//go:embed manual.txt
var manual string

// Samples returns the recordings that come with the program, which
// agents.ReadFS reads: a folder for each workload they show, laid out as a
// project's folder of Claude Code.
func Samples() fs.FS { return synthetic.Samples() }

// Reference returns the manual of the format: every key with its default.
func Reference() ([]byte, error) {
	chapters := spec.Chapters(manual)
	var o users.Organisation
	o.SetDefaults()
	o.Users = 20
	keys, err := spec.Manual(o, nil)
	if err != nil {
		return nil, err
	}
	const at = "users.organisations"
	chapters[at] += "\n\n  acme:\n"
	for line := range strings.Lines(strings.TrimSpace(string(keys))) {
		if strings.TrimSpace(line) != "" && line != "#\n" {
			chapters[at] += "    " + line
		}
	}
	return spec.Manual(Default(), chapters)
}

// oneOf returns an error for a value that is not among those known.
func oneOf(key, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %q%s; want %s", key, value, nearest.Hint(value, known), strings.Join(known, ", "))
}
