// Package jsonscan walks over JSON text without building values, which is most
// of the work of reading a recording.
package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
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

// Members yields the names of the object at the cursor; the loop body must
// consume each value. Another kind of value is skipped and yields nothing.
func (s *Scanner) Members(yield func(name []byte) bool) {
	if s.Peek() != '{' {
		s.Skip()
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

// Seen are the members of one object that were met, by number. Members beyond 63 are not told apart.
type Seen uint64

// Once notes a member of an object and reports whether it is there for the first time. Else the text is no sound recording, since
// either value may be the true one: that is an error, and the value is not consumed.
func (s *Scanner) Once(seen *Seen, nth int) bool {
	bit := Seen(1) << min(nth, 63)
	if *seen&bit != 0 && nth < 63 {
		s.fail(twice)
		return false
	}
	*seen |= bit
	return true
}

// twice is what is wrong with an object that has a name twice.
const twice = "a second member of one name"

// mostNames is how many names of an object Distinct compares with later ones.
const mostNames = 64

// Distinct is Members for objects in which a name that comes twice is an error, whatever the name.
func (s *Scanner) Distinct(yield func(name []byte) bool) {
	var room [16][]byte
	seen := room[:0]
	for name := range s.Members {
		if slices.ContainsFunc(seen, func(o []byte) bool { return string(o) == string(name) }) {
			s.fail(twice)
			return
		}
		if len(seen) < mostNames {
			seen = append(seen, name)
		}
		if !yield(name) {
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

// name consumes a member's name and colon.
func (s *Scanner) name() []byte {
	if s.Peek() != '"' {
		s.failHere("a name")
		return nil
	}
	raw, escaped := s.rawString()
	if escaped {
		raw = Unescape(nil, raw)
	}
	if s.Peek() != ':' {
		s.failHere("a colon")
		return nil
	}
	s.pos++
	return raw
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

// Str consumes a string and returns its text; another kind of value is
// consumed and gives nil. The result may share the line's bytes.
func (s *Scanner) Str() []byte {
	if s.Peek() != '"' {
		s.Skip()
		return nil
	}
	raw, escaped := s.rawString()
	if escaped {
		return Unescape(nil, raw)
	}
	return raw
}

// Text is Str, with scratch for the unescaped text.
func (s *Scanner) Text(scratch *[]byte) []byte {
	if s.Peek() != '"' {
		s.Skip()
		return nil
	}
	raw, escaped := s.rawString()
	if escaped && s.err == nil {
		*scratch = Unescape((*scratch)[:0], raw)
		return *scratch
	}
	return raw
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

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// control has the byte that each sequence of a backslash and one byte stands
// for, 0 for none.
var control = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// rawString consumes the string at the cursor and returns what is between
// its quotes, and whether that holds escapes.
func (s *Scanner) rawString() (raw []byte, escaped bool) {
	s.pos++
	from, b := s.pos, s.buf
	for {
		i := plain(b, s.pos)
		for i+1 < len(b) && b[i] == '\\' && control[b[i+1]] != 0 {
			escaped = true
			i = plain(b, i+2)
		}
		s.pos = i
		if i >= len(b) {
			s.fail("text ends in a string")
			return nil, false
		}
		switch b[i] {
		case '"':
			s.pos++
			return b[from:i], escaped
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

// plain returns where the plain bytes of a string from i on end: at a quote, a backslash
// or a control character. It looks at eight at a time with the classic tests for a zero
// byte and for a byte below a limit, whose lowest hit is always a true one.
func plain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ '"'*lowBits
		slash := w ^ '\\'*lowBits
		hit := ((quote-lowBits)&^quote | (slash-lowBits)&^slash | (w-' '*lowBits)&^w) & highBits
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

// escape consumes an escape sequence that is not simple.
func (s *Scanner) escape() bool {
	switch {
	case s.pos+1 >= len(s.buf):
		s.fail("text ends in a string")
		return false
	case s.buf[s.pos+1] == 'u':
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

// Unescape appends the text that raw, the inside of a valid JSON string,
// encodes. A lone surrogate becomes U+FFFD.
func Unescape(dst, raw []byte) []byte {
	// No sequence is shorter than its text, so there is room for whole words.
	const word = 8
	dst = slices.Grow(dst, len(raw)+word)
	n := len(dst)
	dst = dst[:cap(dst)]
	for i := 0; i < len(raw); {
		if i+word <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			w ^= '\\' * lowBits
			plain := word
			if hit := (w - lowBits) &^ w & highBits; hit != 0 {
				plain = bits.TrailingZeros64(hit) / 8
			}
			i += plain
			n += plain
			if plain == word {
				continue
			}
		}
		if raw[i] != '\\' {
			dst[n] = raw[i]
			i++
			n++
			continue
		}
		c := raw[i+1]
		i += 2
		if c != 'u' {
			dst[n] = control[c]
			n++
			continue
		}
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
		n += utf8.EncodeRune(dst[n:], r)
	}
	return dst[:n]
}
