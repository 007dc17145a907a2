// Package spec declares parameters: the tags of a struct say what its fields are, and
// reading, checking, sweeping, printing and comparing follow from them.
//
//	type Params struct {
//		Keep  int           `yaml:"keep" doc:"newest results that stay" min:"0"`
//		Share float64       `yaml:"share" doc:"share of calls that fail, 0…1" min:"0" max:"1" off:"0"`
//		Every time.Duration `yaml:"every" doc:"time between two requests" above:"0s" max:"1h"`
//		Way   Way           `yaml:"way" doc:"fork or streaming"`
//		Fill  string        `yaml:"fill" doc:"none or last" enum:"none,last" needs:"keep"`
//	}
//
// The tags are no language; a rule that spans fields is a Go method.
//
//	yaml   the key; omitempty, flow and inline mean what they mean to yaml.v3
//	doc    what the parameter is, for the manual, which breaks lines
//	unit   its unit, for the axes of charts, and for the manual where doc lacks it
//	min    the smallest value, max the largest; above and below leave the bound
//	       itself out. A duration has a bound such as 90s. On a list or a map they
//	       hold for the elements, on a struct for what Within (Bounded) looks at.
//	       A bounded number is finite.
//	enum   the texts a string can be, joined by commas
//	off    the value, as YAML, that switches the parameter off
//	needs  the parameter that must be on for this one to have an effect: its path,
//	       in the same struct or from the top; also path=value, and several of
//	       these joined by |
//	whole  "true" on a map: a file replaces it and does not add to it
//	sweep  "true": a list or a range that replaces a value below is an axis
//
// A small integer or boolean type with the method Names (Enum) is written by
// name and needs no codec. A time.Duration is written 90s or 1h30m. A type with
// UnmarshalYAML, and MarshalYAML for writing, handles itself.
//
// A struct with the method Rules (Ruled) says what its tags cannot: which
// values contradict each other. Wrong makes an error that is reported at one
// parameter, a Problem one that names several. An inlined struct keeps its
// rules if the outer one has none of its own. The elements of a list or a map
// begin with what their method SetDefaults sets (Defaulter).
//
// Decode, or Tree.Decode for a node of a parsed file, reads into existing
// values, the defaults, and reports all problems at once with file and line:
// unknown and repeated keys with the nearest name, values of the wrong kind or
// out of bounds, and violated rules among values that could be read. Checker
// reads without rules and finds axes; Axis.Choose replaces a list by one of its
// values, and Tree.Decode then reads the cell. Validate checks a Go value, and
// Tree.Place finds the line of a Problem.
//
// Encode, Marshal and Line write values; Describe and Manual add docs as
// comments. Fields lists the parameters by path, Diff compares two structs. A
// struct with Enums must be written by these, not by package yaml.
package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxNodes bounds a document with expanded aliases, so that a few lines of
// nested aliases cannot fill the memory.
const maxNodes = 1 << 16

// Tree is one YAML document as nodes, for text that is read twice, changed or
// written back before it becomes Go values. Aliases are expanded: no node
// occurs twice.
type Tree struct {
	Name string     // of the file, for messages
	Root *yaml.Node // the top of the document

	from map[*yaml.Node]string // origins of nodes that are not from the file
}

// Parse reads a file of exactly one document. Errors carry file and line.
func Parse(text []byte, name string) (*Tree, error) {
	if !utf8.Valid(text) && !bytes.HasPrefix(text, []byte("\xff\xfe")) && !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s: no text: a file of settings is YAML", name)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: empty document", name)
	case err != nil:
		return nil, yamlError(name, text, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlError(name, text, err)
		}
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	left := maxNodes
	root := expand(doc.Content[0], &left)
	if left < 0 {
		return nil, fmt.Errorf("%s: more than %d values once its aliases are expanded, without an end if an anchor contains its own", name, maxNodes)
	}
	return &Tree{Name: name, Root: root}, nil
}

// yamlError returns an error of yaml.v3 in the form file:line: text. A tab that indents a line is named: yaml.v3 says of some what else they
// cannot be, and of others the line before.
func yamlError(name string, text []byte, err error) error {
	if m := linePattern.FindStringSubmatch(err.Error()); m != nil {
		if line, _ := strconv.Atoi(m[1]); strings.Contains(m[2], "tab character") || strings.Contains(m[2], "start any token") {
			for _, at := range [...]int{line, line + 1} {
				if tabbed(text, at) {
					return fmt.Errorf("%s:%d: a tab indents this line, and YAML takes spaces alone", name, at)
				}
			}
		}
		return fmt.Errorf("%s:%s: %s", name, m[1], m[2])
	}
	return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
}

// tabbed reports whether a tab stands ahead of what a line says.
func tabbed(text []byte, line int) bool {
	lines := bytes.SplitN(text, []byte("\n"), line+1)
	if line < 1 || len(lines) < line {
		return false
	}
	said := bytes.TrimLeft(lines[line-1], " \t-")
	return bytes.IndexByte(lines[line-1][:len(lines[line-1])-len(said)], '\t') >= 0
}

// expand copies a node and replaces aliases by their anchors, until left is below 0: an alias within its own anchor has no end.
func expand(n *yaml.Node, left *int) *yaml.Node {
	if *left--; *left < 0 {
		return n
	}
	line, column := n.Line, n.Column
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c := *n
	c.Line, c.Column, c.Anchor, c.Content = line, column, "", nil
	for _, child := range n.Content {
		c.Content = append(c.Content, expand(child, left))
	}
	return &c
}

// Clone returns a deep copy of a node.
func Clone(n *yaml.Node) *yaml.Node {
	left := maxNodes
	return expand(n, &left)
}

// At returns the place of a node: file:line, or the origin set by Mark.
func (t *Tree) At(n *yaml.Node) string {
	if origin, ok := t.from[n]; ok {
		return origin
	}
	if n.Line == 0 {
		return t.Name
	}
	return t.Name + ":" + strconv.Itoa(n.Line)
}

// Mark says that a node and all below it come from origin instead of the file,
// for instance from a flag of the command line.
func (t *Tree) Mark(n *yaml.Node, origin string) {
	if t.from == nil {
		t.from = map[*yaml.Node]string{}
	}
	t.from[n] = origin
	for _, child := range n.Content {
		t.Mark(child, origin)
	}
}

// Errorf returns an error at the place of a node.
func (t *Tree) Errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %w", t.At(n), fmt.Errorf(format, args...))
}

// Sorted sorts errors by their lines in the document, followed by errors at other places.
func (t *Tree) Sorted(errs []error) []error {
	line := func(err error) int {
		rest, ok := strings.CutPrefix(err.Error(), t.Name+":")
		text, _, found := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(text); ok && found && err == nil {
			return n
		}
		return math.MaxInt
	}
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(line(a), line(b)) })
	return errs
}

// Child returns the value of a key of a mapping, nil if it is missing.
func Child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Find returns the node at keys below n, nil if it is missing.
func Find(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = Child(n, key)
	}
	return n
}

// Reach returns the node at a path such as orgs[1].users or orgs.1.users, or
// the last node on the way that the file has.
func Reach(n *yaml.Node, path string) *yaml.Node {
	n, _ = reach(n, path)
	return n
}

// reach is Reach; it reports whether the file has the whole path.
func reach(n *yaml.Node, path string) (*yaml.Node, bool) {
	if path == "" {
		return n, true
	}
	for key := range strings.SplitSeq(strings.NewReplacer("[", ".", "]", "").Replace(path), ".") {
		next := Child(n, key)
		if i, err := strconv.Atoi(key); err == nil && n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
			next = n.Content[i]
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// Beside rewrites the file name in a node from relative to the folder of the
// tree's file to relative to the working folder. If there is no such file but
// one in the working folder, the name stays unchanged; so do absolute names,
// and nodes that are nil or no text.
func (t *Tree) Beside(n *yaml.Node, exists func(name string) bool) {
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) || n.Value == "" || filepath.IsAbs(n.Value) {
		return
	}
	beside := filepath.ToSlash(filepath.Join(filepath.Dir(t.Name), n.Value))
	if filepath.Dir(t.Name) == "." || !exists(beside) && exists(n.Value) {
		return // a name such as ./mine stays as written
	}
	n.Value = beside
}

// Put sets the value at keys below n and makes missing mappings. It fails if
// there is something other than a mapping.
func (t *Tree) Put(n *yaml.Node, value *yaml.Node, keys ...string) error {
	for i, key := range keys {
		if isNull(n) {
			n.Kind, n.Tag, n.Value = yaml.MappingNode, "!!map", ""
		}
		if n.Kind != yaml.MappingNode {
			return t.Errorf(n, "%s holds no keys: %s cannot be set", strings.Join(keys[:i], "."), strings.Join(keys, "."))
		}
		child := Child(n, key)
		switch {
		case i == len(keys)-1 && child != nil:
			*child = *value
			t.keepOrigin(value, child)
			return nil
		case i == len(keys)-1:
			child = value
			n.Content = append(n.Content, Text(key), child)
			return nil
		case child == nil:
			child = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			n.Content = append(n.Content, Text(key), child)
		}
		n = child
	}
	*n = *value
	t.keepOrigin(value, n)
	return nil
}

// keepOrigin keeps the origin of a node that was copied to another.
func (t *Tree) keepOrigin(from, to *yaml.Node) {
	if origin, ok := t.from[from]; ok {
		t.from[to] = origin
	} else {
		delete(t.from, to)
	}
}

// Assignment reads PATH=VALUE, whose value is YAML. Errors begin with origin.
func Assignment(origin, text string) (path string, value *yaml.Node, err error) {
	path, text, ok := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	switch {
	case !ok || path == "":
		return "", nil, fmt.Errorf("%s: want PATH=VALUE", origin)
	case strings.TrimSpace(text) == "":
		return "", nil, fmt.Errorf("%s: no value", origin)
	}
	tree, err := Parse([]byte(text), origin)
	switch {
	case err != nil && strings.Contains(text, "{"):
		return "", nil, fmt.Errorf("%w; YAML wants a space after each colon, and the shell quotes around the whole", err)
	case err != nil:
		return "", nil, err
	}
	return path, tree.Root, nil
}

// Text returns a scalar node of a string.
func Text(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

// Copy returns a deep copy of the document. Its nodes have the places of the
// originals.
func (t *Tree) Copy() *Tree {
	c := &Tree{Name: t.Name, from: maps.Clone(t.from)} // nodes beside the root have places too
	c.Root = c.copyNode(t.Root)
	return c
}

func (t *Tree) copyNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	if origin, ok := t.from[n]; ok {
		t.from[&c] = origin
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, t.copyNode(child))
	}
	return &c
}
