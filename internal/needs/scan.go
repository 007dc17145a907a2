package needs

import (
	"bytes"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
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
	classOther byte = iota
	classLower
	classUpper
	classDigit
	classMark // underscore
	classJoin // stands inside paths, addresses and qualified names
	classWide // of a character beyond ASCII
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

// found is a term of a text.
type found struct {
	kind     results.NeedKind
	key      uint64
	from, to int32
}

const (
	offset = 14695981039346656037 // of FNV-1a
	factor = 1099511628211
)

// digest returns the digest of a string, different for each salt.
func digest(s string, salt uint64) uint64 {
	h := uint64(offset) ^ salt
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * factor
	}
	return h ^ h>>31
}

// lineSalt keeps lines apart from terms.
const lineSalt = 0x9e3779b97f4a7c15

// scanner finds the terms and the lines of a text.
type scanner struct {
	terms []found
	lines []found
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

// words finds the terms.
func (s *scanner) words(text string) {
	for i := 0; i < len(text); {
		if c := classes[text[i]]; c == classOther {
			i++
			continue
		}
		from := i
		for i < len(text) && classes[text[i]] != classOther {
			i++
		}
		if len(s.terms) < blockTerms {
			s.run(text, from, i)
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
			s.add(results.NeedURL, text, from, to)
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
		s.add(results.NeedPath, text, from, to)
	}
	for i := from; i < to; {
		j := i
		for j < to && classes[text[j]] != classJoin {
			j++
		}
		s.word(text, i, j)
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
			s.add(results.NeedPath, text, i+1, to)
		}
		if at = i + 1; seen == 2 {
			break
		}
		at = from
	}
	if seen > 0 && to-at >= minName {
		s.add(results.NeedPath, text, at, to)
	}
}

// word adds an identifier or a number.
func (s *scanner) word(text string, from, to int) {
	if to-from < minName {
		return
	}
	var lower, upper, digit, mark, wide, turns int
	for i := from; i < to; i++ {
		switch classes[text[i]] {
		case classLower:
			lower++
		case classUpper:
			if upper++; i > from && classes[text[i-1]] == classLower {
				turns++
			}
		case classDigit:
			digit++
		case classMark:
			mark++
		case classWide:
			wide++
		}
	}
	n := to - from
	switch {
	case digit == n:
		s.add(results.NeedNumber, text, from, to)
	case mark == n:
	case mark > 0, turns > 0, digit > 0, upper == n, wide > 0 && n >= minName+2, n >= plainName:
		s.add(results.NeedName, text, from, to)
	}
}

func (s *scanner) add(kind results.NeedKind, text string, from, to int) {
	s.terms = append(s.terms, found{kind, digest(text[from:to], 0), int32(from), int32(to)})
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
		s.lines = append(s.lines, found{results.NeedEdit, digest(text[from:to], lineSalt), int32(from), int32(to)})
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
