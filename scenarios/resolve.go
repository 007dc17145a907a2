package scenarios

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// Resolved returns the scenario as a file that says everything: defaults
// written, presets taken apart into their layers, axes as lists, and the day in
// the place of prices at "today". Run again it makes the same rows.
func (d *Design) Resolved() ([]byte, error) {
	s := d.Scenario
	s.Strategies = nil
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
