// Package jsonlines writes and reads lines of JSON by a declaration of their members, and
// documents that hold a list of cells with one cell per line, so that documents
// can be compared line by line.
//
// A Form lists the members of a line, each with the place of its value in Values. A Reader
// takes the members of a line in any order, with or without blanks between them; a name that the form lacks is an error.
package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads lines of one form, with their members in any order. An unknown member is an error.
type Reader struct {
	text bytes.Buffer
	json jsontext.Decoder
	seen []bool // of the members of the line
}

// fault is what is wrong with a value.
type fault struct {
	path []string // names of members, the innermost first
	text string
}

// within adds the name of the member that contains the value.
func (f *fault) within(name string) *fault {
	f.path = append(f.path, name)
	return f
}

// Error names the member and says what is wrong with it.
func (f *fault) Error() string {
	slices.Reverse(f.path)
	defer slices.Reverse(f.path)
	if len(f.path) == 0 {
		return f.text
	}
	return strings.Join(f.path, ".") + " " + f.text
}

func refuse(format string, args ...any) error { return &fault{text: fmt.Sprintf(format, args...)} }

// Read reads a line into l, which is empty. The error names the member at fault.
func (f *Form) Read(r *Reader, line []byte, l *Values) error {
	r.text = *bytes.NewBuffer(line)
	r.json.Reset(&r.text)
	r.seen = append(r.seen[:0], make([]bool, len(f.root.Of))...)
	if err := r.members(&f.root, l); err != nil {
		return err
	}
	if _, err := r.json.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse("more than one value on a line")
	}
	var missing []string
	for i, m := range f.root.Of {
		if !m.Optional && !r.seen[i] {
			missing = append(missing, m.Name)
		}
	}
	switch n := len(missing); {
	case n > 3:
		return refuse("%s without %s and %d more members", f.name, list(missing[:3]), n-3)
	case n > 0:
		return refuse("%s without %s", f.name, list(missing))
	}
	return nil
}

func list(names []string) string { return strings.Join(names, ", ") }

// members reads the members of an object.
func (r *Reader) members(m *Member, l *Values) error {
	return r.object(func(quoted []byte) error {
		i, known := m.index[string(quoted)]
		if !known {
			return within(refuse("%s", Unknown), unquote(quoted))
		}
		if r.json.StackDepth() == 1 {
			r.seen[i] = true
		}
		return within(r.value(&m.Of[i], l), m.Of[i].Name)
	})
}

// object reads an object. It calls member with each quoted name ahead of the value.
func (r *Reader) object(member func(quoted []byte) error) error {
	if r.json.PeekKind() != '{' {
		return r.mismatch("an object")
	}
	_, err := r.json.ReadToken()
	for err == nil && r.json.PeekKind() != '}' {
		var name jsontext.Value
		if name, err = r.json.ReadValue(); err != nil {
			break
		}
		if bytes.IndexByte(name, '\\') >= 0 {
			name, err = jsontext.AppendQuote(nil, unquote(name))
		}
		if err == nil {
			err = member(name)
		}
	}
	if err == nil {
		_, err = r.json.ReadToken()
	}
	return err
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) string {
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}

// within adds the name of a member to what is wrong with it.
func within(err error, name string) error {
	var f *fault
	if errors.As(err, &f) {
		return f.within(name)
	}
	return err
}

// value reads a value within its bounds into l.
func (r *Reader) value(m *Member, l *Values) error {
	switch m.Kind {
	case Object:
		return r.members(m, l)
	case Tally:
		counts := map[string]int{}
		l.Tallies[m.At] = counts
		return r.object(func(quoted []byte) error {
			name := unquote(quoted)
			n, err := r.figure(Whole)
			counts[name] = int(n)
			return within(err, name)
		})
	case Text:
		if r.json.PeekKind() != '"' {
			return r.mismatch("a text")
		}
		text, err := r.json.ReadValue()
		if err != nil {
			return err
		}
		l.Texts[m.At] = unquote(text)
		if m.Choice != nil && !slices.Contains(m.Choice, l.Texts[m.At]) {
			return refuse("is not one of %s", list(m.Choice))
		}
		return nil
	}
	v, err := r.figure(m.Kind)
	if m.Kind == Small {
		l.Counts[m.At] = uint32(v)
	} else {
		l.Figures[m.At] = v
	}
	return err
}

// figure reads a figure within its bounds.
func (r *Reader) figure(k Kind) (float64, error) {
	want := "a number"
	if k <= Small {
		want = "a whole number"
	}
	if r.json.PeekKind() != '0' {
		return 0, r.mismatch(want)
	}
	text, err := r.json.ReadValue()
	if err != nil {
		return 0, err
	}
	var v float64
	if k <= Small {
		var n int64
		n, err = strconv.ParseInt(string(text), 10, 64)
		v = float64(n)
	} else {
		v, err = strconv.ParseFloat(string(text), 64)
	}
	switch {
	case err != nil:
		return 0, refuse("is %s, not %s", text, want)
	case !k.holds(v):
		return 0, &fault{text: k.bounds(v)}
	}
	return v, nil
}

// mismatch refuses a value of the wrong kind.
func (r *Reader) mismatch(want string) error {
	value, err := r.json.ReadValue()
	switch text := string(value); {
	case err != nil:
		return err
	case text == "null":
		return refuse("is null")
	case len(text) > 40:
		return refuse("is not %s", want)
	default:
		return refuse("is %s, not %s", text, want)
	}
}

// empty is the list of cells in the head of a document.
var empty = []byte(`"cells":[]`)

// Write writes the JSON of head, whose member "cells" is an empty list, with
// the cells in it, one per line. Equal values give equal bytes. If a cell
// cannot be encoded, the error gives its number, from 1.
func Write[T any](w io.Writer, head any, cells []T) error {
	text, err := json.Marshal(head, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding the head: %w", err)
	}
	before, after, found := bytes.Cut(text, empty)
	if !found {
		return errors.New("encoding the head: it has no empty list of cells")
	}
	var b bytes.Buffer
	b.Write(before)
	b.Write(empty[:len(empty)-1])
	for i := range cells {
		cell, err := json.Marshal(&cells[i], json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encoding cell %d: %w", i+1, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(cell)
	}
	b.WriteString("\n]")
	b.Write(after)
	b.WriteByte('\n')
	_, err = w.Write(b.Bytes())
	return err
}

// Unknown says of a member that no version of this schema had when this one was built.
const Unknown = "is not known: of a later version of sim"

// Read decodes one JSON value into what v points to. Members that v has no place for are errors.
func Read(text []byte, v any) error {
	err := json.Unmarshal(text, v, json.RejectUnknownMembers(true))
	var at *json.SemanticError
	if errors.Is(err, json.ErrUnknownName) && errors.As(err, &at) {
		return unknown{at, strings.ReplaceAll(strings.Trim(string(at.JSONPointer), "/"), "/", ".") + " " + Unknown}
	}
	return err
}

// unknown is the error of an unknown member, worded for people.
type unknown struct {
	*json.SemanticError
	text string
}

func (e unknown) Error() string { return e.text }
func (e unknown) Unwrap() error { return e.SemanticError }

// Line returns the line in text, from 1, of a JSON error.
func Line(text []byte, err error) int {
	var offset int64
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		offset = syntactic.ByteOffset
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	}
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
