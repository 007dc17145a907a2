package jsonlines

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Values are the content of a line: each member says at which index its value is.
type Values struct {
	Texts   []string
	Figures []float64
	Tallies []map[string]int // counts by any name; nil is left out
}

// Kind is what the value of a member is.
type Kind uint8

// The kinds of values.
const (
	Whole  Kind = iota // a figure: a count, which is not negative
	Amount             // a figure: a cost or a time, which is not negative
	Signed             // a figure: an amount that may be negative
	Object             // members of its own
	Text               // a text
	Shared             // a text that repeats often: a reader keeps one copy
	Tally              // counts by any name
)

// Member is a value of a line with its name in JSON.
type Member struct {
	Name     string
	Kind     Kind
	At       int      // index of the value in Values, but for objects
	Optional bool     // left out when it is zero or empty
	Choice   []string // of a text: what it may be; nil for anything
	Of       []Member // of an object, in the order of writing
	Strange  Strange  // of an object: what becomes of unknown members

	keys keys
}

// Strange says what a reader does with an unknown member: it adds it to the member with this
// index, or does what a constant says.
type Strange int

// What happens to unknown members.
const (
	Refuse Strange = -1 - iota // the object is an error
	Pass                       // counted in Reader.Passed
	Beyond                     // counted there, its figure added up in Reader.Beyond
)

// Form is the form of a line: its members, written in the given order and read in any order.
// Unknown ones are passed over.
type Form struct {
	name   string
	root   Member
	needed uint64 // the members that are not optional
}

// NewForm returns the form of lines that errors call by name.
func NewForm(name string, members []Member) *Form {
	f := &Form{name: name, root: Member{Kind: Object, Of: members, Strange: Pass}}
	f.root.prepare()
	for i, m := range members {
		if !m.Optional {
			f.needed |= 1 << i
		}
	}
	return f
}

func (m *Member) prepare() {
	names := make([]string, len(m.Of))
	for i := range m.Of {
		names[i] = m.Of[i].Name
		m.Of[i].prepare()
	}
	m.keys = newKeys(names)
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
		if f := m.Of[i].check(l); f != nil {
			return f.within(m.Of[i].Name)
		}
	}
	return nil
}

// Most is the largest count that a JSON reader with 64-bit floating-point numbers reads
// exactly. It bounds amounts too, because statistics square and cube them.
const Most = 1 << 53

func (k Kind) holds(v float64) bool { return v <= Most && (v >= 0 || k == Signed && v >= -Most) }

// bounds says that a figure is out of bounds.
func (k Kind) bounds(v float64) string {
	if k == Whole {
		return fmt.Sprintf("is %.0f, which no run can have", v)
	}
	return fmt.Sprintf("is %v, which no run can have", v)
}

// empty reports whether a member has nothing to write.
func (m *Member) empty(l *Values) bool {
	switch m.Kind {
	case Object:
		return !slices.ContainsFunc(m.Of, func(o Member) bool { return !o.empty(l) })
	case Text, Shared:
		return l.Texts[m.At] == ""
	case Tally:
		return l.Tallies[m.At] == nil
	}
	return l.Figures[m.At] == 0
}

// scan adds a value within its bounds to l, which the reader has found empty. A false result
// comes with a fault in r.
func (m *Member) scan(r *Reader, l *Values) bool {
	switch m.Kind {
	case Object:
		_, ok := m.members(r, l)
		return ok
	case Text, Shared:
		return m.text(r, &l.Texts[m.At])
	case Tally:
		return r.tally(&l.Tallies[m.At])
	}
	v, ok := r.figure(m.Kind)
	l.Figures[m.At] += v // unknown members may be there already
	return ok
}

// members reads an object and returns the set of members that were there.
func (m *Member) members(r *Reader, l *Values) (seen uint64, ok bool) {
	return r.object(&m.keys, func(i int) bool { return m.Of[i].scan(r, l) }, func(name string) bool {
		var ok bool
		switch m.Strange {
		case Refuse:
			return r.unknown(name, &m.keys)
		case Pass:
			return r.pass(name)
		case Beyond:
			var v float64
			v, ok = r.figure(m.Of[0].Kind)
			r.beyond(v)
		default:
			ok = m.Of[m.Strange].scan(r, l)
		}
		if !ok {
			r.fault.in(name)
			return false
		}
		r.count(name)
		return true
	})
}

func (m *Member) text(r *Reader, v *string) bool {
	b, ok := r.string()
	switch {
	case !ok:
		return r.mismatch("a text")
	case m.Choice != nil && !slices.Contains(m.Choice, string(b)):
		return r.refuse("is not one of " + list(m.Choice))
	case m.Kind == Shared:
		*v = r.shared(b)
	default:
		*v = string(b)
	}
	return true
}

// figure reads a figure within its bounds.
func (r *Reader) figure(k Kind) (float64, bool) {
	var v float64
	if k == Whole {
		n, ok := r.integer()
		if v = float64(n); !ok {
			return 0, r.mismatch("a whole number")
		}
	} else if f, ok := r.float(); ok {
		v = f
	} else {
		return 0, r.mismatch("a number")
	}
	if !k.holds(v) {
		return 0, r.refuse(k.bounds(v))
	}
	return v, true
}

var noKeys keys

// tally reads counts by any name.
func (r *Reader) tally(to *map[string]int) bool {
	counts := map[string]int{}
	_, ok := r.object(&noKeys, nil, func(name string) bool {
		if _, twice := counts[name]; twice {
			return r.refuse("has " + name + " twice")
		}
		n, ok := r.figure(Whole)
		if !ok {
			r.fault.in(name)
			return false
		}
		counts[name] = int(n)
		return true
	})
	*to = counts
	return ok
}

// Read reads a line into l, which is empty. The error names the member at fault.
func (f *Form) Read(r *Reader, line []byte, l *Values) error {
	r.begin(line)
	seen, ok := f.root.members(r, l)
	if missing := f.needed &^ seen; ok && missing != 0 {
		ok = r.refuse(f.without(missing))
	}
	doubt, err := r.end(ok)
	if err == nil && doubt {
		err = f.Check(l)
	}
	return err
}

// without says which members a line lacks.
func (f *Form) without(missing uint64) string {
	var names []string
	for i, m := range f.root.Of {
		if missing&(1<<i) != 0 {
			names = append(names, m.Name)
		}
	}
	if n := bits.OnesCount64(missing); n > 3 {
		return fmt.Sprintf("%s without %s and %d more members", f.name, list(names[:3]), n-3)
	}
	return fmt.Sprintf("%s without %s", f.name, list(names))
}

func list(names []string) string { return strings.Join(names, ", ") }

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
	case Amount, Signed:
		e.float(e.Figures[m.At])
	case Text, Shared:
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
			e.text = append(append(e.text, open), m.keys.quoted[i]...)
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
