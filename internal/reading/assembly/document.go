package assembly

import (
	"bytes"
	"errors"

	"github.com/compactsim/compactsim/internal/reading/jsonscan"
)

// ErrNoObject says that a document is no JSON object.
var ErrNoObject = errors.New("document is no object")

// EachOf reads a document that is one JSON object. It calls do with the elements
// of the list that is named and the lines they begin on, and member with
// the other members. It ends with the first error, and then what precedes a
// defect has been read.
func EachOf(text []byte, list string, member func(name string, v []byte) error, do func(v []byte, line int) error) error {
	s := jsonscan.New(text)
	line, place := 1, 0
	if s.Peek() != '{' {
		return ErrNoObject
	}
	for name := range s.Members {
		name := string(name)
		if name != list || s.Peek() != '[' {
			if v := s.Raw(); v != nil {
				if err := member(name, v); err != nil {
					return err
				}
			}
			continue
		}
		for range s.Elements {
			from := s.Offset()
			line, place = line+bytes.Count(text[place:from], []byte("\n")), from
			if v := s.Raw(); v != nil {
				if err := do(v, line); err != nil {
					return err
				}
			}
		}
	}
	s.End()
	return s.Err()
}

// Lined reports whether a file that begins with head has a JSON value on each
// line: its first line is one, or is damaged, which does not end as a line inside
// of a document does.
func Lined(head []byte) bool {
	line, _, more := bytes.Cut(bytes.TrimSpace(TrimBOM(head)), []byte("\n"))
	line = bytes.TrimSpace(line)
	return !more || len(line) > 0 && bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) < 0
}
