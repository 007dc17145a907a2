package texts

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// walker goes over the JSON of one line. The first error, or stop, ends every
// loop. What it returns shares the line's bytes.
type walker struct {
	dec     *jsontext.Decoder
	buf     bytes.Buffer
	text    []byte
	scratch []byte
	over    bool
}

// start takes up a line. Duplicate names and bytes that are no UTF-8 are let
// through, as the readers of the formats do.
func (w *walker) start(text []byte) {
	w.text, w.over = text, false
	w.buf = *bytes.NewBuffer(text)
	if w.dec == nil {
		w.dec = jsontext.NewDecoder(&w.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		return
	}
	w.dec.Reset(&w.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// stop ends the walk.
func (w *walker) stop() { w.over = true }

// members yields the names of the object at the cursor; the loop body must
// consume each value. Another kind of value is skipped.
func (w *walker) members(yield func(name string) bool) {
	if w.peek() != '{' {
		w.value()
		return
	}
	w.open()
	w.inside(yield)
}

// open consumes the opening bracket of an object and returns where it stands in
// the line; inside is members from there on.
func (w *walker) open() int {
	w.token()
	return int(w.dec.InputOffset()) - 1
}

func (w *walker) inside(yield func(name string) bool) {
	for !w.over && w.peek() != '}' {
		name := w.unquoted(w.value())
		if w.over || !yield(string(name)) {
			return
		}
	}
	w.token()
}

// elements yields once for every element of the array at the cursor; the loop
// body must consume it. Another kind of value is skipped.
func (w *walker) elements(yield func() bool) {
	if w.peek() != '[' {
		w.value()
		return
	}
	w.token()
	for !w.over && w.peek() != ']' {
		if !yield() {
			return
		}
	}
	w.token()
}

// peek returns the kind of the next token.
func (w *walker) peek() jsontext.Kind {
	if w.over {
		return 0
	}
	return w.dec.PeekKind()
}

// token consumes a bracket.
func (w *walker) token() {
	if !w.over {
		_, err := w.dec.ReadToken()
		w.over = err != nil
	}
}

// value consumes any value and returns its JSON.
func (w *walker) value() []byte {
	if w.over {
		return nil
	}
	v, err := w.dec.ReadValue()
	if err != nil {
		w.over = true
		return nil
	}
	end := int(w.dec.InputOffset())
	return w.text[end-len(v) : end]
}

// str consumes a value and returns the text of a string, nil of anything else.
// It is valid until the next text is taken.
func (w *walker) str() []byte { return w.unquoted(w.value()) }

// unquoted returns the text of a JSON string, nil for another value. Bytes that
// are no UTF-8 stay as they are, a lone surrogate becomes U+FFFD.
func (w *walker) unquoted(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	text, err := jsontext.AppendUnquote(w.scratch[:0], v)
	if err != nil {
		text = unquoteInvalid(w.scratch[:0], v[1:len(v)-1])
	}
	w.scratch = text
	return text
}

// unquoteInvalid appends the text of the inside of a string that holds bytes
// that are no UTF-8, or half of a pair.
func unquoteInvalid(dst, inside []byte) []byte {
	var quoted []byte
	for len(inside) > 0 {
		n := 0
		for n < len(inside) {
			r, size := utf8.DecodeRune(inside[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		quoted = append(append(append(quoted[:0], '"'), inside[:n]...), '"')
		dst, _ = jsontext.AppendUnquote(dst, quoted) // the error is a lone surrogate, which is replaced
		if n < len(inside) {
			dst = append(dst, inside[n])
			n++
		}
		inside = inside[n:]
	}
	return dst
}
