package spec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
)

// Decode reads one document of the file called name into what v points to, whose values
// are the defaults, and checks it by tags and rules. All problems are reported at once.
func Decode(text []byte, name string, v any) error {
	tree, err := Parse(text, name)
	if err != nil {
		return err
	}
	return errors.Join(tree.Decode(tree.Root, v, "")...)
}

// Decode reads a node into what v points to, checks it by tags and rules, and
// returns all problems. Values that cannot be read keep their default. path is the node's path in
// messages, "" at the top.
func (t *Tree) Decode(n *yaml.Node, v any, path string) []error {
	c := Checker{Tree: t, single: true}
	c.read(n, reflect.ValueOf(v).Elem(), "", path, false)
	return append(c.Errs, c.Flaws(n, v, path)...)
}

// Flaws returns what is wrong with a value read from n, by tags and rules,
// except for problems with values that the checker could not read.
func (c *Checker) Flaws(n *yaml.Node, v any, path string) []error {
	var problems []Problem
	validate(reflect.ValueOf(v), "", trail{key: path}, &problems)
	var errs []error
	for _, p := range problems {
		if !slices.ContainsFunc(p.Paths, c.misread) {
			errs = append(errs, c.Tree.place(n, p, path))
		}
	}
	return errs
}

// misread reports whether a value, or something in it, could not be read.
func (c *Checker) misread(path string) bool {
	return slices.ContainsFunc(c.lost, func(lost string) bool { return leadsTo(path, lost) || leadsTo(lost, path) })
}

// leadsTo reports whether a path equals another one or begins it.
func leadsTo(path, to string) bool {
	rest, ok := strings.CutPrefix(to, path)
	return ok && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Checker compares nodes with Go types and collects mismatches: unknown and
// repeated keys, values of the wrong kind or out of bounds, lists where one
// value is wanted.
type Checker struct {
	Tree *Tree
	// Sweep makes every list or range that replaces one value an axis. Without it
	// only fields of structs with the tag sweep:"true", and everything below them,
	// are swept.
	Sweep bool

	Axes []Axis
	Errs []error

	single bool     // nothing is swept
	lost   []string // paths of values that could not be read
}

// Check compares n with the type of v; path is n's path, "" at the top.
func (c *Checker) Check(n *yaml.Node, v any, path string) {
	c.read(n, reflect.New(reflect.TypeOf(v)).Elem(), "", path, c.Sweep)
}

func (c *Checker) errorf(n *yaml.Node, format string, args ...any) {
	c.Errs = append(c.Errs, c.Tree.Errorf(n, format, args...))
}

// lose reports that the value at a path cannot be read.
func (c *Checker) lose(n *yaml.Node, path, format string, args ...any) {
	c.errorf(n, format, args...)
	c.lost = append(c.lost, path)
}

// read sets v, whose field has a tag, to the value of n.
func (c *Checker) read(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string, sweep bool) {
	t := v.Type()
	if t == nodeType {
		v.Set(reflect.ValueOf(*n))
		return
	}
	if !c.sound(n, path) {
		return
	}
	null := isNull(n)
	if t.Kind() == reflect.Pointer && null {
		v.SetZero()
		return
	}
	if t.Kind() == reflect.Pointer {
		to := reflect.New(t.Elem())
		if !v.IsNil() {
			to.Elem().Set(v.Elem())
		}
		before := len(c.lost)
		c.read(n, to.Elem(), tag, path, sweep)
		if len(c.lost) == before {
			v.Set(to)
		}
		return
	}
	switch {
	case opaque(t), t == timeType:
		c.leaf(n, v, tag, path, sweep)
	case t.Kind() == reflect.Struct:
		if path == "" && c.foreign(n, t) {
			return
		}
		if !null && c.mapping(n, path) {
			c.fields(n, v, path, sweep)
		}
	case null && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice):
		v.SetZero()
	case t.Kind() == reflect.Map:
		if c.mapping(n, path) {
			c.values(n, v, tag, path, sweep)
		}
	case t.Kind() == reflect.Slice:
		c.list(n, v, tag, path, sweep)
	default:
		c.leaf(n, v, tag, path, sweep)
	}
}

// sound reports whether a scalar with an explicit tag, such as !!float x, is
// what the tag says.
func (c *Checker) sound(n *yaml.Node, path string) bool {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	err := n.Decode(new(any))
	if err != nil {
		c.lose(n, path, "%s: %s", namePath(path), Reason(err))
	}
	return err == nil
}

// foreign reports, and says, that a document is of another kind than t: no keys and values,
// or less than half of its keys are, or are like, t's. A file that somebody else names may be any
// file, so its text is never quoted.
func (c *Checker) foreign(n *yaml.Node, t reflect.Type) bool {
	known := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if _, _, ok := fieldOf(t, key); ok || key == "<<" || nearest.Hint(key, Keys(t)) != "" {
			known++
		}
	}
	keys := len(n.Content) / 2
	switch {
	case isNull(n):
		return false
	case n.Kind == yaml.ScalarNode:
		c.lose(n, "", "the document is text, and no keys and values")
	case n.Kind == yaml.MappingNode && keys > 0 && 2*known < keys:
		c.lose(n, "", "the document is of another kind: %d of its %d keys are known", known, keys)
	default:
		return false
	}
	return true
}

// mapping reports whether n is a mapping whose keys are words, each once.
func (c *Checker) mapping(n *yaml.Node, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.lose(n, path, "%s takes keys and values, not %s", namePath(path), kindOf(n))
		return false
	}
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if err := keyError(key); err != nil {
			c.lose(key, path, "%s: %w", namePath(path), err)
			return false
		}
		if before, ok := first[key.Value]; ok {
			c.errorf(key, "key %q is repeated, first in line %d", key.Value, before.Line)
			continue
		}
		first[key.Value] = key
	}
	return true
}

// keyError returns an error for a key that is not a word.
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

// fields reads a mapping into a struct. The first of repeated keys counts.
func (c *Checker) fields(n *yaml.Node, v reflect.Value, path string, sweep bool) {
	var met []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		f, index, ok := fieldOf(v.Type(), key.Value)
		switch {
		case !ok:
			c.lose(key, Join(path, key.Value), "unknown key %q%s", key.Value, nearest.Hint(key.Value, Keys(v.Type())))
		case !slices.Contains(met, key.Value):
			c.read(n.Content[i+1], v.FieldByIndex(index), f.Tag, Join(path, key.Value), sweep || f.Tag.Get("sweep") == "true")
			met = append(met, key.Value)
		}
	}
}

// values reads a mapping into a copy of a map, so that the original keeps its
// values. With the tag whole, the mapping replaces the map.
func (c *Checker) values(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string, sweep bool) {
	t := v.Type()
	m := reflect.MakeMap(t)
	if tag.Get("whole") != "true" {
		for it := v.MapRange(); it.Next(); {
			m.SetMapIndex(it.Key(), it.Value())
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := decodeAs(n.Content[i], t.Key())
		if err != nil {
			c.lose(n.Content[i], path, "%s: %w", namePath(path), err)
			continue
		}
		elem := element(t.Elem())
		if was := m.MapIndex(key); was.IsValid() {
			elem.Set(was)
		}
		c.read(n.Content[i+1], elem, tag, Join(path, n.Content[i].Value), sweep)
		m.SetMapIndex(key, elem)
	}
	v.Set(m)
}

// element returns a new element of a list or a map.
func element(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if d, ok := p.Interface().(Defaulter); ok {
		d.SetDefaults()
	}
	return p.Elem()
}

// list reads a value of a list type. A list of lists instead is an axis, unless
// the elements are lists themselves.
func (c *Checker) list(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string, sweep bool) {
	if n.Kind != yaml.SequenceNode {
		c.lose(n, path, "%s takes a list, not %s", namePath(path), kindOf(n))
		return
	}
	elem := v.Type().Elem()
	if sweep && !c.single && len(n.Content) > 0 && elem.Kind() != reflect.Slice && n.Content[0].Kind == yaml.SequenceNode {
		c.axis(n, n.Content, v.Type(), tag, path)
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, child := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		e := element(elem)
		if isNull(child) && elem != nodeType {
			c.lose(child, at, "%s holds nothing", at)
		} else {
			c.read(child, e, tag, at, false)
		}
		list = reflect.Append(list, e)
	}
	v.Set(list)
}

// isNull reports whether n is null.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// leaf reads one value, or an axis of values.
func (c *Checker) leaf(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string, sweep bool) {
	t := v.Type()
	sweep = sweep && !c.single
	switch {
	case n.Kind == yaml.ScalarNode:
	case sweep && n.Kind == yaml.SequenceNode && !composite(t):
		c.axis(n, n.Content, t, tag, path)
		return
	case sweep && isRange(n) && numeric(t):
		c.rangeAxis(n, t, tag, path)
		return
	case !composite(t):
		c.lose(n, path, "%s takes one value, not %s", namePath(path), kindOf(n))
		return
	}
	value, err := decodeAs(n, t)
	if err != nil {
		c.lose(n, path, "%s: %w", namePath(path), err)
		return
	}
	if text := flaw(value, tag); text != "" {
		c.lose(n, path, "%s%s", namePath(path), text)
		return
	}
	v.Set(value)
}

// composite reports whether values of a type that decodes itself may be other
// than scalars.
func composite(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		return t != timeType
	case reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// numeric reports whether values of t are numbers or written like numbers, as
// durations are. A small type that decodes itself is an enumeration.
func numeric(t reflect.Type) bool {
	if enumNames(t) != nil || opaque(t) && t.Kind() != reflect.Int64 && t.Kind() != reflect.Float64 {
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

// decodeAs returns n as a value of type t. Errors are worded for people.
func decodeAs(n *yaml.Node, t reflect.Type) (reflect.Value, error) {
	v := reflect.New(t)
	if isNull(n) {
		return v.Elem(), errors.New("no value")
	}
	if names := enumNames(t); names != nil {
		i := slices.Index(names, n.Value)
		if i < 0 || n.Kind != yaml.ScalarNode {
			return v.Elem(), errors.New(unknown(n.Value, names))
		}
		setOrdinal(v.Elem(), i)
		return v.Elem(), nil
	}
	if t == durationType {
		d, err := time.ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			return v.Elem(), fmt.Errorf("want a duration such as 90s, 5m or 1h, not %q", n.Value)
		}
		v.Elem().SetInt(int64(d))
		return v.Elem(), nil
	}
	if !opaque(t) && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" && !holds(n, t) {
		return v.Elem(), fmt.Errorf("want %s, not %s", describeType(t), quote(n))
	}
	err := n.Decode(v.Interface())
	if err == nil {
		return v.Elem(), nil
	}
	if opaque(t) {
		return v.Elem(), errors.New(Reason(err))
	}
	return v.Elem(), fmt.Errorf("want %s, not %s", describeType(t), quote(n))
}

// holds reports whether a type holds a floating-point number exactly. For
// integers Node.Decode would cut off fractions, and convert numbers out of
// range to arbitrary ones.
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

func describeType(t reflect.Type) string {
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

// linePattern matches the place that yaml.v3 puts before its errors.
var linePattern = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// Reason returns the text of an error of yaml.v3 without prefix and line.
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

func quote(n *yaml.Node) string {
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
	return strconv.Quote(cut(n.Value))
}

// cut returns a text of which so much is left as a message shows.
func cut(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func namePath(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}
