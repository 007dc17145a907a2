package jsonlines

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// A Part reads, writes, adds up and checks the values of one type.
type Part[T any] interface {
	append(e *encoder, v *T)
	// scan reads a value within its bounds into v. A false result comes with a
	// fault in r.
	scan(r *Reader, v *T) bool
	// empty reports whether an optional member is left out.
	empty(v *T) bool
	// add adds w to v.
	add(v, w *T)
	// check returns a fault for a value out of bounds.
	check(v *T) *fault
}

// Member is a part of an A with a name in its JSON object.
type Member[A any] struct {
	Name     string
	Optional bool // left out when empty
	part     Part[A]
}

// At returns the member called name at a place of A.
func At[A, E any](name string, at func(*A) *E, part Part[E]) Member[A] {
	return Member[A]{Name: name, part: place[A, E]{at, part}}
}

// Or returns m as an optional member, which is left out when it is empty.
func (m Member[A]) Or() Member[A] {
	m.Optional = true
	return m
}

type place[A, E any] struct {
	at   func(*A) *E
	part Part[E]
}

func (p place[A, E]) append(e *encoder, a *A)   { p.part.append(e, p.at(a)) }
func (p place[A, E]) scan(r *Reader, a *A) bool { return p.part.scan(r, p.at(a)) }
func (p place[A, E]) empty(a *A) bool           { return p.part.empty(p.at(a)) }
func (p place[A, E]) add(a, b *A)               { p.part.add(p.at(a), p.at(b)) }
func (p place[A, E]) check(a *A) *fault         { return p.part.check(p.at(a)) }

// Object is the form of a JSON object with the given members, at most 64.
type Object[A any] struct {
	members []Member[A]
	keys    keys
	strange Strange
	need    string // name of the object in the error if it lacks a member; "" allows that
	sum     func(a, b *A)
	needed  uint64 // the members that are not optional
}

// NewObject returns the form of an object. It writes its members in the given
// order and reads them in any order; strange is Pass or Refuse.
func NewObject[A any](strange Strange, members ...Member[A]) *Object[A] {
	o := &Object[A]{members: members, strange: strange}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
		if !m.Optional {
			o.needed |= 1 << i
		}
	}
	o.keys = newKeys(names)
	return o
}

// Need makes it an error if an object lacks a member that is not optional. The
// error calls the object by name.
func (o *Object[A]) Need(name string) *Object[A] {
	o.need = name
	return o
}

// Sum sets a function that adds up objects, instead of adding member by member.
func (o *Object[A]) Sum(add func(a, b *A)) *Object[A] {
	o.sum = add
	return o
}

// Add adds b to a.
func (o *Object[A]) Add(a, b *A) { o.add(a, b) }

// Check returns an error for a member that is out of bounds.
func (o *Object[A]) Check(a *A) error {
	if f := o.check(a); f != nil {
		return f
	}
	return nil
}

func (o *Object[A]) append(e *encoder, a *A) {
	e.text = append(e.text, '{')
	first := true
	for i := range o.members {
		m := &o.members[i]
		if m.Optional && m.part.empty(a) {
			continue
		}
		e.key(o.keys.quoted[i], first)
		first = false
		m.part.append(e, a)
	}
	e.text = append(e.text, '}')
}

func (o *Object[A]) scan(r *Reader, a *A) bool {
	seen, ok := r.object(&o.keys, func(i int) bool { return o.members[i].part.scan(r, a) }, func(name string) bool {
		if o.strange == Refuse {
			return r.unknown(name, &o.keys)
		}
		return r.pass(name)
	})
	if missing := o.needed &^ seen; ok && o.need != "" && missing != 0 {
		return r.refuse(o.without(missing))
	}
	return ok
}

// without says which members an object lacks.
func (o *Object[A]) without(missing uint64) string {
	var names []string
	for i, m := range o.members {
		if missing&(1<<i) != 0 {
			names = append(names, m.Name)
		}
	}
	if n := bits.OnesCount64(missing); n > 3 {
		return fmt.Sprintf("%s without %s and %d more members", o.need, strings.Join(names[:3], ", "), n-3)
	}
	return fmt.Sprintf("%s without %s", o.need, strings.Join(names, ", "))
}

func (o *Object[A]) empty(a *A) bool {
	for i := range o.members {
		if !o.members[i].part.empty(a) {
			return false
		}
	}
	return true
}

func (o *Object[A]) add(a, b *A) {
	if o.sum != nil {
		o.sum(a, b)
		return
	}
	for i := range o.members {
		o.members[i].part.add(a, b)
	}
}

func (o *Object[A]) check(a *A) *fault {
	for i := range o.members {
		if f := o.members[i].part.check(a); f != nil {
			return f.within(o.members[i].Name)
		}
	}
	return nil
}

// Strange says what a reader does with an unknown member: it adds it to the
// figure with this index, or does what a constant says.
type Strange int

// What happens to unknown members.
const (
	Refuse Strange = -1 - iota // the object is an error
	Pass                       // counted in Reader.Passed
	Beyond                     // counted there, its figure added up in Reader.Beyond
)

// Names is the form of a list of figures as an object: each under its name,
// sorted, without those that are zero.
type Names[A any, E comparable] struct {
	keys    keys
	order   []int // index of a figure by that of its key
	all     func(*A) []E
	part    Part[E]
	strange Strange
}

// ByName returns the form of the figures of A, which have the names.
func ByName[A any, E comparable](names []string, all func(*A) []E, part Part[E], strange Strange) *Names[A, E] {
	n := &Names[A, E]{all: all, part: part, strange: strange}
	sorted := slices.Sorted(slices.Values(names))
	for _, name := range sorted {
		n.order = append(n.order, slices.Index(names, name))
	}
	n.keys = newKeys(sorted)
	return n
}

func (n *Names[A, E]) append(e *encoder, a *A) {
	var zero E
	list := n.all(a)
	e.text = append(e.text, '{')
	first := true
	for k, i := range n.order {
		if list[i] == zero {
			continue
		}
		e.key(n.keys.quoted[k], first)
		first = false
		n.part.append(e, &list[i])
	}
	e.text = append(e.text, '}')
}

func (n *Names[A, E]) scan(r *Reader, a *A) bool {
	list := n.all(a)
	_, ok := r.object(&n.keys, func(k int) bool {
		i := n.order[k]
		if i != int(n.strange) {
			return n.part.scan(r, &list[i])
		}
		var figure E // unknown ones may be there already
		ok := n.part.scan(r, &figure)
		n.part.add(&list[i], &figure)
		return ok
	}, func(name string) bool {
		if n.strange == Refuse {
			return r.unknown(name, &n.keys)
		}
		return n.stranger(r, list, name)
	})
	return ok
}

// stranger reads a figure with an unknown name.
func (n *Names[A, E]) stranger(r *Reader, list []E, name string) bool {
	var figure E
	if !n.part.scan(r, &figure) {
		r.fault.in(name)
		return false
	}
	r.count(name)
	switch {
	case n.strange >= 0:
		n.part.add(&list[n.strange], &figure)
	case n.strange == Beyond:
		switch v := any(figure).(type) {
		case int:
			r.beyond(float64(v))
		case float64:
			r.beyond(v)
		}
	}
	return true
}

func (n *Names[A, E]) empty(a *A) bool {
	var zero E
	for _, v := range n.all(a) {
		if v != zero {
			return false
		}
	}
	return true
}

func (n *Names[A, E]) add(a, b *A) {
	var zero E
	to, from := n.all(a), n.all(b)
	for i := range from {
		if from[i] != zero {
			n.part.add(&to[i], &from[i])
		}
	}
}

func (n *Names[A, E]) check(a *A) *fault {
	var zero E
	list := n.all(a)
	for k, i := range n.order {
		if list[i] == zero {
			continue
		}
		if f := n.part.check(&list[i]); f != nil {
			return f.within(n.keys.names[k])
		}
	}
	return nil
}

var noKeys keys

// Tally is the form of counts by any name; nil is left out.
type Tally struct{}

func (Tally) append(e *encoder, m *map[string]int) {
	e.text = append(e.text, '{')
	for i, name := range slices.Sorted(maps.Keys(*m)) {
		if i > 0 {
			e.text = append(e.text, ',')
		}
		e.quote(name)
		e.text = append(e.text, ':')
		n := (*m)[name]
		Count[int]().append(e, &n)
	}
	e.text = append(e.text, '}')
}

func (Tally) scan(r *Reader, m *map[string]int) bool {
	counts := map[string]int{}
	_, ok := r.object(&noKeys, nil, func(name string) bool {
		n := 0
		if _, twice := counts[name]; twice {
			return r.refuse("has " + name + " twice")
		}
		if !Count[int]().scan(r, &n) {
			r.fault.in(name)
			return false
		}
		counts[name] = n
		return true
	})
	*m = counts
	return ok
}

func (Tally) empty(m *map[string]int) bool { return *m == nil }

func (Tally) add(m, n *map[string]int) {
	if *m == nil && len(*n) > 0 {
		*m = make(map[string]int, len(*n))
	}
	for name, k := range *n {
		(*m)[name] += k
	}
}

func (Tally) check(m *map[string]int) *fault {
	for name, n := range *m {
		if f := Count[int]().check(&n); f != nil {
			return f.within(name)
		}
	}
	return nil
}
