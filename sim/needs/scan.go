package needs

import (
	"math"
	"math/bits"
	"strings"

	"github.com/compactsim/compactsim/sim/results/recall"
)

// Limits of the strings that are examined. Shorter ones match by chance, longer
// ones are data; a line needs more bytes to be distinctive. Assumed.
const (
	minName    = 4   // bytes of an identifier with a sign that it is one, such as a digit
	plainName  = 10  // bytes of an identifier without such a sign
	maxTerm    = 160 // bytes of a term
	maxEnding  = 5   // letters of the ending of a file's name
	minLine    = 12  // bytes of a line, white space at both ends aside
	maxLine    = 400
	blockTerms = 1 << 16 // terms of a block
)

// digest returns the digest of a string, different for each salt. It takes eight bytes at a time (the last eight
// overlap if the length is no multiple) by the product of two words, one of which depends on the bytes before.
func digest(s string, salt uint64) uint64 {
	const factor = 0x9fb21c651e98df25 // odd, with as many ones as zeros
	h := salt ^ uint64(len(s))*factor
	var last uint64
	switch n := len(s); {
	case n >= 8:
		last = eight(s[n-8:])
	case n >= 4:
		last = four(s) | four(s[n-4:])<<32
	case n > 0:
		last = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	for ; len(s) > 8; s = s[8:] {
		high, low := bits.Mul64(h^eight(s), factor)
		h = high ^ low
	}
	high, low := bits.Mul64(h^last, factor)
	h = high ^ low
	return (h ^ h>>32) * factor
}

func eight(s string) uint64 { return four(s) | four(s[4:])<<32 }

func four(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// lineSalt makes lines differ from terms.
const lineSalt = 0x9e3779b97f4a7c15

// found are the terms of a text, followed by its lines.
type found struct {
	count int // of terms
	all   []mark
}

func (f *found) terms() []mark { return f.all[:f.count] }
func (f *found) lines() []mark { return f.all[f.count:] }

// scanner finds the terms and the lines of a text.
type scanner struct {
	found
	room   int         // for further terms, or lines
	once   bool        // repetitions are left out
	lately [512]uint64 // keys, by their upper bits
	chunks []chunk     // of the text, 64 bytes each
	values []value
}

// scan finds the terms and the lines of a text; the result is valid until the next call.
// Most repetitions are left out, because the first place in a text counts.
func (s *scanner) scan(text string) {
	s.once = true
	clear(s.lately[:])
	s.search(text, false)
}

// search finds the terms and the lines of a text; in a patch, without the signs before its lines.
func (s *scanner) search(text string, patch bool) {
	s.all, s.room = s.all[:0], blockTerms
	s.sort(text)
	s.findTerms(text)
	s.count, s.room = len(s.all), blockTerms
	from := 0
	for i := range s.chunks {
		for ends := s.chunks[i].ends(); ends != 0; ends &= ends - 1 {
			to := 64*i + bits.TrailingZeros64(ends)
			s.line(text, from, to, patch)
			from = to + 1
		}
	}
	s.line(text, from, len(text), patch)
}

// sort classifies the bytes of a text.
func (s *scanner) sort(text string) {
	s.chunks = s.chunks[:0]
	for ; len(text) >= 64; text = text[64:] {
		var c chunk
		c.put(sorted(text[:16]), 0)
		c.put(sorted(text[16:32]), 16)
		c.put(sorted(text[32:48]), 32)
		c.put(sorted(text[48:64]), 48)
		s.chunks = append(s.chunks, c)
	}
	if text == "" {
		return
	}
	var c chunk
	for i := range len(text) {
		c.put(sorts[text[i]], i)
	}
	s.chunks = append(s.chunks, c)
}

func (s *scanner) findTerms(text string) {
	done := 0
	for i := range s.chunks {
		look, words := s.chunks[i].worth(), s.chunks[i].words()
		if done > 64*i {
			look &= ^uint64(0) << (done - 64*i)
		}
		for look != 0 {
			at := bits.TrailingZeros64(look)
			from := 64*i + bits.Len64(^words&(1<<(at&63)-1))
			end := at + bits.TrailingZeros64(^(words >> (at & 63)))
			if done = 64*i + end; end >= 64 {
				done = s.wordEnd(i + 1)
			}
			if done-from >= minName && s.room > 0 {
				s.run(text, from, done)
			}
			if end >= 64 {
				break
			}
			look &= ^uint64(0) << (end & 63)
		}
	}
}

// wordEnd returns the end of a word that continues in chunk i.
func (s *scanner) wordEnd(i int) int {
	for ; i < len(s.chunks); i++ {
		if words := s.chunks[i].words(); words != math.MaxUint64 {
			return 64*i + bits.TrailingZeros64(^words)
		}
	}
	return 64 * i
}

// cut returns n bytes, 64 at most, as a chunk.
func (s *scanner) cut(from, n int) chunk {
	i, by := from/64, uint(from%64)
	c := s.chunks[i]
	c = chunk{c.a >> by, c.b >> by, c.c >> by, c.d >> by}
	if int(by)+n > 64 {
		next, by := &s.chunks[i+1], 64-by
		c = chunk{c.a | next.a<<by, c.b | next.b<<by, c.c | next.c<<by, c.d | next.d<<by}
	}
	return c.part(0, n)
}

// run divides a run of letters, digits and joining characters into terms.
func (s *scanner) run(text string, from, to int) {
	from, to = ends(text, from, to)
	n := to - from
	if n < minName || n > maxTerm {
		return
	}
	if n > 64 {
		s.parts(text, from, to)
		return
	}
	c := s.cut(from, n)
	joins := c.joins()
	switch {
	case joins == 0:
		s.short(text, from, n, &c)
		return
	case c.d != 0: // a slash
		s.parts(text, from, to)
		return
	}
	if dot := bits.Len64(joins & c.b); dot > 1 && n-dot <= maxEnding && (c.c|c.a&c.b)>>dot == 0 {
		s.add(recall.NeedPath, text, from, to)
	}
	for i := 0; i < n; {
		size := min(bits.TrailingZeros64(joins>>i), n-i)
		if size >= minName {
			part := c.part(i, size)
			s.short(text, from+i, size, &part)
		}
		i += size + 1
	}
}

// ends returns a run without joining characters at its ends.
func ends(text string, from, to int) (int, int) {
	for from < to && classes[text[from]] == classJoin && text[from] != '/' && text[from] != '~' && text[from] != '.' {
		from++
	}
	for from < to && classes[text[to-1]] == classJoin {
		to--
	}
	return from, to
}

// short is word for up to 64 bytes.
func (s *scanner) short(text string, from, n int, c *chunk) {
	all := ^uint64(0) >> (uint(64-n) & 63)
	lowers, digits, marks, wides := c.lowers(), c.a&c.b, c.c&^(c.a|c.b), c.b&c.c
	switch {
	case digits == all:
		s.add(recall.NeedNumber, text, from, from+n)
	case marks == all:
	case digits|marks|c.uppers()&(lowers<<1) != 0, n >= plainName, lowers|wides == 0, wides != 0 && n >= minName+2:
		s.add(recall.NeedName, text, from, from+n)
	}
}

// parts divides a run byte by byte: one of more than 64 bytes, or with a slash.
func (s *scanner) parts(text string, from, to int) {
	slash := false
	for i := from; i < to; i++ {
		switch {
		case text[i] == ':' && i+2 < to && text[i+1] == '/' && text[i+2] == '/':
			s.add(recall.NeedURL, text, from, to)
			return
		case text[i] == '/':
			slash = true
		}
	}
	if slash {
		s.path(text, from, to)
		return
	}
	if dot := strings.LastIndexByte(text[from:to], '.') + from; dot > from && letters(text, dot+1, to) {
		s.add(recall.NeedPath, text, from, to)
	}
	for i := from; i < to; {
		j, of := i, classOther
		for ; j < to && classes[text[j]] != classJoin; j++ {
			if of |= classes[text[j]]; j > i && classes[text[j]] == classUpper && classes[text[j-1]] == classLower {
				of |= classTurn
			}
		}
		s.word(text, i, j, of)
		i = j + 1
	}
}

// path adds a path by its last two components, so that paths with different prefixes are equal, and by the last one.
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
	case of&(classMark|classDigit|classTurn) != 0, of == classUpper, of&classWide != 0 && n >= minName+2, n >= plainName:
		s.add(recall.NeedName, text, from, to)
	}
}

func (s *scanner) add(kind recall.NeedKind, text string, from, to int) {
	s.mark(mark{digest(text[from:to], 0), int32(from), uint16(to - from), kind, false})
}

// mark adds a term or a line.
func (s *scanner) mark(m mark) {
	s.room--
	if s.once {
		last := &s.lately[m.key>>55]
		if *last == m.key {
			return
		}
		*last = m.key
	}
	s.all = append(s.all, m)
}

// line adds a line without white space at both ends, and without the line
// number that tools show or the sign of a patch.
func (s *scanner) line(text string, from, to int, patch bool) {
	if to-from < minLine || s.room == 0 {
		return
	}
	if patch && (text[from] == '+' || text[from] == '-') {
		from++
	}
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
	if to-from >= minLine && to-from <= maxLine {
		s.mark(mark{digest(text[from:to], lineSalt), int32(from), uint16(to - from), recall.NeedEdit, false})
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

// letters reports whether a span is one to five letters, like the ending of a file name.
func letters(text string, from, to int) bool {
	if to-from < 1 || to-from > maxEnding {
		return false
	}
	for i := from; i < to; i++ {
		if c := classes[text[i]]; c != classLower && c != classUpper {
			return false
		}
	}
	return true
}
