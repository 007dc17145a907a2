package spec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
)

// field returns the field of a struct type with a YAML key, those of inlined
// structs included.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(rest, "inline"):
			if inner, ok := field(f.Type, key); ok {
				return inner, true
			}
		case name == key || name == "" && strings.ToLower(f.Name) == key:
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// Paths returns the keys that lead to every field of a struct type, joined by
// dots, in the order of the fields. Lists, maps and types that decode
// themselves end a path.
func Paths(v any) []string { return paths(nil, reflect.TypeOf(v), "") }

func paths(dst []string, t reflect.Type, path string) []string {
	t = base(t)
	if t.Kind() != reflect.Struct || opaque(t) || t == nodeType {
		return dst
	}
	for _, key := range Keys(t) {
		f, _ := field(t, key)
		dst = append(dst, Join(path, key))
		dst = paths(dst, f.Type, Join(path, key))
	}
	return dst
}

func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// CheckPath returns an error that names the nearest path when keys do not lead
// to a field of v's type.
func CheckPath(v any, keys ...string) error {
	t := base(reflect.TypeOf(v))
	for _, key := range keys {
		ok := false
		switch {
		case opaque(t) || t == nodeType:
		case t.Kind() == reflect.Map:
			t, ok = base(t.Elem()), true
		case t.Kind() == reflect.Struct:
			var f reflect.StructField
			if f, ok = field(t, key); ok {
				t = base(f.Type)
			}
		}
		if !ok {
			path := strings.Join(keys, ".")
			return fmt.Errorf("unknown parameter %q%s", path, nearest.Hint(path, Paths(v)))
		}
	}
	return nil
}
