package claudecode

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// rawString consumes the string at the cursor and returns what stands between
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
// stands for. A lone surrogate becomes U+FFFD.
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
