package results

import (
	"bytes"
	"strconv"
)

// scanner reads JSON of one form from the front of a text. Every method returns
// false for what is not of this form, valid JSON or not, and no caller goes on
// then.
type scanner struct {
	rest  []byte
	named map[string]string // names of tallies seen so far, one copy of each
}

// names are the indices, below 64, of the members that an object may have.
type names map[string]int

func newNames(n int, name func(int) string) names {
	m := make(names, n)
	for i := range n {
		m[name(i)] = i
	}
	return m
}

// is takes a literal text. When the text is another one, nothing is taken.
func (s *scanner) is(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// plain takes a string of ASCII without escapes. What it sets is a part of the
// text.
func (s *scanner) plain(p *[]byte) bool {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return false
	}
	n := bytes.IndexByte(s.rest[1:], '"')
	if n < 0 {
		return false
	}
	*p = s.rest[1 : 1+n]
	for _, c := range *p {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	s.rest = s.rest[n+2:]
	return true
}

// text is plain with a copy.
func (s *scanner) text(t *string) bool {
	var p []byte
	ok := s.plain(&p)
	*t = string(p)
	return ok
}

// integer takes a whole number, not negative and of 18 digits at most: one that
// fits.
func (s *scanner) integer(n *int64) bool {
	i, v := 0, int64(0)
	for ; i < len(s.rest) && digit(s.rest[i]); i++ {
		v = 10*v + int64(s.rest[i]-'0')
		if i == 18 {
			return false
		}
	}
	if i == 0 || i > 1 && s.rest[0] == '0' {
		return false
	}
	*n, s.rest = v, s.rest[i:]
	return true
}

func (s *scanner) count(n *int) bool {
	var v int64
	ok := s.integer(&v)
	*n = int(v)
	return ok
}

// float takes a number that a float64 can hold.
func (s *scanner) float(f *float64) bool {
	n := numberLen(s.rest)
	v, err := strconv.ParseFloat(string(s.rest[:n]), 64)
	*f, s.rest = v, s.rest[n:]
	return n > 0 && err == nil
}

// numberLen returns the length of the JSON number that b begins with, 0 when it
// begins with none.
func numberLen(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && digit(b[i]) {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if !digits() || i > first+1 && b[first] == '0' {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return 0
		}
	}
	if i < len(b) && b[i]|' ' == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// object takes an object of members that of names, each at most once, the values
// of which member takes.
func (s *scanner) object(of names, member func(i int) bool) bool {
	if !s.is("{") {
		return false
	}
	var seen uint64
	for first := true; !s.is("}"); first = false {
		var name []byte
		if !first && !s.is(",") || !s.plain(&name) || !s.is(":") {
			return false
		}
		i, known := of[string(name)]
		if !known || seen&(1<<i) != 0 || !member(i) {
			return false
		}
		seen |= 1 << i
	}
	return true
}

// integers takes an object of counts.
func integers[T int | int64](s *scanner, of names, counts []T) bool {
	return s.object(of, func(i int) bool {
		var n int64
		ok := s.integer(&n)
		counts[i] = T(n)
		return ok
	})
}

// floats takes an object of numbers.
func (s *scanner) floats(of names, numbers []float64) bool {
	return s.object(of, func(i int) bool { return s.float(&numbers[i]) })
}

// tally takes an object of counts by any name; none for one without members.
func (s *scanner) tally(m *map[string]int) bool {
	if !s.is("{") {
		return false
	}
	counts := map[string]int{}
	for first := true; !s.is("}"); first = false {
		var p []byte
		var n int
		if !first && !s.is(",") || !s.plain(&p) || !s.is(":") || !s.count(&n) {
			return false
		}
		name := s.name(p)
		if _, twice := counts[name]; twice {
			return false
		}
		counts[name] = n
	}
	*m = counts
	return true
}

// name returns the name that p is a copy of.
func (s *scanner) name(p []byte) string {
	if name, ok := s.named[string(p)]; ok {
		return name
	}
	if s.named == nil {
		s.named = map[string]string{}
	}
	name := string(p)
	s.named[name] = name
	return name
}
