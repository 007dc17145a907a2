package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PassedOver counts what a reader did not know and went without, by name: members
// that a later version of the tool adds to results of the same schema. The names
// of nested members are joined by dots, without places in lists.
type PassedOver map[string]int

// Decode decodes one JSON value into v, which is a pointer to a zero value, and
// counts the members that v has no place for. The line numbers of errors are
// those in data.
func (p PassedOver) Decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	return p.count(jsontext.NewDecoder(bytes.NewBuffer(data)), reflect.TypeOf(v), "")
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// count goes through a value that is decoded into a type and has a name.
func (p PassedOver) count(d *jsontext.Decoder, t reflect.Type, name string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := d.PeekKind()
	elem := t
	var members map[string]reflect.Type
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		return d.SkipValue()
	case kind == '{' && t.Kind() == reflect.Struct:
		members = map[string]reflect.Type{}
		memberTypes(t, members)
	case kind == '{' && t.Kind() == reflect.Map, kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		elem = t.Elem()
	default:
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		inside := name
		if kind == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return err
			}
			inside = strings.TrimPrefix(name+"."+token.String(), ".")
			if members != nil {
				elem = members[token.String()]
			}
		}
		var err error
		if elem == nil {
			p[inside]++
			err = d.SkipValue()
		} else {
			err = p.count(d, elem, inside)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// memberTypes adds the members of a struct, those of embedded ones among them. A
// field without a tag has its own name.
func memberTypes(t reflect.Type, members map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			memberTypes(embedded, members)
		case f.IsExported() && name != "-":
			members[cmp.Or(name, f.Name)] = f.Type
		}
	}
}

// unmarshal decodes a value whose schema is this package's. It looks at the schema first,
// as another schema explains unknown members.
func (p PassedOver) unmarshal(data []byte, v any) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch {
	case head.Schema == nil:
		return errors.New("no schema: not a result of this tool")
	case *head.Schema != Schema:
		return fmt.Errorf("schema %d, this version reads schema %d", *head.Schema, Schema)
	}
	return p.Decode(data, v)
}

// known returns the names that are known, and counts the others as members of the list
// they are in. It is nil for no list.
func (p PassedOver) known(in string, names []string, known func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if known(name) {
			return false
		}
		p[in+"."+name]++
		return true
	})
}

// String names what was passed over, for a note: "retention, counts.naps (12
// times)". It is empty when nothing was.
func (p PassedOver) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch n := p[name]; {
		case n == 1:
			parts = append(parts, name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%s (%d times)", name, n))
		}
	}
	return strings.Join(parts, ", ")
}

// Note says what was passed over and what that means, "" when nothing was.
func (p PassedOver) Note() string {
	if text := p.String(); text != "" {
		return "of a later version, not known to this one and passed over: " + text
	}
	return ""
}
