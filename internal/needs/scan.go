package needs

import (
	"bytes"
	"math/bits"
	"slices"
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

// found is a term or a line of a text.
type found struct {
	mark
	kind    recall.NeedKind
	removed bool // by a patch
}

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
	terms  []found
	lines  []found
	values []value
	seen   []uint64 // keys of the text by hash, 0 for a free place
	first  []mark
}

// once returns where each term and each line stands first, terms ahead of lines.
func (s *scanner) once() []mark {
	size := 64
	for size < 2*(len(s.terms)+len(s.lines)) {
		size *= 2
	}
	s.seen = slices.Grow(s.seen[:0], size)[:size]
	clear(s.seen)
	s.first = s.first[:0]
	for _, list := range [...][]found{s.terms, s.lines} {
		for i := range list {
			if s.new(list[i].key | 1) {
				s.first = append(s.first, list[i].mark)
			}
		}
	}
	return slices.Clone(s.first)
}

// new notes a key and reports whether it was not noted before.
func (s *scanner) new(key uint64) bool {
	mask := uint64(len(s.seen) - 1)
	i := (key ^ key>>29) & mask
	for ; s.seen[i] != 0; i = (i + 1) & mask {
		if s.seen[i] == key {
			return false
		}
	}
	s.seen[i] = key
	return true
}

// scan finds the terms and the lines of a text, of a patch without the signs ahead of its lines; the result is valid
// until the next call.
func (s *scanner) scan(text string, patch bool) {
	s.terms, s.lines = s.terms[:0], s.lines[:0]
	s.words(text)
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

// words finds the terms. Most words are short, of small letters, and none.
func (s *scanner) words(text string) {
	for i := 0; i < len(text); {
		of := classes[text[i]]
		if of == classOther {
			i++
			continue
		}
		from := i
		for i++; i < len(text); i++ {
			c := classes[text[i]]
			if c == classOther {
				break
			}
			of |= c
		}
		switch {
		case i-from < minName, of == classLower && i-from < plainName, len(s.terms) >= blockTerms:
		case of&classJoin != 0:
			s.run(text, from, i)
		case i-from <= maxTerm:
			s.word(text, from, i, of)
		}
	}
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
	s.terms = append(s.terms, found{mark: mark{digest(text[from:to], 0), span{int32(from), int32(to)}}, kind: kind})
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
		s.lines = append(s.lines, found{mark: mark{digest(text[from:to], lineSalt), span{int32(from), int32(to)}}, kind: recall.NeedEdit})
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
