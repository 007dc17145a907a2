package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

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

// Unquote returns the text of a valid JSON string. It uses scratch if the string has escapes.
func Unquote(raw []byte, scratch *[]byte) []byte {
	if raw = raw[1 : len(raw)-1]; bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	*scratch = Unescape((*scratch)[:0], raw)
	return *scratch
}

// Plain returns valid JSON with characters in the place of the escapes \uXXXX that a writer is free to use, so that
// equal values written differently have equal sizes. Escapes that JSON demands stay. Carriage returns, which a copy of
// the file may have at the ends of lines, go. The result is v itself where there is nothing to do.
func Plain(v []byte) []byte {
	if bytes.IndexByte(v, '\r') >= 0 {
		v = bytes.ReplaceAll(v, []byte{'\r'}, nil) // between values: in a string it is escaped
	}
	if !bytes.Contains(v, []byte(`\u`)) {
		return v
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		if v[i] != '\\' {
			out = append(out, v[i])
			i++
			continue
		}
		n := 2 // of the escape
		if v[i+1] == 'u' {
			n = 6
			if r, _ := hex4(v[i+2:]); utf16.IsSurrogate(r) && bytes.HasPrefix(v[i+6:], []byte(`\u`)) {
				n = 12
			}
		}
		text := Unescape(nil, v[i:i+n])
		if n == 2 || len(text) == 1 && (text[0] < ' ' || text[0] == '"' || text[0] == '\\') {
			text = v[i : i+n]
		}
		out = append(out, text...)
		i += n
	}
	return out
}
