package spec

import (
	"fmt"
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
	bounds := map[string]reflect.Value{}
	before := len(c.Errs)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		_, again := bounds[key.Value]
		v, err := decoded(value, t)
		switch {
		case key.Value != "from" && key.Value != "to" && key.Value != "step":
			c.errorf(key, "range %s: unknown key %q; want from, to and step", path, key.Value)
		case again:
			c.errorf(key, "range %s: key %q is repeated", path, key.Value)
		case err != nil:
			c.errorf(value, "range %s: %s: %w", path, key.Value, err)
		case v.CanFloat() && (math.IsInf(v.Float(), 0) || math.IsNaN(v.Float())):
			c.errorf(value, "range %s: %s: %s is no number to count with", path, key.Value, value.Value)
		case key.Value != "step" && flaw(v, tag) != "":
			c.errorf(value, "range %s: %s%s", path, key.Value, flaw(v, tag))
		default:
			bounds[key.Value] = v
		}
	}
	if len(c.Errs) > before {
		return
	}
	a := Axis{Path: path, Node: n}
	values, err := stepped(bounds, t)
	if err != nil {
		c.errorf(n, "range %s: %w", path, err)
		return
	}
	for i, v := range values {
		value, text := canonical(n, v)
		if i > 0 && text == a.Texts[i-1] {
			c.errorf(n, "range %s has the value %s twice: the step is too small", path, text)
			return
		}
		a.Values, a.Texts = append(a.Values, value), append(a.Texts, text)
	}
	c.add(a)
}

// stepped returns the values of a range.
func stepped(bounds map[string]reflect.Value, t reflect.Type) ([]reflect.Value, error) {
	for _, key := range []string{"to", "step"} {
		if _, ok := bounds[key]; !ok {
			return nil, fmt.Errorf("no %s", key)
		}
	}
	from, step := bounds["from"], bounds["step"]
	n, err := countSteps(from, bounds["to"], step)
	if err != nil {
		return nil, err
	}
	values := make([]reflect.Value, n+1)
	for i := range values {
		values[i] = reflect.New(t).Elem()
		setStep(values[i], from, step, i)
	}
	return values, nil
}

// countSteps returns how often a step fits into a range. Whole numbers are
// counted as integers, because a float64 does not hold all of them.
func countSteps(from, to, step reflect.Value) (int, error) {
	const slack = 1e-9 // a share of a step: 0.1 + 0.1 + 0.1 is not quite 0.3
	var forward, ordered bool
	var n float64
	switch {
	case from.CanInt():
		forward, ordered = step.Int() > 0, to.Int() >= from.Int()
		n = float64((uint64(to.Int()) - uint64(from.Int())) / max(uint64(step.Int()), 1))
	case from.CanUint():
		forward, ordered = step.Uint() > 0, to.Uint() >= from.Uint()
		n = float64((to.Uint() - from.Uint()) / max(step.Uint(), 1))
	default:
		forward, ordered = step.Float() > 0, to.Float() >= from.Float()
		n = math.Floor((to.Float()-from.Float())/step.Float() + slack)
	}
	switch {
	case !forward:
		return 0, fmt.Errorf("step must be above 0")
	case !ordered:
		return 0, fmt.Errorf("has no values: to is below from")
	case n >= maxAxis:
		return 0, fmt.Errorf("has %.0f values, more than %d", n+1, maxAxis)
	}
	return int(n), nil
}

// setStep sets v to from + i × step. Floating-point numbers are rounded to 12
// digits, so that steps of a tenth look like tenths.
func setStep(v, from, step reflect.Value, i int) {
	switch {
	case v.CanInt():
		v.SetInt(from.Int() + int64(i)*step.Int())
	case v.CanUint():
		v.SetUint(from.Uint() + uint64(i)*step.Uint())
	default:
		f := from.Float() + float64(i)*step.Float()
		if r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
			f = r
		}
		v.SetFloat(f)
	}
}
