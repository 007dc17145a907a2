package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A change is made to one field of every line of a recording. It returns the new
// key and value of the field, and false where it leaves the field out. first is the
// value that the field has where it is first met.
type change struct {
	name string
	list bool // it is made to lists alone
	do   func(key string, v, first any) (string, any, bool)
}

// both are two values of a member that an object has twice.
type both [2]any

// fieldChanges are what happens to fields in general.
var fieldChanges = []change{
	{"removed", false, func(string, any, any) (string, any, bool) { return "", nil, false }},
	{"renamed", false, func(key string, v, _ any) (string, any, bool) { return key + "_", v, true }},
	{"null", false, func(key string, _, _ any) (string, any, bool) { return key, nil, true }},
	{"retyped", false, func(key string, v, _ any) (string, any, bool) {
		switch v := v.(type) {
		case string:
			return key, 7, true
		case json.Number:
			return key, v.String(), true
		case bool:
			return key, "yes", true
		case []any:
			return key, []member{}, true
		}
		return key, []any{}, true
	}},
	{"constant", false, func(key string, v, first any) (string, any, bool) {
		if _, text := v.(string); text {
			return key, "REDACTED", true
		}
		return key, first, true
	}},
	{"twice", false, func(key string, v, _ any) (string, any, bool) {
		switch o := v.(type) {
		case json.Number:
			if o == "0" {
				o = ""
			}
			return key, both{v, o + "7"}, true
		case string:
			return key, both{v, "REDACTED"}, true
		case []any:
			return key, both{v, []any{}}, true
		}
		return key, both{v, []member{}}, true
	}},
	{"fraction", false, numbers(func(n string) string { return n + ".5" })},
	{"negative", false, numbers(func(n string) string { return "-" + n })},
	{"huge", false, numbers(func(n string) string { return n + "000000000" })},
}

// numbers makes a change of numbers, which leaves all else as it is.
func numbers(change func(n string) string) func(string, any, any) (string, any, bool) {
	return func(key string, v, _ any) (string, any, bool) {
		if n, is := v.(json.Number); is && strings.Trim(n.String(), "0123456789") == "" && n != "0" {
			return key, json.Number(change(n.String())), true
		}
		return key, v, true
	}
}

// elementChanges are what happens to an element of a list: two writers, a merge, a filter or a crash leave it so.
var elementChanges = []struct {
	name string
	do   func(list []any, i int) []any
}{
	{"doubled", func(list []any, i int) []any { return slices.Insert(list, i, list[i]) }},
	{"doubled behind all", func(list []any, i int) []any { return append(list, list[i]) }},
	{"null", func(list []any, i int) []any { list[i] = nil; return list }},
	{"empty", func(list []any, i int) []any { list[i] = []member{}; return list }},
	{"emptied", func([]any, int) []any { return []any{} }},
	{"reordered", func(list []any, i int) []any {
		k := (i + 1) % len(list)
		list[i], list[k] = list[k], list[i]
		return list
	}},
}

// which are the elements of a list of n that are changed.
var which = []struct {
	name string
	of   func(n int) []int
}{
	{"the first", func(int) []int { return []int{0} }},
	{"one in the middle", func(n int) []int { return []int{n / 2} }},
	{"the last", func(n int) []int { return []int{n - 1} }},
	{"all", func(n int) (all []int) {
		for i := n - 1; i >= 0; i-- {
			all = append(all, i)
		}
		return all
	}},
}

// changes lists all changes: first changes of fields, then changes of elements of lists.
func changes() []change {
	list := slices.Clone(fieldChanges)
	for _, e := range elementChanges {
		for _, w := range which {
			list = append(list, change{e.name + ": " + w.name, true, func(key string, v, _ any) (string, any, bool) {
				of, ok := v.([]any)
				if !ok || len(of) == 0 {
					return key, v, true
				}
				of = slices.Clone(of)
				for _, i := range w.of(len(of)) {
					if len(of) > i {
						of = e.do(of, i)
					}
				}
				return key, of, true
			}})
		}
	}
	return list
}

// A field is the place of a member in the lines of a recording: keys from the outside, "[]" for the elements of a list.
type field string

// lines is the field of all lines, which are a list, too.
const lines field = "."

// A member is a name in an object with its value. Objects are lists of members, since the order of names
// tells formats apart.
type member struct {
	name string
	v    any
}

// fields lists the members of a value, with the values they first have.
func fields(v any, at field, found map[field]any) {
	switch v := v.(type) {
	case []member:
		for _, m := range v {
			f := at + "." + field(m.name)
			if _, known := found[f]; !known {
				found[f] = m.v
			}
			fields(m.v, f, found)
		}
	case []any:
		for _, of := range v {
			fields(of, at+".[]", found)
		}
	}
}

// where lists in which of the places of a field a change is made, counted from 0 of n: a client that
// loses a field loses it everywhere, in some calls, or once.
var where = []struct {
	name string
	in   func(i, n int) bool
}{
	{"everywhere", func(int, int) bool { return true }},
	{"in every third place", func(i, _ int) bool { return i%3 == 1 }},
	{"once", func(i, n int) bool { return i == n/2 }},
	{"at the end", func(i, n int) bool { return i == n-1 }},
}

// only makes a change in some places of the n that a field has.
func (c change) only(n int, in func(i, n int) bool) change {
	i, do := -1, c.do
	c.do = func(key string, v, first any) (string, any, bool) {
		if i++; !in(i, n) {
			return key, v, true
		}
		return do(key, v, first)
	}
	return c
}

// places counts in how many places a field stands.
func places(all []any, f field) (n int) {
	damaged(all, f, change{do: func(key string, v, _ any) (string, any, bool) { n++; return key, v, true }}, nil)
	return n
}

// changed makes a change to the members of v at a field.
func changed(v any, at []string, c change, first any) any {
	switch v := v.(type) {
	case []member:
		out := make([]member, 0, len(v))
		for _, m := range v {
			kept := true
			if m.name == at[0] && len(at) > 1 {
				m.v = changed(m.v, at[1:], c, first)
			} else if m.name == at[0] {
				m.name, m.v, kept = c.do(m.name, m.v, first)
			}
			if two, is := m.v.(both); is {
				out, m.v = append(out, member{m.name, two[0]}), two[1]
			}
			if kept {
				out = append(out, m)
			}
		}
		return out
	case []any:
		if at[0] == "[]" && len(at) > 1 {
			out := slices.Clone(v)
			for i := range out {
				out[i] = changed(out[i], at[1:], c, first)
			}
			return out
		}
	}
	return v
}

// damaged makes a change to a field in every line, or to the lines, or to the list that the recording is.
func damaged(all []any, f field, c change, first any) []byte {
	if _, list := all[0].([]any); f == lines && list {
		_, v, _ := c.do("", all[0], nil)
		all = []any{v}
	} else if f == lines {
		_, v, _ := c.do("", all, nil)
		all = v.([]any)
	}
	var out bytes.Buffer
	for _, l := range all {
		if f != lines {
			l = changed(l, strings.Split(string(f)[1:], "."), c, first)
		}
		encode(&out, l)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// encoded is a value as JSON already.
type encoded []byte

// encode writes a value as JSON.
func encode(out *bytes.Buffer, v any) {
	switch v := v.(type) {
	case encoded:
		out.Write(v)
	case []member:
		for i, m := range v {
			out.WriteByte("{,"[min(i, 1)])
			encode(out, m.name)
			out.WriteByte(':')
			encode(out, m.v)
		}
		out.WriteString("{}"[min(len(v), 1):])
	case []any:
		for i, of := range v {
			out.WriteByte("[,"[min(i, 1)])
			encode(out, of)
		}
		out.WriteString("[]"[min(len(v), 1):])
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out.Write(text)
	}
}

// values parses the lines of a recording, or the document that it is.
func values(t *testing.T, text []byte) (list []any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for d.More() {
		list = append(list, value(t, d))
	}
	return list
}

func value(t *testing.T, d *json.Decoder) any {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('{'):
		list := []member{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, member{name.(string), value(t, d)})
		}
		_, _ = d.Token() // the brace that More saw
		return list
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, value(t, d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}
