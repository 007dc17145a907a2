package needs

import (
	"bytes"
	"math"
	"math/bits"
	"strings"

	"github.com/compactsim/compactsim/internal/recall"
)

// Limits of what is looked at. Shorter strings are found by chance, longer ones are data; a line is told apart
// from others by more. Assumed.
const (
	minName    = 4   // bytes of an identifier with a sign that it is one
	plainName  = 10  // bytes of an identifier without
	minNumber  = 4   // digits
	maxTerm    = 160 // bytes of a term
	minLine    = 12  // bytes of a line, white space at both ends aside
	maxLine    = 400
	blockTerms = 1 << 16 // terms of a block
)

// Classes of bytes.
const (
	classLower byte = 1 << iota
	classUpper
	classDigit
	classMark       // underscore
	classJoin       // stands inside paths, addresses and qualified names
	classWide       // of a character beyond ASCII
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

// digest returns the digest of a string, different for each salt: eight bytes at a time, by the product of two words
// of which one depends on what came before.
func digest(s string, salt uint64) uint64 {
	const factor = 0x9fb21c651e98df25 // odd, with as many ones as zeros
	h := salt ^ uint64(len(s))*factor
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		high, low := bits.Mul64(h^w, factor)
		h = high ^ low
	}
	w := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		w = w<<8 | uint64(s[i])
	}
	high, low := bits.Mul64(h^w, factor)
	h = high ^ low
	return (h ^ h>>32) * factor
}

// lineSalt keeps lines apart from terms.
const lineSalt = 0x9e3779b97f4a7c15

// scanner finds the terms and the lines of a text.
type scanner struct {
	terms  []mark
	lines  []mark
	values []value
	words  []uint64 // by 64 bytes of the text: those of words, a bit each
	signs  []uint64 // the same of those that make a word worth a look
}

// scan finds the terms and the lines of a text, of a patch without the signs ahead of its lines; the result is valid
// until the next call.
func (s *scanner) scan(text string, patch bool) {
	s.terms, s.lines = s.terms[:0], s.lines[:0]
	s.classify(text)
	s.find(text)
	for from := 0; from < len(text); {
		to := len(text)
		if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
			to = from + i
		}
		if patch && from < to && (text[from] == '+' || text[from] == '-') {
			from++
		}
		s.line(text, from, to)
		from = to + 1
	}
}

// sorts has for each byte bit 0 if it stands in words, and, unless it is a small letter, bit 16 if it is a large one, bit
// 32 if it joins, or bit 48.
var sorts = func() (t [256]uint64) {
	for c, of := range classes {
		switch of {
		case classOther:
		case classLower:
			t[c] = 1
		case classUpper:
			t[c] = 1 | 1<<16
		case classJoin:
			t[c] = 1 | 1<<32
		default:
			t[c] = 1 | 1<<48
		}
	}
	return t
}()

// classify sorts the bytes of a text, 64 at a time. A large letter is a sign beside another one and behind a small one,
// what joins is one unless the word ends there.
func (s *scanner) classify(text string) {
	s.words, s.signs = s.words[:0], s.signs[:0]
	for ; text != ""; text = text[min(64, len(text)):] {
		var word, upper, join, sign uint64
		for i := 0; i < 64 && i < len(text); i += 16 {
			v := sorted(text[i:min(i+16, len(text))])
			word |= v & 0xffff << i
			upper |= v >> 16 & 0xffff << i
			join |= v >> 32 & 0xffff << i
			sign |= v >> 48 << i
		}
		lower := word &^ (upper | join | sign)
		sign |= upper & (lower<<1 | 1 | upper<<1 | upper>>1 | 1<<63)
		sign |= join &^ (^word >> 1)
		s.words, s.signs = append(s.words, word), append(s.signs, sign)
	}
}

// sorted sorts up to 16 bytes.
func sorted(t string) (sort uint64) {
	if len(t) == 16 {
		return sorts[t[0]] | sorts[t[1]]<<1 | sorts[t[2]]<<2 | sorts[t[3]]<<3 |
			sorts[t[4]]<<4 | sorts[t[5]]<<5 | sorts[t[6]]<<6 | sorts[t[7]]<<7 |
			sorts[t[8]]<<8 | sorts[t[9]]<<9 | sorts[t[10]]<<10 | sorts[t[11]]<<11 |
			sorts[t[12]]<<12 | sorts[t[13]]<<13 | sorts[t[14]]<<14 | sorts[t[15]]<<15
	}
	for i := range len(t) {
		sort |= sorts[t[i]] << i
	}
	return sort
}

// find finds the terms. Most words are short, of small letters, and none: only those that have a sign, that are long, or
// that go on in the next 64 bytes are looked at.
func (s *scanner) find(text string) {
	done := 0
	for b, word := range s.words {
		long := word & (word >> 1)
		long &= long >> 2
		long &= long >> 4
		long &= long >> 2 // plainName bytes of a word from here on
		look := s.signs[b] | long | word&(1<<63)
		if done > 64*b {
			look &= ^uint64(0) << (done - 64*b)
		}
		for look != 0 {
			i := bits.TrailingZeros64(look)
			from := 64*b + bits.Len64(^word&(1<<i-1))
			if done = s.wordEnd(64*b + i); done-from >= minName && len(s.terms) < blockTerms {
				s.run(text, from, done)
			}
			look &= ^uint64(0) << (done - 64*b)
		}
	}
}

// wordEnd returns where the word ends that a byte is of.
func (s *scanner) wordEnd(at int) int {
	b := at / 64
	end := bits.TrailingZeros64(^(s.words[b] >> (at % 64)))
	if at += end; at < 64*b+64 {
		return at
	}
	for b++; b < len(s.words) && s.words[b] == math.MaxUint64; b++ {
	}
	if b < len(s.words) {
		return 64*b + bits.TrailingZeros64(^s.words[b])
	}
	return 64 * b
}

// run takes a run of letters, digits and what joins them apart.
func (s *scanner) run(text string, from, to int) {
	for from < to && classes[text[from]] == classJoin && text[from] != '/' && text[from] != '~' && text[from] != '.' {
		from++
	}
	for from < to && classes[text[to-1]] == classJoin {
		to--
	}
	if to-from < minName || to-from > maxTerm {
		return
	}
	of := classOther
	for i := from; i < to; i++ {
		of |= classes[text[i]]
	}
	if of&classJoin == 0 {
		s.word(text, from, to, of)
		return
	}
	slash := -1
	for i := from; i < to; i++ {
		switch {
		case text[i] == ':' && i+2 < to && text[i+1] == '/' && text[i+2] == '/':
			s.add(recall.NeedURL, text, from, to)
			return
		case text[i] == '/':
			slash = i
		}
	}
	if slash >= 0 {
		s.path(text, from, to)
		return
	}
	if dot := strings.LastIndexByte(text[from:to], '.') + from; dot > from && letters(text, dot+1, to) {
		s.add(recall.NeedPath, text, from, to)
	}
	for i := from; i < to; {
		j, of := i, classOther
		for j < to && classes[text[j]] != classJoin {
			of |= classes[text[j]]
			j++
		}
		s.word(text, i, j, of)
		i = j + 1
	}
}

// path adds a path by its last two components, so that paths that differ by a prefix are one, and by the last.
func (s *scanner) path(text string, from, to int) {
	if i := strings.IndexByte(text[from:to], ':'); i > 0 { // file:line
		to = from + i
	}
	for to > from && text[to-1] == '/' {
		to--
	}
	at, seen := to, 0
	for i := to - 1; i >= from; i-- {
		if text[i] != '/' {
			continue
		}
		if seen++; seen == 1 && to-i-1 >= minName {
			s.add(recall.NeedPath, text, i+1, to)
		}
		if at = i + 1; seen == 2 {
			break
		}
		at = from
	}
	if seen > 0 && to-at >= minName {
		s.add(recall.NeedPath, text, at, to)
	}
}

// word adds an identifier or a number, given the classes of its bytes.
func (s *scanner) word(text string, from, to int, of byte) {
	n := to - from
	switch {
	case n < minName, of == classMark:
	case of == classDigit:
		s.add(recall.NeedNumber, text, from, to)
	case of&(classMark|classDigit) != 0, of == classUpper, of&classWide != 0 && n >= minName+2, n >= plainName,
		of&classUpper != 0 && turns(text[from:to]):
		s.add(recall.NeedName, text, from, to)
	}
}

// turns reports whether a large letter follows a small one.
func turns(word string) bool {
	for i := 1; i < len(word); i++ {
		if classes[word[i]] == classUpper && classes[word[i-1]] == classLower {
			return true
		}
	}
	return false
}

func (s *scanner) add(kind recall.NeedKind, text string, from, to int) {
	s.terms = append(s.terms, mark{digest(text[from:to], 0), int32(from), uint16(to - from), kind, false})
}

// line adds a line without white space at both ends, and without the number in front of it as tools show files.
func (s *scanner) line(text string, from, to int) {
	from, to = trim(text, from, to)
	i := from
	for i < to && classes[text[i]] == classDigit {
		i++
	}
	if i > from && i < to {
		switch {
		case text[i] == '\t' || text[i] == ':' || text[i] == '-':
			from, to = trim(text, i+1, to)
		case len(text)-i > 2 && text[i:i+3] == "→":
			from, to = trim(text, i+3, to)
		}
	}
	if to-from >= minLine && to-from <= maxLine && len(s.lines) < blockTerms {
		s.lines = append(s.lines, mark{digest(text[from:to], lineSalt), int32(from), uint16(to - from), recall.NeedEdit, false})
	}
}

func trim(text string, from, to int) (int, int) {
	for from < to && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	for to > from && (text[to-1] == ' ' || text[to-1] == '\t' || text[to-1] == '\r') {
		to--
	}
	return from, to
}

// letters reports whether a span is one to five letters, as the ending of a file's name.
func letters(text string, from, to int) bool {
	if to-from < 1 || to-from > 5 {
		return false
	}
	for i := from; i < to; i++ {
		if c := classes[text[i]]; c != classLower && c != classUpper {
			return false
		}
	}
	return true
}
