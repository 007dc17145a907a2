package spec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/nearest"
	"gopkg.in/yaml.v3"
)

// Checker walks nodes against Go types and collects what does not fit: unknown
// and repeated keys, values of another kind, lists where one value stands. What
// it passes decodes with Node.Decode without loss, which by itself forgets to
// be strict.
type Checker struct {
	Tree *Tree
	// Sweep makes a list or a range in the place of one value an axis. Without
	// it fields of structs are still swept that carry the tag sweep:"true", with
	// all below them.
	Sweep bool

	Axes []Axis
	Errs []error
}

// Check walks n against the type of v; path is what leads to n, "" at the top.
func (c *Checker) Check(n *yaml.Node, v any, path string) {
	c.check(n, reflect.TypeOf(v), path, c.Sweep)
}

func (c *Checker) errorf(n *yaml.Node, format string, args ...any) {
	c.Errs = append(c.Errs, c.Tree.Errorf(n, format, args...))
}

var (
	nodeType = reflect.TypeFor[yaml.Node]()
	timeType = reflect.TypeFor[time.Time]()
)

func (c *Checker) check(n *yaml.Node, t reflect.Type, path string, sweep bool) {
	if t != nodeType && !c.sound(n, path) {
		return
	}
	null := isNull(n)
	if t.Kind() == reflect.Pointer {
		if null {
			return
		}
		t = t.Elem()
	}
	switch {
	case t == nodeType:
	case opaque(t), t == timeType:
		c.leaf(n, t, path, sweep)
	case t.Kind() == reflect.Struct:
		if !null && c.mapping(n, path) {
			c.fields(n, t, path, sweep)
		}
	case t.Kind() == reflect.Map:
		if !null && c.mapping(n, path) {
			c.values(n, t.Elem(), path, sweep)
		}
	case t.Kind() == reflect.Slice:
		if !null {
			c.list(n, t, path, sweep)
		}
	default:
		c.leaf(n, t, path, sweep)
	}
}

// opaque reports whether a type decodes itself, so that its kind says nothing
// about what stands in the file.
func opaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[yaml.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[interface {
			UnmarshalYAML(func(any) error) error
		}]())
}

// sound reports whether a scalar with a tag of its own, such as !!float x, is
// what the tag says.
func (c *Checker) sound(n *yaml.Node, path string) bool {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	err := n.Decode(new(any))
	if err != nil {
		c.errorf(n, "%s: %s", named(path), Reason(err))
	}
	return err == nil
}

// mapping reports whether n is a mapping with every key once.
func (c *Checker) mapping(n *yaml.Node, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.errorf(n, "%s takes keys and values, not %s", named(path), kindOf(n))
		return false
	}
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if err := keyError(key); err != nil {
			c.errorf(key, "%s: %w", named(path), err)
			return false
		}
		if before, ok := first[key.Value]; ok {
			c.errorf(key, "key %q stands here a second time, first in line %d", key.Value, before.Line)
			continue
		}
		first[key.Value] = key
	}
	return true
}

// keyError refuses keys under which decoding keeps nothing, or something else
// than what stands in the file.
func keyError(key *yaml.Node) error {
	switch {
	case key.Kind != yaml.ScalarNode, isNull(key):
		return fmt.Errorf("a key is a word, not %s", kindOf(key))
	case key.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("key %q has a tag: write the word alone", key.Value)
	case key.ShortTag() == "!!merge":
		return errors.New("keys are not merged with <<: write them out")
	}
	return nil
}

func (c *Checker) fields(n *yaml.Node, t reflect.Type, path string, sweep bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		f, ok := field(t, key.Value)
		if !ok {
			c.errorf(key, "unknown key %q%s", key.Value, nearest.Hint(key.Value, Keys(t)))
			continue
		}
		c.check(n.Content[i+1], f.Type, Join(path, key.Value), sweep || f.Tag.Get("sweep") == "true")
	}
}

func (c *Checker) values(n *yaml.Node, t reflect.Type, path string, sweep bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		c.check(n.Content[i+1], t, Join(path, n.Content[i].Value), sweep)
	}
}

// list checks a value of a list type. A list of lists in its place is an axis,
// when the elements are not lists themselves.
func (c *Checker) list(n *yaml.Node, t reflect.Type, path string, sweep bool) {
	if n.Kind != yaml.SequenceNode {
		c.errorf(n, "%s takes a list, not %s", named(path), kindOf(n))
		return
	}
	elem := t.Elem()
	if sweep && len(n.Content) > 0 && elem.Kind() != reflect.Slice && n.Content[0].Kind == yaml.SequenceNode {
		c.axis(n, n.Content, t, path)
		return
	}
	for i, child := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		if isNull(child) { // decoding leaves it out
			c.errorf(child, "%s holds nothing", at)
			continue
		}
		c.check(child, elem, at, false)
	}
}

// isNull reports whether n is no value.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// leaf checks one value, or an axis of them.
func (c *Checker) leaf(n *yaml.Node, t reflect.Type, path string, sweep bool) {
	switch {
	case n.Kind == yaml.ScalarNode:
	case sweep && n.Kind == yaml.SequenceNode && !composite(t):
		c.axis(n, n.Content, t, path)
		return
	case sweep && isRange(n) && numeric(t):
		c.rangeAxis(n, t, path)
		return
	case !composite(t):
		c.errorf(n, "%s takes one value, not %s", named(path), kindOf(n))
		return
	}
	if _, err := decoded(n, t); err != nil {
		c.errorf(n, "%s: %w", named(path), err)
	}
}

// composite reports whether values of a type that decodes itself may be more
// than a scalar.
func composite(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		return t != timeType
	case reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// numeric reports whether values of t are numbers or, like durations, written
// for numbers. A small type that decodes itself is an enumeration.
func numeric(t reflect.Type) bool {
	if opaque(t) && t.Kind() != reflect.Int64 && t.Kind() != reflect.Float64 {
		return false
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

// decoded returns n as a value of type t. Wrong values are worded for people.
func decoded(n *yaml.Node, t reflect.Type) (reflect.Value, error) {
	v := reflect.New(t)
	if isNull(n) {
		return v, errors.New("no value")
	}
	if !opaque(t) && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" && !holds(n, t) {
		return v, fmt.Errorf("want %s, not %s", wanted(t), quoted(n))
	}
	err := n.Decode(v.Interface())
	if err == nil {
		return v.Elem(), nil
	}
	if opaque(t) {
		return v, errors.New(Reason(err))
	}
	return v, fmt.Errorf("want %s, not %s", wanted(t), quoted(n))
}

// holds reports whether a type keeps a floating-point number as it is written.
// Node.Decode would cut off fractions for integers, and convert what lies beyond
// them to any number.
func holds(n *yaml.Node, t reflect.Type) bool {
	low, high := 0.0, 0x1p64 // whole numbers: low ≤ f < high
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		low, high = -0x1p63, 0x1p63
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		return true
	}
	var f float64
	err := n.Decode(&f)
	return err == nil && f == math.Trunc(f) && low <= f && f < high
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	switch {
	case t == timeType:
		return "a time"
	case numeric(t):
		return "a whole number"
	}
	return t.Kind().String()
}

// Reason returns the text of an error of yaml.v3 without its preamble and line.
func Reason(err error) string {
	texts := []string{err.Error()}
	var te *yaml.TypeError
	if errors.As(err, &te) {
		texts = slices.Clone(te.Errors)
	}
	for i, text := range texts {
		text = strings.TrimPrefix(text, "yaml: ")
		if m := linePattern.FindStringSubmatch(text); m != nil {
			text = m[2]
		}
		texts[i] = text
	}
	return strings.Join(texts, "; ")
}

func quoted(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return strconv.Quote(n.Value)
	}
	return kindOf(n)
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

func named(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
