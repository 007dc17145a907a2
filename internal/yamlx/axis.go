package yamlx

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxAxis is the most values of one axis.
const MaxAxis = 10_000

// Axis is a list or a range where one value stands: a parameter that is swept.
type Axis struct {
	Path   string       // keys that lead to the parameter, joined by dots
	Node   *yaml.Node   // where the list stands; Choose replaces it
	Values []*yaml.Node // the values in canonical form, at least one, each once
	Texts  []string     // the same as texts
}

// Choose puts value i in the place of the list.
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

// axis collects the values of a list in the place of one value of type t.
func (c *Checker) axis(n *yaml.Node, values []*yaml.Node, t reflect.Type, path string) {
	if len(values) == 0 {
		c.errorf(n, "axis %s has no values", path)
		return
	}
	a := Axis{Path: path, Node: n}
	first := map[string]int{}
	for _, value := range values {
		v, err := decoded(value, t)
		if err != nil {
			c.errorf(value, "%s: %w", path, err)
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

func (c *Checker) add(a Axis) {
	switch {
	case len(a.Values) > MaxAxis:
		c.errorf(a.Node, "axis %s has %d values, more than %d", a.Path, len(a.Values), MaxAxis)
	case len(a.Values) == 1:
		a.Choose(0) // a list of one value is that value
	case len(a.Values) > 1:
		c.Axes = append(c.Axes, a)
	}
}

// canonical returns a decoded value as it is written back, so that equal values
// have equal texts. A type that only reads itself keeps its form.
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

// Flow writes a node on one line.
func Flow(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	c := Clone(n)
	c.Style = yaml.FlowStyle
	text, err := yaml.Marshal(c)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// isRange reports whether n is written {from: …, to: …, step: …}.
func isRange(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && Child(n, "from") != nil
}

// rangeAxis lists the values of a range: from, from + step, … as far as to.
func (c *Checker) rangeAxis(n *yaml.Node, t reflect.Type, path string) {
	bounds := map[string]float64{}
	before := len(c.Errs)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != "from" && key.Value != "to" && key.Value != "step" {
			c.errorf(key, "range %s: unknown key %q; want from, to and step", path, key.Value)
			continue
		}
		v, err := decoded(value, t)
		if err != nil {
			c.errorf(value, "range %s: %s: %w", path, key.Value, err)
			continue
		}
		bounds[key.Value] = asFloat(v)
	}
	if len(c.Errs) > before {
		return
	}
	steps, err := countSteps(bounds)
	if err != nil {
		c.errorf(n, "range %s: %w", path, err)
		return
	}
	a := Axis{Path: path, Node: n}
	for i := range steps {
		v := reflect.New(t).Elem()
		setFloat(v, bounds["from"]+float64(i)*bounds["step"])
		value, text := canonical(n, v)
		a.Values, a.Texts = append(a.Values, value), append(a.Texts, text)
	}
	c.add(a)
}

// countSteps returns the number of values of a range.
func countSteps(bounds map[string]float64) (int, error) {
	for _, key := range []string{"to", "step"} {
		if _, ok := bounds[key]; !ok {
			return 0, fmt.Errorf("no %s", key)
		}
	}
	from, to, step := bounds["from"], bounds["to"], bounds["step"]
	switch {
	case !(step > 0):
		return 0, fmt.Errorf("step must be above 0")
	case !(to >= from):
		return 0, fmt.Errorf("has no values: to is below from")
	}
	const slack = 1e-9 // a share of a step: 0.1 + 0.1 + 0.1 is not quite 0.3
	n := math.Floor((to-from)/step+slack) + 1
	if n > MaxAxis {
		return 0, fmt.Errorf("has %.0f values, more than %d", n, MaxAxis)
	}
	return int(n), nil
}

func asFloat(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

// setFloat sets a number, floating-point ones to 12 digits so that steps of a
// tenth look like it.
func setFloat(v reflect.Value, f float64) {
	switch {
	case v.CanInt():
		v.SetInt(int64(math.Round(f)))
	case v.CanUint():
		v.SetUint(uint64(math.Round(f)))
	default:
		if r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
			f = r
		}
		v.SetFloat(f)
	}
}
