package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Member is where the value of a member of an object goes.
type Member struct {
	name string
	into any
}

// To stores the value of a member through a pointer: a *string takes a string,
// an *int64 a whole number, a *[]byte the JSON of any value and a *[][]byte
// each element of a list. JSON is not copied. A null changes nothing. A
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

// Unquote returns the text of a valid JSON string. It uses scratch if the string has escapes.
func Unquote(raw []byte, scratch *[]byte) []byte {
	if raw = raw[1 : len(raw)-1]; bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	*scratch = Unescape((*scratch)[:0], raw)
	return *scratch
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

// Plain returns valid JSON with characters in the place of the escapes \uXXXX that a writer is
// free to use, so that equal values written differently have equal sizes. Escapes that JSON
// demands stay. Carriage returns, which a copy of the file may have at the ends of lines, go. The result is v itself where there is
// nothing to do.
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
