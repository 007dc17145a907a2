// Package jsonlines writes and reads lines of JSON by a declaration of their members, and
// documents that hold a list of cells with one cell per line, so that documents
// can be compared line by line.
//
// A Form lists the members of a line, each with the place of its value in Values. A Reader
// expects what the form writes, members in order without blanks, and accepts any other JSON of these members too.
package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
