package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/results"
)

// decodeBaseline decodes data and looks whether it is a baseline of this schema.
// That explains errors too: another schema has members of other kinds.
func decodeBaseline(data []byte, b *Baseline) error {
	passed := results.PassedOver{}
	err := cmp.Or(passed.Decode(data, b), nullFigure(data))
	head := struct {
		Schema int    `json:"schema"`
		Tool   string `json:"tool"`
	}{b.Schema, b.Tool}
	if err != nil {
		if err := json.Unmarshal(data, &head); err != nil && !misplaced(err) {
			return err // no JSON at all
		}
	}
	switch {
	case head.Tool != baselineTool:
		return errors.New("not a baseline: sim check --update writes one")
	case head.Schema != BaselineSchema:
		return fmt.Errorf("a baseline of schema %d, this version reads schema %d; %w", head.Schema, BaselineSchema, ErrStale)
	case err != nil:
		return fmt.Errorf("%w; %w", plainly(err), ErrStale)
	}
	b.PassedOver = passed
	return nil
}

// nullFigure refuses a figure that is null, which the decoder takes for 0.
func nullFigure(data []byte) error {
	if !bytes.Contains(data, []byte("null")) {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil // its end, or what the decoder tells of
		}
		place := d.StackPointer()
		path := strings.Split(string(place), "/")
		if token.Kind() == 'n' && len(path) > 4 && path[1] == "cells" && (path[3] == "metrics" || path[3] == "seeds") {
			return &json.SemanticError{ByteOffset: d.InputOffset(), JSONPointer: place, JSONKind: 'n'}
		}
	}
}

// misplaced reports whether a JSON error is on a value of another kind than belongs
// in its place.
func misplaced(err error) bool {
	var at *json.SemanticError
	return errors.As(err, &at)
}

// jsonError is a JSON error in words that name no types of this program.
type jsonError struct {
	error // as the decoder has it, with its place
	text  string
}

// Error returns the words.
func (e jsonError) Error() string { return e.text }

// Unwrap returns the error as the decoder has it.
func (e jsonError) Unwrap() error { return e.error }

// plainly returns the error for a misplaced value in plain words, others as they are.
func plainly(err error) error {
	var at *json.SemanticError
	if !errors.As(err, &at) || at.JSONKind == 0 {
		return err
	}
	kinds := map[jsontext.Kind]string{'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}
	kind := kinds[at.JSONKind]
	if kind == "" {
		return err
	}
	if errors.Is(at.Err, strconv.ErrRange) {
		kind += " so large"
	}
	return jsonError{err, fmt.Sprintf("%s cannot be %s", cmp.Or(string(at.JSONPointer), "the document"), kind)}
}
