package synthetic

import (
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// sifter takes out of a document what cannot be read into a workload, so that
// the rest can: decoding a bad value may give up on others that are in order.
type sifter struct {
	tree *spec.Tree
	lost []string // paths of what was taken out
}

// reads reports whether a whole document can be read.
func (s *sifter) reads(doc *yaml.Node) bool {
	var w Workload
	c := spec.Checker{Tree: s.tree}
	c.Check(doc, w, "")
	return len(c.Errs) == 0 && doc.Decode(&w) == nil
}

// within makes a whole document of a node in its place.
type within func(*yaml.Node) *yaml.Node

// sift returns what can be read of the node that a path leads to, nil for
// nothing.
func (s *sifter) sift(n *yaml.Node, path string, in within) *yaml.Node {
	if s.reads(in(n)) {
		return n
	}
	shell := *n
	shell.Content = nil
	if len(n.Content) > 0 && s.reads(in(&shell)) {
		switch n.Kind {
		case yaml.MappingNode:
			return s.mapping(n, shell, path, in)
		case yaml.SequenceNode:
			if list := s.list(n, shell, path, in); list != nil {
				return list
			}
		}
	}
	s.lost = append(s.lost, path)
	return nil
}

// mapping keeps what can be read of a mapping whose shell is its empty form. A
// key that stands there twice counts once.
func (s *sifter) mapping(n *yaml.Node, shell yaml.Node, path string, in within) *yaml.Node {
	kept := shell
	var met []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Value == "" || slices.Contains(met, key.Value) {
			continue
		}
		met = append(met, key.Value)
		value := s.sift(n.Content[i+1], spec.Join(path, key.Value), func(c *yaml.Node) *yaml.Node {
			alone := shell
			alone.Content = []*yaml.Node{key, c}
			return in(&alone)
		})
		if value != nil {
			kept.Content = append(kept.Content, key, value)
		}
	}
	return &kept
}

// list keeps what can be read of a list, with an empty mapping in the place of
// what cannot, so that the others keep their index; nil when there can be none.
func (s *sifter) list(n *yaml.Node, shell yaml.Node, path string, in within) *yaml.Node {
	kept := shell
	for i, child := range n.Content {
		alone := func(c *yaml.Node) *yaml.Node {
			list := shell
			list.Content = []*yaml.Node{c}
			return in(&list)
		}
		value := s.sift(child, spec.Join(path, strconv.Itoa(i)), alone)
		if value == nil {
			value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: child.Line, Column: child.Column}
			if !s.reads(alone(value)) {
				return nil
			}
		}
		kept.Content = append(kept.Content, value)
	}
	return &kept
}
