package strategies

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"gopkg.in/yaml.v3"
)

// YAML returns the strategy as a preset with every parameter written out and
// explained. AddPreset reads it back to equal parameters.
func (s *Strategy) YAML() ([]byte, error) {
	root, err := s.Node()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write strategy %s: %w", s.Name, err)
	}
	return b.Bytes(), nil
}

// Node returns the mapping that [Strategy.YAML] writes. It is the caller's to change.
func (s *Strategy) Node() (*yaml.Node, error) {
	root := mapping()
	put(root, "name", spec.Text(s.Name), "")
	put(root, "doc", spec.Text(s.Doc), "")
	put(root, "rank", encoded(s.rank), "place in lists, smallest first")
	if s.Origin != (Origin{}) {
		origin, err := spec.Describe(&s.Origin)
		if err != nil {
			return nil, fmt.Errorf("write strategy %s: %w", s.Name, err)
		}
		root.Content = append(root.Content, origin.Content...)
	}
	if s.Generation.Agent != "" {
		generation, err := spec.Describe(&s.Generation)
		if err != nil {
			return nil, fmt.Errorf("write strategy %s: %w", s.Name, err)
		}
		put(root, "generation", generation, "whose client this is")
	}
	if s.client != nil {
		put(root, "client", spec.Clone(s.client), "the client half, in sessions of that agent")
	}
	if s.own != nil {
		put(root, "own", encoded(true), "each session under the generation of its own client; layers change the layers of the generations")
	}
	layers := &yaml.Node{Kind: yaml.SequenceNode}
	var group *yaml.Node
	for i, c := range s.layers {
		list := layers
		if c.group > 0 {
			if i == 0 || s.layers[i-1].group != c.group {
				group = &yaml.Node{Kind: yaml.SequenceNode}
				layers.Content = append(layers.Content,
					item(firstOf, group, "before a request, only the first of these that can act does"))
			}
			list = group
		}
		params, err := c.node()
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, item(c.def.Name, params, c.def.Doc))
	}
	if len(s.layers) == 0 {
		layers.Style = yaml.FlowStyle
	}
	put(root, "layers", layers, "in the order they are asked")
	if len(s.exclusive) > 0 {
		put(root, "exclusive", encoded(s.exclusive), "before a request, only one of each list acts")
	}
	return root, nil
}

// node returns the parameters of a layer as YAML.
func (c *configured) node() (*yaml.Node, error) {
	if c.given != nil {
		return spec.Clone(c.given), nil
	}
	if c.params == nil {
		n := mapping()
		n.Style = yaml.FlowStyle
		return n, nil
	}
	n, err := spec.Describe(c.params)
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", c.def.Name, err)
	}
	return n, nil
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// encoded returns a number or a list of texts on one line.
func encoded(v any) *yaml.Node {
	n, err := spec.Encode(v)
	if err != nil {
		return spec.Text(fmt.Sprint(v))
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

// Diff returns the parameters in which a strategy differs from another, such as full-compact.trigger.reserve, with
// their values as YAML: the order of the layers, then layer by layer what both have.
func (s *Strategy) Diff(b *Strategy) (list []struct{ Path, A, B string }) {
	if x, y := s.Order(), b.Order(); x != y {
		list = append(list, spec.Difference{Path: "layers", A: x, B: y})
	}
	for _, c := range s.layers {
		if at := slices.IndexFunc(b.layers, func(o configured) bool { return o.def.Name == c.def.Name }); c.given != nil && at >= 0 {
			if x, y := spec.Flow(c.given), spec.Flow(b.layers[at].given); b.own != nil && x != y {
				list = append(list, spec.Difference{Path: c.def.Name, A: x, B: y})
			}
		}
		other := b.Params(c.def.Name)
		if other == nil || c.params == nil {
			continue
		}
		for _, d := range spec.Diff(c.params, other) {
			d.Path = spec.Join(c.def.Name, d.Path)
			list = append(list, d)
		}
	}
	return list
}

// Order returns the layers as one line in the order they are asked. Of layers joined by "else" the
// first that acts bars the rest.
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

// Mechanism is a parameter of a layer that can be switched: a boolean, or one
// whose tag off names the value that takes it out of action.
type Mechanism struct {
	Path string // "full-compact.manual"
	Now  string // its value, as YAML on one line
	Then string // the value that switches it
	On   bool   // it is in force: switching takes it away
}

// Mechanisms returns what can be switched in a strategy, in order of the layers and their
// parameters. Of a layer that is off it lists only the layer's own switch.
func (s *Strategy) Mechanisms() []Mechanism {
	var list []Mechanism
	for i := range s.layers {
		c := &s.layers[i]
		if c.params == nil {
			continue
		}
		for _, m := range Switches(c.params) {
			m.Path = spec.Join(c.def.Name, m.Path)
			list = append(list, m)
			if !c.on() {
				break // a switch comes first among the parameters
			}
		}
	}
	return list
}

// Switches returns what can be switched among the parameters of a struct.
func Switches(params any) []Mechanism {
	var list []Mechanism
	spec.Fields(params, func(f *spec.Field) {
		m := Mechanism{Path: f.Path, Now: f.Text(), On: true}
		off, given := f.Tag.Lookup("off")
		switch {
		case f.Nested():
			return
		case given:
			m.Then = off
		case f.Value.Kind() == reflect.Bool:
			other := reflect.New(f.Value.Type()).Elem()
			other.SetBool(!f.Value.Bool())
			m.Then = spec.Line(other.Interface())
			m.On = m.Now == "true" || m.Now != "false" && f.Value.Bool()
		default:
			return
		}
		if m.Now != m.Then {
			list = append(list, m)
		}
	})
	return list
}

// Odd returns what is odd about a strategy under given limits, beside what is wrong with it:
// layers that cannot act, and ones that keep more than they act at.
func (s *Strategy) Odd(r *Reading) []string {
	var list []string
	if len(s.active()) == 0 {
		list = append(list, "no layer is on: it sends everything")
	}
	for _, c := range s.active() {
		say := func(format string, args ...any) {
			list = append(list, c.def.Name+": "+fmt.Sprintf(format, args...))
		}
		tr := c.trigger()
		if tr == nil {
			continue
		}
		var keep KeepSet
		var conditions when
		switch p := c.params.(type) {
		case *CompactParams:
			keep, conditions = p.Keep.KeepSet, p.When
		case *clearParams:
			keep, conditions = p.Keep, p.When
		case *truncateParams:
			keep, conditions = p.Keep, p.When
		case *distilParams:
			keep, conditions = p.Keep, p.When
		}
		for i := range conditions.All {
			if v, ok := conditions.All[i].Value(r); ok && conditions.All[i].Measure.tokens() && v >= r.Window {
				say("when.all[%d] asks for %d tokens, which a window of %d does not hold: it cannot act", i, v, r.Window)
			}
		}
		level, ok := tr.Value(r)
		if most, what := keep.most(tr.Measure, r); ok && what != "" && most >= level {
			say("keep.%s keeps %d, and it acts at %d: there is nothing left to take away", what, most, level)
		}
	}
	return list
}

// most returns how much of what a trigger measures may stay at the most, and by which
// limit; "" where these do not compare.
func (k *KeepSet) most(m Measure, r *Reading) (int64, string) {
	switch {
	case m.tokens() && k.Window > 0 && (k.Tokens == 0 || k.Tokens > int64(k.Window*float64(r.Window))):
		return int64(k.Window * float64(r.Window)), "window"
	case m.tokens() && k.Tokens > 0:
		return k.Tokens, "tokens"
	case m == measureMessages && k.Messages > 0:
		return int64(k.First + k.Messages), "messages"
	case m == measurePrompts && k.Prompts > 0:
		return int64(k.Prompts), "prompts"
	}
	return 0, ""
}
