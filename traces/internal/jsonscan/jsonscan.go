// Package jsonscan walks over JSON text without building values, which is most
// of the work of reading a recording.
package jsonscan

import (
	"fmt"
	"strconv"
)

// maxDepth is the accepted nesting, the same as jsontext's: a line of ten
// million brackets must be an error, not a stack overflow.
const maxDepth = 10000

// Scanner walks over one JSON text. It accepts and rejects what jsontext does
// when duplicate names and invalid UTF-8 are allowed (a differential fuzz test
// checks that), and is several times as fast at the most frequent task,
// skipping values. The first error sticks and ends every loop.
type Scanner struct {
	buf   []byte
	pos   int
	depth int
	err   error
}

// syntaxError says what is wrong at which byte of the line.
type syntaxError struct {
	offset int
	what   string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.what, e.offset)
}

// New returns a scanner of a text, which it does not change.
func New(text []byte) Scanner { return Scanner{buf: text} }

// Err returns the first error in the text read so far, nil for none.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(what string) {
	if s.err == nil {
		s.err = &syntaxError{s.pos, what}
	}
}

// failHere reports the byte at the cursor as unexpected, or the end.
func (s *Scanner) failHere(wanted string) {
	if s.pos >= len(s.buf) {
		s.fail("text ends where " + wanted + " is expected")
		return
	}
	s.fail("found " + strconv.QuoteRuneToASCII(rune(s.buf[s.pos])) + " where " + wanted + " is expected")
}

func (s *Scanner) space() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next token, 0 at the end.
func (s *Scanner) Peek() byte {
	s.space()
	if s.pos < len(s.buf) {
		return s.buf[s.pos]
	}
	return 0
}

// Raw consumes any value and returns its JSON, which shares the bytes of the text.
func (s *Scanner) Raw() []byte {
	from := s.Offset()
	s.Skip()
	return s.From(from)
}

// Offset returns the offset of the next token, bytes.
func (s *Scanner) Offset() int {
	s.space()
	return s.pos
}

// From returns the text from an offset to the cursor, nil after an error.
func (s *Scanner) From(offset int) []byte {
	if s.err != nil {
		return nil
	}
	return s.buf[offset:s.pos]
}

// End checks that nothing follows the value.
func (s *Scanner) End() {
	if s.space(); s.err == nil && s.pos < len(s.buf) {
		s.failHere("the end of the line")
	}
}

// enter and leave count the nesting.
func (s *Scanner) enter() bool {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deep")
	}
	return s.err == nil
}

// Elements yields once for every element of the array at the cursor; the loop
// body must consume it. Another kind of value is skipped and yields nothing.
func (s *Scanner) Elements(yield func() bool) {
	if s.Peek() != '[' {
		s.Skip()
		return
	}
	if !s.enter() {
		return
	}
	for first := true; ; first = false {
		if s.separator(']', first) {
			return
		}
		if !yield() || s.err != nil {
			return
		}
	}
}

// separator consumes the comma before the next member, or the closing bracket,
// and reports whether the loop is over.
func (s *Scanner) separator(closing byte, first bool) bool {
	if s.err != nil {
		return true
	}
	switch c := s.Peek(); {
	case c == closing:
		s.pos++
		s.depth--
		return true
	case first:
		return false
	case c == ',':
		s.pos++
		return false
	}
	s.failHere("a comma or closing bracket")
	return true
}

// Skip consumes any value.
func (s *Scanner) Skip() {
	switch c := s.Peek(); {
	case c == '"':
		s.rawString()
	case c == '{':
		for range s.Members {
			s.Skip()
		}
	case c == '[':
		for range s.Elements {
			s.Skip()
		}
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.failHere("a value")
	}
}

func (s *Scanner) literal(word string) bool {
	if len(s.buf)-s.pos < len(word) || string(s.buf[s.pos:s.pos+len(word)]) != word {
		s.failHere("a value")
		return false
	}
	s.pos += len(word)
	return true
}

// number consumes a number and returns its text.
func (s *Scanner) number() []byte {
	from := s.pos
	if s.buf[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return nil
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return nil
		}
	}
	if s.pos < len(s.buf) && s.buf[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.buf) && (s.buf[s.pos] == '+' || s.buf[s.pos] == '-') {
			s.pos++
		}
		if !s.digits() {
			return nil
		}
	}
	return s.buf[from:s.pos]
}

func (s *Scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.buf) && s.buf[s.pos] >= '0' && s.buf[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == from {
		s.failHere("a digit")
	}
	return s.pos > from
}

// Bool consumes a value and reports whether it is true.
func (s *Scanner) Bool() bool {
	if s.Peek() == 't' {
		return s.literal("true")
	}
	s.Skip()
	return false
}

// Int consumes a value and returns it if it is a whole number that fits.
func (s *Scanner) Int() (n int64, ok bool) {
	if c := s.Peek(); c != '-' && (c < '0' || c > '9') {
		s.Skip()
		return 0, false
	}
	text := s.number()
	if s.err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}
