package assembly

import (
	"bytes"
	"errors"

	"github.com/compactsim/compactsim/internal/reading/jsonscan"
)

// ErrNoObject says that a document is no JSON object.
var ErrNoObject = errors.New("document is no object")

// Cursor is a scanner of a text that knows the line it is on.
type Cursor struct {
	jsonscan.Scanner
	text        []byte
	line, place int // line of a byte of the text
}

// NewCursor returns a cursor in a text that begins on a line of a file.
func NewCursor(text []byte, line int) *Cursor {
	return &Cursor{Scanner: jsonscan.New(text), text: text, line: line}
}

// Line returns the line of the next token.
func (c *Cursor) Line() int {
	if at := c.Offset(); at > c.place {
		c.line += bytes.Count(c.text[c.place:at], []byte("\n"))
		c.place = at
	}
	return c.line
}

// Objects hands each object of a text to object; see File.ReadObjects.
func Objects(text []byte, line int, none error, object func(*Cursor) error) error {
	c, bad := NewCursor(text, line), none
	for c.Peek() != 0 && c.Err() == nil {
		c.Each(func() {
			if c.Peek() != '{' {
				c.Skip()
			} else if err := object(c); errors.Is(bad, none) || err != nil && !errors.Is(err, none) {
				bad = err
			}
		})
	}
	if c.End(); c.Err() != nil {
		return c.Err()
	}
	return bad
}

// EachOf reads a document that is one JSON object. It calls do with the elements
// of the list that is named and the lines they begin on, and member with
// the other members. It ends with the first error, and then what precedes a
// defect has been read.
func EachOf(text []byte, list string, member func(name string, v []byte) error, do func(v []byte, line int) error) error {
	c := NewCursor(text, 1)
	if c.Peek() != '{' {
		return ErrNoObject
	}
	for name := range c.Members {
		name := string(name)
		if name != list || c.Peek() != '[' {
			if v := c.Raw(); v != nil {
				if err := member(name, v); err != nil {
					return err
				}
			}
			continue
		}
		for range c.Elements {
			line := c.Line()
			if v := c.Raw(); v != nil {
				if err := do(v, line); err != nil {
					return err
				}
			}
		}
	}
	c.End()
	return c.Err()
}

// Lined reports whether a file that begins with head has a JSON value on each
// line: its first line is one, or is damaged, which does not end as a line inside
// of a document does.
func Lined(head []byte) bool {
	line, _, more := bytes.Cut(bytes.TrimSpace(TrimBOM(head)), []byte("\n"))
	line = bytes.TrimSpace(line)
	return !more || len(line) > 0 && bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) < 0
}

// Names returns the names of the members of the object that a file begins with, as far as they can be seen. Those of
// objects in it, down to a depth, follow the name of the member that holds them and a dot.
func Names(head []byte, depth int) map[string]bool {
	s, all := jsonscan.New(head), map[string]bool{}
	names(&s, "", depth, all)
	return all
}

func names(s *jsonscan.Scanner, before string, depth int, all map[string]bool) {
	for name := range s.Members {
		name := before + string(name)
		if all[name] = true; depth > 1 && s.Peek() == '{' {
			names(s, name+".", depth-1, all)
		} else {
			s.Skip()
		}
	}
}
