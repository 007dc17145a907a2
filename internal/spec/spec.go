// Package spec reads YAML strictly: unknown keys, duplicate keys and a second
// document are errors, all reported at once, each with file, line and the
// nearest known name.
package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"gopkg.in/yaml.v3"
)

// Decode reads one document of the file called name into v.
func Decode(text []byte, name string, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err := dec.Decode(v)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: empty document", name)
	case err != nil:
		return Errors(name, err, v)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document", name)
	}
	return nil
}

// Lazy is a value whose type is not known until its surroundings are read. It
// keeps strictness and true lines, which yaml.Node.Decode would lose.
type Lazy struct{ decode func(any) error }

// UnmarshalYAML keeps the decoder for later.
func (l *Lazy) UnmarshalYAML(decode func(any) error) error {
	l.decode = decode
	return nil
}

// Decode reads the value into v.
func (l *Lazy) Decode(v any) error {
	if l.decode == nil {
		return nil
	}
	return l.decode(v)
}

var (
	linePattern    = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknownPattern = regexp.MustCompile(`^field (\S+) not found in type (\S+)$`)
)

// Errors turns what yaml.v3 reports into errors of the form file:line: text,
// joined. The fields of v's type serve for hints.
func Errors(name string, err error, v any) error {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return fmt.Errorf("%s", locate(name, err.Error()))
	}
	var all []error
	for _, text := range te.Errors {
		all = append(all, errors.New(locate(name, withHint(text, v))))
	}
	return errors.Join(all...)
}

func locate(name, text string) string {
	if m := linePattern.FindStringSubmatch(text); m != nil {
		return name + ":" + m[1] + ": " + m[2]
	}
	return name + ": " + strings.TrimPrefix(text, "yaml: ")
}

// withHint words an unknown key for people and adds the nearest known one.
func withHint(text string, v any) string {
	m := linePattern.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	u := unknownPattern.FindStringSubmatch(m[2])
	if u == nil {
		return text
	}
	keys := keysOf(reflect.TypeOf(v), u[2], map[reflect.Type]bool{})
	return fmt.Sprintf("line %s: unknown key %q%s", m[1], u[1], nearest.Hint(u[1], keys))
}

// keysOf finds the struct type called name within t and returns its YAML keys.
func keysOf(t reflect.Type, name string, seen map[reflect.Type]bool) []string {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	if t.String() == name {
		return Keys(t)
	}
	for i := range t.NumField() {
		if keys := keysOf(t.Field(i).Type, name, seen); keys != nil {
			return keys
		}
	}
	return nil
}

// Keys returns the YAML keys of a struct type, those of inlined fields
// included.
func Keys(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || key == "-":
		case strings.Contains(rest, "inline"):
			keys = append(keys, Keys(f.Type)...)
		case key == "":
			keys = append(keys, strings.ToLower(f.Name))
		default:
			keys = append(keys, key)
		}
	}
	return keys
}
