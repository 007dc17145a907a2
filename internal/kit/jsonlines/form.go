package jsonlines

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Values are the content of a line: each member says at which index its value is.
type Values struct {
	Texts   []string
	Figures []float64
	Counts  []uint32         // that are many and small
	Tallies []map[string]int // counts by any name; nil is left out
}

// Kind is what the value of a member is.
type Kind uint8

// The kinds of values.
const (
	Whole  Kind = iota // a figure: a count, which is not negative
	Small              // one of Values.Counts
	Amount             // a figure: a cost or a time, which is not negative
	Signed             // a figure: an amount that may be negative
	Object             // members of its own
	Text               // a text
	Tally              // counts by any name
)

// Member is a value of a line with its name in JSON.
type Member struct {
	Name     string
	Kind     Kind
	At       int      // index of the value in Values, but for objects
	Optional bool     // left out when it is zero or empty
	Choice   []string // of a text: what it may be; nil for anything
	Of       []Member // of an object, in the order of writing; their figures follow each other in Values

	quoted      []string       // of an object: the names of its members, with a colon
	index       map[string]int // of an object: the index of a member by its quoted name
	first, size int            // of an object: its figures, which follow each other
	small       bool           // they are Small
}

// Form is the form of a line: its members, written in the given order and read in any order.
type Form struct {
	name string
	root Member
}

// NewForm returns the form of lines that errors call by name.
func NewForm(name string, members []Member) *Form {
	f := &Form{name: name, root: Member{Kind: Object, Of: members}}
	f.root.prepare()
	return f
}

func (m *Member) prepare() {
	m.index = make(map[string]int, len(m.Of))
	for i := range m.Of {
		quoted := strconv.Quote(m.Of[i].Name)
		m.quoted, m.index[quoted] = append(m.quoted, quoted+":"), i
		m.Of[i].prepare()
	}
	m.first = math.MaxInt
	m.each(func(o *Member) { m.first, m.size, m.small = min(m.first, o.At), m.size+1, o.Kind == Small })
}

// Append appends a line of JSON, without its end, to text.
func (f *Form) Append(text []byte, l *Values) ([]byte, error) {
	e := encoder{Values: l, text: text}
	e.value(&f.root)
	return e.text, e.err
}

// Each calls do with each figure of the form.
func (f *Form) Each(do func(*Member)) { f.root.each(do) }

func (m *Member) each(do func(*Member)) {
	if m.Kind <= Signed {
		do(m)
	}
	for i := range m.Of {
		m.Of[i].each(do)
	}
}

// Check returns an error for a figure that is out of bounds.
func (f *Form) Check(l *Values) error {
	if fault := f.root.check(l); fault != nil {
		return fault
	}
	return nil
}

func (m *Member) check(l *Values) *fault {
	switch m.Kind {
	case Whole, Amount, Signed:
		if v := l.Figures[m.At]; !m.Kind.holds(v) {
			return &fault{text: m.Kind.bounds(v)}
		}
	case Tally:
		for name, n := range l.Tallies[m.At] {
			if !Whole.holds(float64(n)) {
				return (&fault{text: Whole.bounds(float64(n))}).within(name)
			}
		}
	}
	for i := range m.Of {
		o := &m.Of[i]
		if o.Kind == Object && o.empty(l) {
			continue
		}
		if f := o.check(l); f != nil {
			return f.within(o.Name)
		}
	}
	return nil
}

// Most is the largest count that a JSON reader with 64-bit floating-point numbers reads
// exactly. It bounds amounts too, because statistics square and cube them.
const Most = 1 << 53

func (k Kind) holds(v float64) bool {
	return v <= Most && (v >= 0 || k == Signed && v >= -Most) && (k != Small || v <= math.MaxUint32)
}

// bounds says that a figure is out of bounds.
func (k Kind) bounds(v float64) string {
	if k <= Small {
		return fmt.Sprintf("is %.0f, which no run can have", v)
	}
	return fmt.Sprintf("is %v, which no run can have", v)
}

// empty reports whether a member has nothing to write.
func (m *Member) empty(l *Values) bool {
	switch m.Kind {
	case Object:
		if m.small {
			return !slices.ContainsFunc(l.Counts[m.first:m.first+m.size], func(n uint32) bool { return n != 0 })
		}
		for _, v := range l.Figures[m.first : m.first+m.size] {
			if v != 0 {
				return false
			}
		}
		return true
	case Small:
		return l.Counts[m.At] == 0
	case Text:
		return l.Texts[m.At] == ""
	case Tally:
		return l.Tallies[m.At] == nil
	}
	return l.Figures[m.At] == 0
}

// encoder collects the text of a line.
type encoder struct {
	*Values
	text []byte
	err  error
}

func (e *encoder) value(m *Member) {
	switch m.Kind {
	case Whole:
		e.whole(int64(e.Figures[m.At]))
	case Small:
		e.whole(int64(e.Counts[m.At]))
	case Amount, Signed:
		e.float(e.Figures[m.At])
	case Text:
		e.quote(e.Texts[m.At])
	case Tally:
		counts := e.Tallies[m.At]
		open := byte('{')
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			e.text = append(e.text, open)
			e.quote(name)
			e.text = append(e.text, ':')
			e.whole(int64(counts[name]))
			open = ','
		}
		e.close(open)
	case Object:
		open := byte('{')
		for i := range m.Of {
			o := &m.Of[i]
			if o.Optional && o.empty(e.Values) {
				continue
			}
			e.text = append(append(e.text, open), m.quoted[i]...)
			e.value(o)
			open = ','
		}
		e.close(open)
	}
}

// close ends an object of which the next member would begin with open.
func (e *encoder) close(open byte) {
	if open == '{' {
		e.text = append(e.text, open)
	}
	e.text = append(e.text, '}')
}

func (e *encoder) whole(n int64) { e.text = strconv.AppendInt(e.text, n, 10) }

// float appends a number in the form of JSON: the shortest decimal that reads
// back as the same.
func (e *encoder) float(v float64) {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		e.err = fmt.Errorf("%v is not a number that JSON can hold", v)
		return
	case v == 0: // of either sign
		e.text = append(e.text, '0')
		return
	case abs >= 1e-6 && abs < 1e21:
		e.text = strconv.AppendFloat(e.text, v, 'f', -1, 64)
		return
	}
	b := strconv.AppendFloat(e.text, v, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 is e-9
		b = append(b[:n-2], b[n-1])
	}
	e.text = b
}

func (e *encoder) quote(s string) {
	text, err := jsontext.AppendQuote(e.text, s)
	if err != nil {
		e.err = fmt.Errorf("%q: %w", s, err)
		return
	}
	e.text = text
}
