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

// Problem is something wrong with values. Text says what; Paths are the paths of the values, the
// one to report first.
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

// Validate returns what is wrong with a struct, or with what a pointer to one
// points to, by its tags and rules.
func Validate(v any) []Problem {
	var list []Problem
	validate(reflect.ValueOf(v), "", "", &list)
	return list
}

func validate(v reflect.Value, tag reflect.StructTag, path string, list *[]Problem) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		if !v.IsNil() {
			validate(v.Elem(), tag, path, list)
		}
	case opaque(t) && t.Kind() == reflect.Struct, t == nodeType, t == timeType:
	case t.Kind() == reflect.Struct:
		fields(v, path, list)
		within(v, tag, path, list)
		rules(v, path, list)
	case t.Kind() == reflect.Slice:
		for i := range v.Len() {
			validate(v.Index(i), tag, path+"["+strconv.Itoa(i)+"]", list)
		}
	case t.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			validate(it.Value(), tag, Join(path, fmt.Sprint(it.Key())), list)
		}
	default:
		if text := flaw(v, tag); text != "" {
			*list = append(*list, Problem{Paths: []string{path}, Text: path + text})
		}
	}
}

// fields validates the content of a struct. An inlined struct has no bounds and
// rules of its own if the outer one has some: by promotion they are the same.
func fields(v reflect.Value, path string, list *[]Problem) {
	for _, m := range shapeOf(v.Type()).members {
		value := v.Field(m.at)
		if !m.inline {
			validate(value, m.Tag, Join(path, m.key), list)
			continue
		}
		fields(value, path, list)
		if _, outer := method[Bounded](v); !outer {
			within(value, m.Tag, path, list)
		}
		if _, outer := method[Ruled](v); !outer {
			rules(value, path, list)
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
func within(v reflect.Value, tag reflect.StructTag, path string, list *[]Problem) {
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
		*list = append(*list, below(path, err))
	}
}

// rules adds the problems that the rules of a struct find.
func rules(v reflect.Value, path string, list *[]Problem) {
	r, ok := method[Ruled](v)
	if !ok {
		return
	}
	for _, err := range r.Rules() {
		*list = append(*list, below(path, err))
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

// place is Place for a node at a path.
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
