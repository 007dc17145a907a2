package claudecode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the nesting that is accepted, as jsontext has it: a line of ten
// million brackets must be an error, not a stack overflow.
const maxDepth = 10000

// scanner walks over one JSON text. It accepts and rejects what jsontext does
// when duplicate names and invalid UTF-8 are allowed (a differential fuzz test
// holds it to that), and is several times as fast at what is done most:
// skipping values. The first error sticks and ends every loop.
type scanner struct {
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

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = &syntaxError{s.pos, what}
	}
}

// failHere reports the byte at the cursor as unexpected, or the end.
func (s *scanner) failHere(wanted string) {
	if s.pos >= len(s.buf) {
		s.fail("text ends where " + wanted + " is expected")
		return
	}
	s.fail("found " + strconv.QuoteRuneToASCII(rune(s.buf[s.pos])) + " where " + wanted + " is expected")
}

func (s *scanner) space() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos < len(s.buf) {
		return s.buf[s.pos]
	}
	return 0
}

// end checks that nothing follows the value.
func (s *scanner) end() {
	if s.space(); s.err == nil && s.pos < len(s.buf) {
		s.failHere("the end of the line")
	}
}

// enter and leave count the nesting.
func (s *scanner) enter() bool {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deep")
	}
	return s.err == nil
}

// members yields the names of the object at the cursor; the loop body must
// consume each value. Another kind of value is skipped and yields nothing.
func (s *scanner) members(yield func(name []byte) bool) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	if !s.enter() {
		return
	}
	for first := true; ; first = false {
		if s.separator('}', first) {
			return
		}
		name := s.name()
		if s.err != nil || !yield(name) || s.err != nil {
			return
		}
	}
}

// elements yields once for every element of the array at the cursor; the loop
// body must consume it. Another kind of value is skipped and yields nothing.
func (s *scanner) elements(yield func() bool) {
	if s.peek() != '[' {
		s.skip()
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

// separator consumes the comma ahead of the next member, or the closing
// bracket, and reports whether the loop is over.
func (s *scanner) separator(closing byte, first bool) bool {
	if s.err != nil {
		return true
	}
	switch c := s.peek(); {
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

// name consumes a member's name and colon.
func (s *scanner) name() []byte {
	if s.peek() != '"' {
		s.failHere("a name")
		return nil
	}
	raw, escaped := s.rawString()
	if escaped {
		raw = unescape(nil, raw)
	}
	if s.peek() != ':' {
		s.failHere("a colon")
		return nil
	}
	s.pos++
	return raw
}

// skip consumes any value.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		s.rawString()
	case c == '{':
		for range s.members {
			s.skip()
		}
	case c == '[':
		for range s.elements {
			s.skip()
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

func (s *scanner) literal(word string) bool {
	if len(s.buf)-s.pos < len(word) || string(s.buf[s.pos:s.pos+len(word)]) != word {
		s.failHere("a value")
		return false
	}
	s.pos += len(word)
	return true
}

// number consumes a number and returns its text.
func (s *scanner) number() []byte {
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

func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.buf) && s.buf[s.pos] >= '0' && s.buf[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == from {
		s.failHere("a digit")
	}
	return s.pos > from
}

// str consumes a string and returns its text; another kind of value is
// consumed and gives nil. The result may share the line's bytes.
func (s *scanner) str() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	raw, escaped := s.rawString()
	if escaped {
		return unescape(nil, raw)
	}
	return raw
}

// text is str with storage for the unescaped text.
func (s *scanner) text(scratch *[]byte) []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	raw, escaped := s.rawString()
	if escaped && s.err == nil {
		*scratch = unescape((*scratch)[:0], raw)
		return *scratch
	}
	return raw
}

// boolean consumes a value and reports whether it is true.
func (s *scanner) boolean() bool {
	if s.peek() == 't' {
		return s.literal("true")
	}
	s.skip()
	return false
}

// integer consumes a value and returns it if it is a whole number that fits.
func (s *scanner) integer() (n int64, ok bool) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		s.skip()
		return 0, false
	}
	text := s.number()
	if s.err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// rawString consumes the string at the cursor and returns what is between
// its quotes, and whether that holds escapes.
func (s *scanner) rawString() (raw []byte, escaped bool) {
	s.pos++
	from := s.pos
	for {
		s.plain()
		if s.pos >= len(s.buf) {
			s.fail("text ends in a string")
			return nil, false
		}
		switch s.buf[s.pos] {
		case '"':
			s.pos++
			return s.buf[from : s.pos-1], escaped
		case '\\':
			escaped = true
			if !s.escape() {
				return nil, false
			}
		default:
			s.fail("control character in a string")
			return nil, false
		}
	}
}

// plain moves over the bytes of a string up to a quote, a backslash or a
// control character, eight at a time: the classic tests for a zero byte and
// for a byte below a limit, whose lowest hit is always a true one.
func (s *scanner) plain() {
	b, i := s.buf, s.pos
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ '"'*lowBits
		slash := w ^ '\\'*lowBits
		hit := ((quote-lowBits)&^quote | (slash-lowBits)&^slash | (w-' '*lowBits)&^w) & highBits
		if hit != 0 {
			s.pos = i + bits.TrailingZeros64(hit)/8
			return
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	s.pos = i
}

// escape consumes an escape sequence.
func (s *scanner) escape() bool {
	if s.pos+1 >= len(s.buf) {
		s.fail("text ends in a string")
		return false
	}
	switch s.buf[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
		if _, ok := hex4(s.buf[s.pos+2:]); ok {
			s.pos += 6
			return true
		}
	}
	s.fail("bad escape in a string")
	return false
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends the text that raw, the inside of a valid JSON string,
// encodes. A lone surrogate becomes U+FFFD.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			n := plainRun(raw[i:])
			dst = append(dst, raw[i:i+n]...)
			i += n
			continue
		}
		c := raw[i+1]
		i += 2
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, _ := hex4(raw[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+1 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low, _ = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// plainRun returns the length of b up to the first backslash.
func plainRun(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) ^ '\\'*lowBits
		if hit := (w - lowBits) &^ w & highBits; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] != '\\' {
		i++
	}
	return i
}
