package assembly

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/traces/internal/jsonscan"
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

// Objects hands each object of a text to object; see File.ReadObjects. It returns how many values the text has, lists as one.
func Objects(text []byte, line int, none error, object func(*Cursor) error) (values int, err error) {
	c, bad, others, first := NewCursor(text, line), none, 0, 0
	for ; c.Peek() != 0 && c.Err() == nil; values++ {
		c.Each(func() {
			err, at := none, c.Line()
			if c.Peek() == '{' {
				err = object(c)
			} else {
				c.Skip()
			}
			if errors.Is(err, none) {
				if others++; first == 0 {
					first = at
				}
			} else if errors.Is(bad, none) || err != nil {
				bad = err
			}
		})
	}
	if c.End(); c.Err() != nil {
		return values, c.Err()
	}
	if bad == nil && others > 0 {
		return values, fmt.Errorf("%d values beside others, the first on line %d, are of another kind: %w", others, first, none)
	}
	return values, bad
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
	for name := range c.Distinct {
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

// Names returns the names of the members of the object that a file begins with, as far as they can be seen. Names of
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

// Table maps the names that different writers give to a value to one name, and ranks them: of several in an object the first counts.
type Table map[string]column

type column struct {
	what string
	rank int
}

// TableOf reads a table: each line has a name, and then the names it stands for, in order of rank.
func TableOf(text string) Table {
	t := Table{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for rank, name := range words[min(1, len(words)):] {
			t[name] = column{words[0], rank}
		}
	}
	return t
}

// Values are what an object says, by the names of a table.
type Values map[string]Value

// Value is the JSON of a value, which shares the bytes of the text.
type Value struct {
	Name string // by which the object says it
	JSON []byte
	rank int
}

// maxRank is more than the ranks of a table.
const maxRank = 1000

// Take keeps the value of a name that the table has, unless a value of a lower rank is there. later is added to its rank.
// A null ranks after everything else.
func (v Values) Take(t Table, name, json []byte, later int) {
	c, ok := t[string(name)]
	if !ok || len(json) == 0 {
		return
	}
	if c.rank += later; json[0] == 'n' {
		c.rank += maxRank
	}
	if had := v[c.what]; had.JSON == nil || c.rank < had.rank {
		v[c.what] = Value{string(name), json, c.rank}
	}
}

// Has reports whether there is a value, and it is no null.
func (v Values) Has(what string) bool { json := v[what].JSON; return json != nil && json[0] != 'n' }

// Text returns a string, or the JSON of anything else but null.
func (v Values) Text(what string) string { return TextOf(v[what].JSON) }

// Number returns a number, which may be in a string, and whether it is one.
func (v Values) Number(what string) (float64, bool) {
	x, err := strconv.ParseFloat(string(bytes.Trim(v[what].JSON, `"`)), 64)
	return x, err == nil && x == x
}

// Count returns a count of tokens.
func (v Values) Count(what string) Count {
	c := Count{Logged: v[what].JSON != nil}
	if x, ok := v.Number(what); ok && x == float64(int64(x)) {
		c.N = int64(x)
	} else if c.Logged {
		c.N = -1
	}
	return c
}

// Logged returns the counts that a table calls input, output, read, write, hour, half_hour, half_day,
// reasoning and total.
func (v Values) Logged() Logged {
	return Logged{
		Input: v.Count("input"), Output: v.Count("output"), Read: v.Count("read"), Write: v.Count("write"), Hour: v.Count("hour"),
		HalfHour: v.Count("half_hour"), HalfDay: v.Count("half_day"),
		Reasoning: v.Count("reasoning"), Sum: v.Count("total"),
	}
}

// Inner returns JSON, or the text of a string, which may hold JSON; nil for null. It uses scratch if the string has escapes.
func Inner(json []byte, scratch *[]byte) []byte {
	if len(json) == 0 || json[0] == 'n' {
		return nil
	}
	if json[0] == '"' {
		s := jsonscan.New(json)
		return bytes.TrimSpace(s.Text(scratch))
	}
	return json
}
