package spec

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Problem is something wrong with values: Text says what, Paths lead to them, the
// one to report first.
type Problem struct {
	Paths []string
	Text  string

	about bool // the text goes on behind the first path
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

// Validate returns what is wrong with a struct, or what a pointer to one leads to,
// by its tags and rules.
func Validate(v any) []Problem {
	var list []Problem
	validate(reflect.ValueOf(v), "", "", &list)
	return list
}

// Err returns problems as one error, nil when there are none.
func Err(problems []Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
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
		for i := range t.NumField() {
			f := t.Field(i)
			name, inline, ok := keyOf(&f)
			switch {
			case ok && inline:
				validateInline(v.Field(i), path, ruledBy(v), list)
			case ok:
				validate(v.Field(i), f.Tag, Join(path, name), list)
			}
		}
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

// validateInline is validate without the rules of the struct where those of the
// outer one count: by promotion they are the same.
func validateInline(v reflect.Value, path string, ruled bool, list *[]Problem) {
	var all []Problem
	validate(v, "", path, &all)
	if ruled {
		var own []Problem
		rules(v, path, &own)
		all = all[:len(all)-len(own)] // rules come last
	}
	*list = append(*list, all...)
}

func ruledBy(v reflect.Value) bool {
	return reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[Ruled]())
}

// rules appends what the rules of a struct say.
func rules(v reflect.Value, path string, list *[]Problem) {
	if !ruledBy(v) || !v.CanInterface() {
		return
	}
	if !v.CanAddr() {
		own := reflect.New(v.Type()).Elem()
		own.Set(v)
		v = own
	}
	for _, err := range v.Addr().Interface().(Ruled).Rules() {
		*list = append(*list, below(path, err))
	}
}

// below returns an error of a struct as a problem of what the struct is part of.
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

// Place returns a problem of values below root as an error at the first of them
// that the file has, with the places of the others behind.
func (t *Tree) Place(root *yaml.Node, p Problem) error { return t.place(root, p, "") }

// place is Place for a node that a path leads to.
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
