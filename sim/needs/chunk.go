package needs

import (
	"bytes"
)

// Classes of bytes.
const (
	classLower byte = 1 << iota
	classUpper
	classDigit
	classMark       // underscore
	classJoin       // occurs inside paths, addresses and qualified names
	classWide       // of a character beyond ASCII
	classTurn       // in a word: a capital after a small letter
	classOther byte = 0
)

var classes = func() (t [256]byte) {
	for c := range 256 {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = classLower
		case c >= 'A' && c <= 'Z':
			t[c] = classUpper
		case c >= '0' && c <= '9':
			t[c] = classDigit
		case c == '_':
			t[c] = classMark
		case bytes.IndexByte([]byte("/.:-@~?&=%+#"), byte(c)) >= 0:
			t[c] = classJoin
		case c >= 0x80:
			t[c] = classWide
		}
	}
	return t
}()

// chunk classifies up to 64 bytes; each byte has a bit in each word. The first three are the digits of a number: 0
// for a byte outside words, or a small letter, a capital, a digit, an underscore, a joining character, a byte beyond
// ASCII, a dot. The fourth marks line ends among bytes outside words, and slashes among joining ones.
type chunk struct{ a, b, c, d uint64 }

func (c *chunk) words() uint64  { return c.a | c.b | c.c }
func (c *chunk) lowers() uint64 { return c.a &^ (c.b | c.c) }
func (c *chunk) uppers() uint64 { return c.b &^ (c.a | c.c) }
func (c *chunk) joins() uint64  { return c.a & c.c } // dots too
func (c *chunk) ends() uint64   { return c.d &^ c.words() }

// sorts has the bits of a chunk for each byte, 16 apart.
var sorts = func() (t [256]uint64) {
	for c, of := range classes {
		switch of {
		case classLower:
			t[c] = 1
		case classUpper:
			t[c] = 1 << 16
		case classDigit:
			t[c] = 1<<16 | 1
		case classMark:
			t[c] = 1 << 32
		case classJoin:
			t[c] = 1<<32 | 1
		case classWide:
			t[c] = 1<<32 | 1<<16
		}
	}
	t['.'] |= 1 << 16
	t['/'] |= 1 << 48
	t['\n'] = 1 << 48
	return t
}()

// put adds up to 16 classified bytes.
func (c *chunk) put(v uint64, at int) {
	c.a |= v & 0xffff << (at & 63)
	c.b |= v >> 16 & 0xffff << (at & 63)
	c.c |= v >> 32 & 0xffff << (at & 63)
	c.d |= v >> 48 << (at & 63)
}

// sorted classifies 16 bytes.
func sorted(t string) uint64 {
	_ = t[15]
	return sorts[t[0]] | sorts[t[1]]<<1 | sorts[t[2]]<<2 | sorts[t[3]]<<3 |
		sorts[t[4]]<<4 | sorts[t[5]]<<5 | sorts[t[6]]<<6 | sorts[t[7]]<<7 |
		sorts[t[8]]<<8 | sorts[t[9]]<<9 | sorts[t[10]]<<10 | sorts[t[11]]<<11 |
		sorts[t[12]]<<12 | sorts[t[13]]<<13 | sorts[t[14]]<<14 | sorts[t[15]]<<15
}

// worth marks bytes whose word is worth examining: most words are short, of small letters, and no terms. Marked are
// capitals beside another capital or after a small letter, joining characters inside a word, bytes that begin ten bytes
// of one word, the last byte of the chunk if its word may continue in the next, and all other bytes of words.
func (c *chunk) worth() uint64 {
	words, lowers, uppers, joins := c.words(), c.lowers(), c.uppers(), c.joins()
	long := words & (words >> 1)
	long &= long >> 2
	long &= long >> 4
	long &= long >> 2 // at least plainName bytes of a word from here on
	return words&^(lowers|uppers|joins) | long | words&(1<<63) |
		uppers&(lowers<<1|1|uppers<<1|uppers>>1|1<<63) | joins&^(^words>>1)
}

func (c *chunk) part(from, n int) chunk {
	by, mask := uint(from)&63, ^uint64(0)>>(uint(64-n)&63)
	return chunk{c.a >> by & mask, c.b >> by & mask, c.c >> by & mask, c.d >> by & mask}
}
