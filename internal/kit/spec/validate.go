package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Problem is something wrong with values. Text says what; Paths are the paths of the values, the one to report first.
type Problem struct {
	Paths []string
	Text  string

	about bool // the text continues after the first path
}

func (p Problem) Error() string {
	if p.about {
		return p.Paths[0] + " " + p.Text
	}
	return p.Text
}

// Wrong returns a Problem of one value, whose text begins with its path.
func Wrong(path, format string, args ...any) error {
	return Problem{Paths: []string{path}, Text: fmt.Sprintf(format, args...), about: true}
}

// Validate returns what is wrong with a struct, or with what a pointer to one points to, by its tags and rules.
func Validate(v any) []Problem {
	var list []Problem
	validate(reflect.ValueOf(v), "", trail{}, &list)
	return list
}

// trail is the path of a value below another one's: most values are sound, and nobody reads the path.
type trail struct {
	above *trail
	key   string // "" at the top, and in a list
	place int    // 1 + index in a list, else 0
}

// path writes the trail out.
func (t *trail) path() string {
	above := ""
	if t.above != nil {
		above = t.above.path()
	}
	if t.place > 0 {
		return above + "[" + strconv.Itoa(t.place-1) + "]"
	}
	return Join(above, t.key)
}

func validate(v reflect.Value, tag reflect.StructTag, at trail, list *[]Problem) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		if !v.IsNil() {
			validate(v.Elem(), tag, at, list)
		}
	case opaque(t) && t.Kind() == reflect.Struct, t == nodeType, t == timeType:
	case t.Kind() == reflect.Struct:
		fields(v, &at, list)
		within(v, tag, &at, list)
		rules(v, &at, list)
	case t.Kind() == reflect.Slice:
		for i := range v.Len() {
			validate(v.Index(i), tag, trail{above: &at, place: i + 1}, list)
		}
	case t.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			validate(it.Value(), tag, trail{above: &at, key: fmt.Sprint(it.Key())}, list)
		}
	default:
		if text := flaw(v, tag); text != "" {
			path := at.path()
			*list = append(*list, Problem{Paths: []string{path}, Text: path + text})
		}
	}
}

// fields validates the content of a struct. An inlined struct has no bounds and
// rules of its own if the outer one has some: by promotion they are the same.
func fields(v reflect.Value, at *trail, list *[]Problem) {
	for _, m := range shapeOf(v.Type()).members {
		value := v.Field(m.at)
		if !m.inline {
			validate(value, m.Tag, trail{above: at, key: m.key}, list)
			continue
		}
		fields(value, at, list)
		if _, outer := method[Bounded](v); !outer {
			within(value, m.Tag, at, list)
		}
		if _, outer := method[Ruled](v); !outer {
			rules(value, at, list)
		}
	}
}

// method returns a struct, or its copy, as a T if it has T's methods.
func method[T any](v reflect.Value) (T, bool) {
	var none T
	if !v.CanInterface() || !reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[T]()) {
		return none, false
	}
	if !v.CanAddr() {
		own := reflect.New(v.Type()).Elem()
		own.Set(v)
		v = own
	}
	m, ok := v.Addr().Interface().(T)
	return m, ok
}

// within adds the reason why a struct is outside the bounds of its tag.
func within(v reflect.Value, tag reflect.StructTag, at *trail, list *[]Problem) {
	b, ok := method[Bounded](v)
	if !ok {
		return
	}
	low, high := math.Inf(-1), math.Inf(1)
	l := limitsOf(tag, v.Type())
	if l.min.set {
		low = l.min.at
	}
	if l.max.set {
		high = l.max.at
	}
	if err := b.Within(low, high); err != nil {
		*list = append(*list, below(at.path(), err))
	}
}

// rules adds the problems that the rules of a struct find.
func rules(v reflect.Value, at *trail, list *[]Problem) {
	r, ok := method[Ruled](v)
	if !ok {
		return
	}
	for _, err := range r.Rules() {
		*list = append(*list, below(at.path(), err))
	}
}

// below turns an error of a struct into a problem of the struct that contains it.
func below(path string, err error) Problem {
	var p Problem
	if !errors.As(err, &p) {
		p = Problem{Paths: []string{""}, Text: err.Error()}
	}
	if path == "" {
		return p
	}
	own := Problem{Text: p.Text, about: p.about}
	for _, at := range p.Paths {
		own.Paths = append(own.Paths, strings.TrimSuffix(path+"."+at, "."))
	}
	if !p.about {
		own.Text = path + ": " + p.Text
	}
	return own
}

// Place returns a problem of values below root as an error at the first value that the file has,
// followed by the places of the rest.
func (t *Tree) Place(root *yaml.Node, p Problem) error { return t.place(root, p, "") }

func (t *Tree) place(n *yaml.Node, p Problem, path string) error {
	var first *yaml.Node
	var others []string
	for _, full := range p.Paths {
		at := strings.TrimPrefix(strings.TrimPrefix(full, path), ".")
		reached, all := reach(n, at)
		switch {
		case all && first == nil:
			first = reached
		case all:
			others = append(others, full+" at "+t.At(reached))
		case len(p.Paths) == 2:
			others = append(others, full+" by default")
		}
	}
	if first == nil && len(p.Paths) > 0 {
		first = Reach(n, strings.TrimPrefix(strings.TrimPrefix(p.Paths[0], path), "."))
	}
	text := p.Error()
	if len(others) > 0 && len(p.Paths) > 1 {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return t.Errorf(cmp.Or(first, n), "%s", text)
}

// maxAxis is the largest number of values of one axis.
const maxAxis = 10_000

// Axis is a list or a range instead of one value: a swept parameter.
type Axis struct {
	Path   string       // keys of the parameter, joined by dots
	Node   *yaml.Node   // the list; Choose replaces it
	Values []*yaml.Node // the values in canonical form, at least one, each once
	Texts  []string     // their texts
}

// Choose replaces the list by value i.
func (a *Axis) Choose(i int) {
	line, column := a.Node.Line, a.Node.Column
	*a.Node = *a.Values[i]
	a.Node.Line, a.Node.Column = line, column
}

// List returns a list node of all values.
func (a *Axis) List() *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, v := range a.Values {
		n.Content = append(n.Content, Clone(v))
	}
	return n
}

// axis collects the values of a list that replaces one value of type t.
func (c *Checker) axis(n *yaml.Node, values []*yaml.Node, t reflect.Type, tag reflect.StructTag, path string) {
	if len(values) == 0 {
		c.errorf(n, "axis %s has no values", path)
		return
	}
	a := Axis{Path: path, Node: n}
	first := map[string]int{}
	for _, value := range values {
		v, ok := c.axisValue(value, t, tag, path)
		if !ok {
			continue
		}
		canonical, text := canonical(value, v)
		if line, ok := first[text]; ok {
			c.errorf(value, "axis %s has the value %s twice, first in line %d", path, text, line)
			continue
		}
		first[text] = value.Line
		a.Values, a.Texts = append(a.Values, canonical), append(a.Texts, text)
	}
	c.add(a)
}

func (c *Checker) axisValue(n *yaml.Node, t reflect.Type, tag reflect.StructTag, path string) (reflect.Value, bool) {
	v := reflect.New(t).Elem()
	own := Checker{Tree: c.Tree, single: true}
	own.read(n, v, tag, path, false)
	if isNull(n) && len(own.Errs) == 0 {
		own.errorf(n, "%s: no value", path)
	}
	c.Errs, c.lost = append(c.Errs, own.Errs...), append(c.lost, own.lost...)
	return v, len(own.Errs) == 0
}

func (c *Checker) add(a Axis) {
	switch {
	case len(a.Values) > maxAxis:
		c.errorf(a.Node, "axis %s has %d values, more than %d", a.Path, len(a.Values), maxAxis)
	case len(a.Values) == 1:
		a.Choose(0) // a list of one value is the same as that value
	case len(a.Values) > 1:
		c.Axes = append(c.Axes, a)
	}
}

// canonical returns a decoded value in the form in which it is written back, so that
// equal values have equal texts. A type that cannot be written back keeps its form.
func canonical(n *yaml.Node, v reflect.Value) (*yaml.Node, string) {
	if opaque(v.Type()) && !v.Type().Implements(reflect.TypeFor[yaml.Marshaler]()) {
		return Clone(n), Flow(n)
	}
	out, err := Encode(v.Interface())
	if err != nil {
		return Clone(n), Flow(n)
	}
	return out, Flow(out)
}

// isRange reports whether n has the form {from: …, to: …, step: …}.
func isRange(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && Child(n, "from") != nil
}

// rangeAxis lists the values of a range: from, from + step, … up to to.
func (c *Checker) rangeAxis(n *yaml.Node, t reflect.Type, tag reflect.StructTag, path string) {
	field := func(name, key string, tag reflect.StructTag) reflect.StructField {
		return reflect.StructField{Name: name, Type: t, Tag: reflect.StructTag(`yaml:"`+key+`" `) + tag}
	}
	v := reflect.New(reflect.StructOf([]reflect.StructField{field("From", "from", tag), field("To", "to", tag), field("Step", "step", "")})).Elem()
	own := Checker{Tree: c.Tree, single: true}
	own.read(n, v, "", path, false)
	if c.Errs = append(c.Errs, own.Errs...); len(own.Errs) > 0 {
		return
	}
	from, to, step := number(v.Field(0)), number(v.Field(1)), number(v.Field(2))
	const (
		slack = 1e-9    // a share of a step: 0.1 + 0.1 + 0.1 is not quite 0.3
		exact = 1 << 53 // whole numbers up to here are exact
	)
	count := math.Floor((to-from)/step+slack) + 1
	switch {
	case Child(n, "to") == nil:
		c.errorf(n, "range %s: no to", path)
		return
	case !(math.Abs(from) <= exact && math.Abs(to) <= exact && step <= exact):
		c.errorf(n, "range %s: want numbers of at most 2^53", path)
		return
	case !(step > 0):
		c.errorf(n, "range %s: step must be above 0", path)
		return
	case !(count >= 1):
		c.errorf(n, "range %s has no values: to is below from", path)
		return
	case count > maxAxis:
		c.errorf(n, "range %s has %.0f values, more than %d", path, count, maxAxis)
		return
	}
	a := Axis{Path: path, Node: n}
	for i := range int(count) {
		at := reflect.New(t).Elem()
		setNumber(at, from+float64(i)*step)
		value, text := canonical(n, at)
		if i > 0 && text == a.Texts[i-1] {
			c.errorf(n, "range %s has the value %s twice: the step is too small", path, text)
			return
		}
		a.Values, a.Texts = append(a.Values, value), append(a.Texts, text)
	}
	c.add(a)
}

// number returns a value of a numeric type.
func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

// setNumber sets a value of a numeric type. Floating-point numbers are rounded to 12
// digits, so that steps of a tenth look like tenths.
func setNumber(v reflect.Value, f float64) {
	switch {
	case v.CanInt():
		v.SetInt(int64(f))
	case v.CanUint():
		v.SetUint(uint64(f))
	default:
		if r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
			f = r
		}
		v.SetFloat(f)
	}
}
