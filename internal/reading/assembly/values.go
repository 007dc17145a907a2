package assembly

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/jsonscan"
)

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

// Logged returns the counts that a table calls input, output, read, write, hour, reasoning and total.
func (v Values) Logged() Logged {
	return Logged{
		Input: v.Count("input"), Output: v.Count("output"), Read: v.Count("read"), Write: v.Count("write"), Hour: v.Count("hour"),
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
