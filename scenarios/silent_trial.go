package scenarios

import (
	"reflect"
	"strings"
)

// differs reports whether a setting makes a difference to something in some cell:
// whether that is another thing with the default in the setting's place. Of two
// settings that do the same one is told to change nothing, not both: the others
// are tried without it.
func (s *silence) differs(path string, of func(*Scenario) any) bool {
	seen := map[*Scenario]bool{}
	for i := range s.design.Cells {
		c := s.design.Cells[i].Scenario
		if seen[c] { // cells of several strategies share what surrounds them
			continue
		}
		seen[c] = true
		for _, other := range s.dropped {
			c = unset(c, other)
		}
		if !reflect.DeepEqual(of(c), of(unset(c, path))) {
			return true
		}
	}
	return false
}

// unset returns a scenario with the default in the place of one setting.
func unset(s *Scenario, path string) *Scenario {
	c, plain := *s, Default()
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(&plain).Elem()
	for key := range strings.SplitSeq(path, ".") {
		to, from = keyed(to, key), keyed(from, key)
		if !to.IsValid() {
			return s
		}
	}
	to.Set(from)
	return &c
}

// keyed returns the field of a struct with a key of YAML, those of inlined structs
// included; the zero value when there is none.
func keyed(v reflect.Value, key string) reflect.Value {
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case name == key:
			return v.Field(i)
		case rest == "inline":
			if f := keyed(v.Field(i), key); f.IsValid() {
				return f
			}
		}
	}
	return reflect.Value{}
}
