package jsonscan

import (
	"fmt"
	"strings"
)

// Member is where the value of a member of an object goes.
type Member struct {
	name string
	into any
}

// To puts the value of a member into what a pointer points to: a *string takes a
// string, an *int64 a whole number, a *[]byte the JSON of any value and a *[][]byte
// that of each element of a list. JSON is not copied. A null leaves it as it is.
func To(name string, into any) Member { return Member{name, into} }

// Object reads a text that is one object. Members that no one asked for are skipped;
// a value of another kind than wanted is an error, which says at which byte.
func Object(text []byte, members ...Member) error {
	s := New(text)
	if c := s.Peek(); c != '{' && c != 'n' {
		s.failHere("an object")
	}
	for name := range s.Members {
		s.fill(name, members)
	}
	s.End()
	return s.err
}

// List returns the JSON of each element of a text that is one list, or null.
func List(text []byte) ([][]byte, error) {
	s := New(text)
	list := s.list()
	s.End()
	return list, s.err
}

func (s *Scanner) fill(name []byte, members []Member) {
	for i := range members {
		if members[i].name == string(name) {
			s.put(members[i].into)
			return
		}
	}
	s.Skip()
}

func (s *Scanner) put(into any) {
	c := s.Peek()
	if raw, ok := into.(*[]byte); ok {
		*raw = s.Raw()
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
		*v = strings.ToValidUTF8(string(s.Str()), "\uFFFD")
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
