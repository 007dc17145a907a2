package strategies

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML returns the strategy as a preset with every parameter written out and
// explained. AddPreset reads it back to equal parameters.
func (s *Strategy) YAML() ([]byte, error) {
	root := mapping()
	put(root, "name", scalar(s.Name), "")
	put(root, "doc", scalar(s.Doc), "")
	put(root, "rank", leaf(s.rank), "place in lists, smallest first")
	layers := &yaml.Node{Kind: yaml.SequenceNode}
	var group *yaml.Node
	for i, c := range s.layers {
		list := layers
		if c.group > 0 {
			if i == 0 || s.layers[i-1].group != c.group {
				group = &yaml.Node{Kind: yaml.SequenceNode}
				layers.Content = append(layers.Content,
					item(firstOf, group, "ahead of a request, the first of these that acts bars the rest"))
			}
			list = group
		}
		list.Content = append(list.Content, item(c.def.Name, c.node(), c.def.Doc))
	}
	if len(s.layers) == 0 {
		layers.Style = yaml.FlowStyle
	}
	put(root, "layers", layers, "in the order they are asked")
	if len(s.exclusive) > 0 {
		put(root, "exclusive", leaf(s.exclusive), "ahead of a request, of each list only one acts")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write strategy %s: %w", s.Name, err)
	}
	return b.Bytes(), nil
}

// node returns the parameters of a layer as YAML.
func (c *configured) node() *yaml.Node {
	n := mapping()
	if c.params == nil {
		n.Style = yaml.FlowStyle
		return n
	}
	walk(reflect.ValueOf(c.params).Elem(), func(name string, tag reflect.StructTag, v reflect.Value, into any) any {
		at, doc := into.(*yaml.Node), tag.Get("doc")
		if v.Kind() == reflect.Struct {
			sub := mapping()
			put(at, name, sub, doc)
			return sub
		}
		put(at, name, leaf(v.Interface()), doc)
		return nil
	}, n)
	return n
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// leaf returns a value on one line.
func leaf(v any) *yaml.Node {
	n := new(yaml.Node)
	if err := n.Encode(v); err != nil {
		return scalar(fmt.Sprint(v))
	}
	if n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	return n
}

// item returns a list item of one key, its comment above it.
func item(key string, value *yaml.Node, comment string) *yaml.Node {
	n := mapping()
	put(n, key, value, "")
	n.HeadComment = comment
	return n
}

func put(to *yaml.Node, key string, value *yaml.Node, comment string) {
	to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, HeadComment: comment}, value)
}

// walk calls visit for every field of a struct of parameters, in order, with
// its YAML name and its tag. What visit returns for a nested struct is
// handed to the visits of its fields.
func walk(v reflect.Value, visit func(name string, tag reflect.StructTag, v reflect.Value, into any) any, into any) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(rest, "inline"):
			walk(v.Field(i), visit, into)
		default:
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			below := visit(name, f.Tag, v.Field(i), into)
			if v.Field(i).Kind() == reflect.Struct {
				walk(v.Field(i), visit, below)
			}
		}
	}
}

// Parameter is one parameter of a layer.
type Parameter struct {
	Path  string // "trigger.reserve"
	Doc   string
	Value string // as YAML on one line
}

// Parameters lists the parameters of a layer, nested ones by path, in order.
// It takes a struct of parameters, as Strategy.Params returns it, or a pointer
// to one.
func Parameters(params any) []Parameter {
	var list []Parameter
	v := reflect.Indirect(reflect.ValueOf(params))
	if v.Kind() != reflect.Struct {
		return nil
	}
	walk(v, func(name string, tag reflect.StructTag, v reflect.Value, into any) any {
		path := into.(string) + name
		if v.Kind() != reflect.Struct {
			list = append(list, Parameter{path, tag.Get("doc"), oneLine(v.Interface())})
		}
		return path + "."
	}, "")
	return list
}

func oneLine(v any) string {
	b, err := yaml.Marshal(leaf(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(b))
}

// negatives returns an error for every number below zero among parameters.
// Triggers check themselves.
func negatives(params any) []error {
	v := reflect.Indirect(reflect.ValueOf(params))
	if !anyNegative(v) {
		return nil // as good as always, and asked for each thread of a run
	}
	var errs []error
	walk(v, func(name string, _ reflect.StructTag, v reflect.Value, into any) any {
		path := into.(string) + name
		if v.CanInt() && v.Int() < 0 && !strings.HasPrefix(path, "trigger.") {
			errs = append(errs, fmt.Errorf("%s %d must not be negative", path, v.Int()))
		}
		return path + "."
	}, "")
	return errs
}

// anyNegative reports whether a number in a struct is below zero.
func anyNegative(v reflect.Value) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.CanInt() && f.Int() < 0 || f.Kind() == reflect.Struct && anyNegative(f) {
			return true
		}
	}
	return false
}

// Difference is a parameter in which two strategies differ. A value is "" where
// the strategy does not have the layer.
type Difference struct {
	Path string // "full-compact.trigger.reserve"
	A, B string
}

// Diff returns the parameters in which two strategies differ: layers that only
// one of them has by their name, others parameter by parameter.
func Diff(a, b *Strategy) []Difference {
	var list []Difference
	if x, y := a.Order(), b.Order(); x != y {
		list = append(list, Difference{"layers", x, y})
	}
	for _, c := range a.layers {
		of := b.Params(c.def.Name)
		if of == nil || c.params == nil {
			continue
		}
		other := Parameters(of)
		for i, p := range Parameters(c.params) {
			if p.Value != other[i].Value {
				list = append(list, Difference{c.def.Name + "." + p.Path, p.Value, other[i].Value})
			}
		}
	}
	return list
}

// Order returns the layers as one line in the order they are asked; of those
// joined by "else" the first that acts bars the rest.
func (s *Strategy) Order() string { return order(s.layers) }

// InUse is Order without the layers that are off.
func (s *Strategy) InUse() string { return order(s.active()) }

func order(layers []configured) string {
	var b strings.Builder
	for i, c := range layers {
		switch {
		case i == 0:
		case c.group > 0 && layers[i-1].group == c.group:
			b.WriteString(" else ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(c.def.Name)
	}
	return b.String()
}
