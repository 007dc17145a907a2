package jsonscan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

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

// Member is where the value of a member of an object goes.
type Member struct {
	name string
	into any
}

// To stores the value of a member through a pointer: a *string takes a string, an *int64 a whole number, a *[]byte the
// JSON of any value and a *[][]byte each element of a list. JSON is not copied. A null changes nothing. A
// func(*Scanner) must consume the value itself.
func To(name string, into any) Member { return Member{name, into} }

// Count makes a Member that holds a count: -1 for null and all else that is no whole number.
func Count(name string, into *int64) Member {
	return Member{name, func(s *Scanner) {
		n, ok := s.Int()
		if !ok {
			n = -1
		}
		*into = n
	}}
}

// Object reads a text that is one object. Members that are not listed are
// skipped. A value of the wrong kind is an error, which names the byte.
func Object(text []byte, members ...Member) error {
	s := New(text)
	s.Object(members...)
	s.End()
	return s.err
}

// Object reads the object at the cursor, as the function Object does.
func (s *Scanner) Object(members ...Member) {
	if c := s.Peek(); c != '{' && c != 'n' {
		s.failHere("an object")
	}
	seen := Seen(0)
	for name := range s.Members {
		s.fill(name, members, &seen)
	}
}

// Each calls do at the next value, or if that is a list at each value in it that is none.
func (s *Scanner) Each(do func()) {
	if s.Peek() != '[' {
		do()
		return
	}
	for range s.Elements {
		s.Each(do)
	}
}

func (s *Scanner) fill(name []byte, members []Member, seen *Seen) {
	for i := range members {
		if members[i].name == string(name) {
			if s.Once(seen, i) {
				s.put(members[i].into)
			}
			return
		}
	}
	s.Skip()
}

func (s *Scanner) put(into any) {
	c := s.Peek()
	switch v := into.(type) {
	case *[]byte:
		*v = s.Raw()
		return
	case func(*Scanner):
		v(s)
		return
	}
	if c == 'n' {
		s.literal("null")
		return
	}
	switch v := into.(type) {
	case *string:
		if c != '"' {
			s.failHere("a string")
			return
		}
		if *v = string(s.Str()); !utf8.ValidString(*v) {
			*v = strings.ToValidUTF8(*v, "\uFFFD")
		}
	case *int64:
		from := *s
		if n, ok := s.Int(); ok {
			*v = n
		} else if s.err == nil {
			*s = from
			s.failHere("a whole number")
		}
	case *[][]byte:
		*v = s.list()
	default:
		panic(fmt.Sprintf("jsonscan: a member into a %T", into))
	}
}

func (s *Scanner) list() (list [][]byte) {
	if c := s.Peek(); c != '[' && c != 'n' {
		s.failHere("a list")
		return nil
	}
	for range s.Elements {
		list = append(list, s.Raw())
	}
	return list
}
