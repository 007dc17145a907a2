package spec

import (
	"math"
	"reflect"
	"strconv"

	"gopkg.in/yaml.v3"
)

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

// axisValue returns one value of an axis.
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
