package scenarios

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Unmet returns a text for every setting of the scenario or a flag that can have no effect: its tag, or that of a
// section around it, names conditions (needs), and no cell meets one of them.
func (d *Design) Unmet() []string {
	if d.file == nil {
		return nil
	}
	type setting struct{ text, needs string }
	var settings []setting
	tree := d.file.tree
	for _, c := range d.changed() {
		n := spec.Find(tree.Root, strings.Split(c.Path, ".")...)
		if n == nil || d.file.Builtin && strings.HasPrefix(tree.At(n), tree.Name) {
			continue
		}
		text := tree.At(n)
		if !strings.HasPrefix(text, "--set "+c.Path+"=") {
			text += ": " + c.Path + " " + c.text
		}
		settings = append(settings, setting{text, needsOf(Default(), "", c.Path)})
	}
	for _, o := range d.file.overrides {
		if def, ok := d.file.registry.Definition(o.keys[0]); ok {
			settings = append(settings, setting{o.origin, needsOf(def.Params(), o.keys[0], strings.Join(o.keys[1:], "."))})
		}
	}
	settings = slices.DeleteFunc(settings, func(s setting) bool { return s.needs == "" })
	if len(settings) == 0 {
		return nil
	}
	for _, part := range d.parts() {
		if root, err := spec.Encode(part); err == nil {
			settings = slices.DeleteFunc(settings, func(s setting) bool { return met(root, s.needs) })
		}
	}
	var texts []string
	for _, s := range settings {
		texts = append(texts, s.text+" changes nothing: it needs "+strings.NewReplacer("=", " ", "|", " or ").Replace(s.needs))
	}
	return texts
}

// parts returns all that may meet conditions: the scenarios and the layers of cells, and the clients of generations.
func (d *Design) parts() (list []any) {
	seen := map[any]bool{}
	first := func(key any) bool {
		was := seen[key]
		seen[key] = true
		return !was
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		if first(c.Scenario) {
			list = append(list, c.Scenario)
		}
		for _, m := range c.Strategy.Members() {
			if m.ClientHalf() != nil && first([2]any{c.Scenario, m.ClientHalf()}) {
				if h, err := c.Scenario.under(m); err == nil {
					list = append(list, map[string]any{"client": h.Client})
				}
			}
			if first(m) {
				layers := map[string]any{}
				for _, name := range m.LayerNames() {
					layers[name] = m.Params(name)
				}
				list = append(list, layers)
			}
		}
	}
	return list
}

// met reports whether root meets one of several conditions, PATH or PATH=VALUE, joined by |.
func met(root *yaml.Node, needs string) bool {
	return slices.ContainsFunc(strings.Split(needs, "|"), func(need string) bool {
		path, value, valued := strings.Cut(need, "=")
		n := spec.Find(root, strings.Split(path, ".")...)
		return n != nil && (valued && n.Value == value || !valued && !off(n))
	})
}

// off reports whether a node holds a value that switches its parameter off.
func off(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"", "0", "0s", "false", "null", "none"}, n.Value) ||
		n.Kind == yaml.SequenceNode && len(n.Content) == 0
}

// needsOf returns the conditions of a parameter of a struct, or of the section
// it belongs to. Tags may name parameters of the same struct; the result has
// full paths, beginning with the prefix or at the top of the scenario.
func needsOf(v any, prefix, path string) string {
	found := ""
	spec.Fields(v, func(f *spec.Field) {
		if f.Needs == "" || path != f.Path && !strings.HasPrefix(path, f.Path+".") {
			return
		}
		section := strings.TrimSuffix(f.Path[:strings.LastIndexByte("."+f.Path, '.')], ".")
		needs := strings.Split(f.Needs, "|")
		for i, need := range needs {
			beside := spec.Join(section, need)
			name, _, _ := strings.Cut(beside, "=")
			if spec.CheckPath(v, strings.Split(name, ".")...) == nil {
				needs[i] = spec.Join(prefix, beside)
			}
		}
		found = strings.Join(needs, "|")
	})
	return found
}

// changed is a parameter around the strategies that is not the default.
type changed struct {
	spec.Field
	text  string // its value, or those of its axis
	swept bool
}

// changed returns the parameters around the strategies that are swept or differ
// from the default.
func (d *Design) changed() []changed {
	plain := Default()
	was, err := spec.Encode(plain)
	is, other := spec.Encode(d.Scenario)
	if err != nil || other != nil {
		return nil
	}
	var list []changed
	spec.Fields(plain, func(f *spec.Field) {
		keys := strings.Split(f.Path, ".")
		c := changed{*f, spec.Flow(spec.Find(is, keys...)), false}
		if i := slices.IndexFunc(d.axes, func(a spec.Axis) bool { return a.Path == f.Path }); i >= 0 {
			c.text, c.swept = spec.Flow(d.axes[i].List()), true
		}
		if !f.Nested() && (c.swept || c.text != spec.Flow(spec.Find(was, keys...))) {
			list = append(list, c)
		}
	})
	return list
}
