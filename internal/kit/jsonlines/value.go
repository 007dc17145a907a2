package jsonlines

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Most is the largest count that a JSON reader with 64-bit floating-point numbers reads
// exactly. It bounds amounts too, because statistics square and cube them.
const Most = 1 << 53

// Integer is the form of whole numbers within bounds.
type Integer[T int | int32 | int64 | uint32] struct {
	least, most int64
	largest     bool
}

// Count returns the form of counts, which are not negative.
func Count[T int | int32 | int64 | uint32]() Integer[T] { return Integer[T]{most: most[T]()} }

// most returns the largest power of two up to Most that a T holds.
func most[T int | int32 | int64 | uint32]() int64 {
	n := int64(Most)
	for int64(T(n)) != n {
		n /= 2
	}
	return n
}

// Largest returns the form of counts whose sum is the largest of them.
func Largest[T int | int32 | int64 | uint32]() Integer[T] {
	return Integer[T]{most: most[T](), largest: true}
}

func (p Integer[T]) append(e *encoder, v *T) { e.text = strconv.AppendInt(e.text, int64(*v), 10) }

func (p Integer[T]) scan(r *Reader, v *T) bool {
	n, ok := r.integer()
	if !ok {
		return r.mismatch("a whole number")
	}
	if n < p.least || n > p.most {
		return r.refuse(bounds(n))
	}
	*v = T(n)
	return true
}

func (p Integer[T]) empty(v *T) bool { return *v == 0 }

func (p Integer[T]) add(v, w *T) {
	if p.largest {
		*v = max(*v, *w)
		return
	}
	*v += *w
}

func (p Integer[T]) check(v *T) *fault {
	if n := int64(*v); n < p.least || n > p.most {
		return &fault{text: bounds(n)}
	}
	return nil
}

func bounds(v any) string { return fmt.Sprintf("is %v, which no run can have", v) }

// Amount is the form of costs and times. Signed ones may be negative.
type Amount struct{ Signed bool }

func (p Amount) append(e *encoder, v *float64) { e.float(*v) }

func (p Amount) scan(r *Reader, v *float64) bool {
	f, ok := r.float()
	if !ok {
		return r.mismatch("a number")
	}
	*v = f
	if !p.within(f) {
		return r.refuse(bounds(f))
	}
	return true
}

func (p Amount) within(v float64) bool { return v <= Most && (v >= 0 || p.Signed && v >= -Most) }

func (p Amount) empty(v *float64) bool { return *v == 0 }
func (p Amount) add(v, w *float64)     { *v += *w }

func (p Amount) check(v *float64) *fault {
	if !p.within(*v) {
		return &fault{text: bounds(*v)}
	}
	return nil
}

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

// Text is the form of a string. Shared ones repeat often: a reader keeps one
// copy.
type Text struct{ Shared bool }

func (p Text) append(e *encoder, v *string) { e.quote(*v) }

func (p Text) scan(r *Reader, v *string) bool {
	b, ok := r.string()
	if !ok {
		return r.mismatch("a text")
	}
	if p.Shared {
		*v = r.shared(b)
	} else {
		*v = string(b)
	}
	return true
}

func (p Text) empty(v *string) bool   { return *v == "" }
func (p Text) add(_, _ *string)       {}
func (p Text) check(_ *string) *fault { return nil }

// Choice is the form of one of a few values, written as its name: index 0 is left out when
// optional. Any other name is refused.
type Choice[T ~uint8] struct{ Names []string }

func (p Choice[T]) append(e *encoder, v *T) { e.quote(p.Names[*v]) }

func (p Choice[T]) scan(r *Reader, v *T) bool {
	b, ok := r.string()
	if !ok {
		return r.mismatch("a text")
	}
	i := slices.Index(p.Names, string(b))
	if i < 0 {
		return r.refuse("is not one of " + strings.Join(p.Names[1:], ", "))
	}
	*v = T(i)
	return true
}

func (p Choice[T]) empty(v *T) bool { return *v == 0 }
func (p Choice[T]) add(_, _ *T)     {}

func (p Choice[T]) check(v *T) *fault {
	if int(*v) >= len(p.Names) {
		return &fault{text: bounds(*v)}
	}
	return nil
}

// Label returns the member for a text that belongs to a line, not to its value,
// such as the cell of a row.
func Label[A any](name string) Member[A] {
	return Member[A]{Name: name, part: label[A]{}}
}

type label[A any] struct{}

func (label[A]) append(e *encoder, _ *A) { e.quote(e.label) }

func (label[A]) scan(r *Reader, _ *A) bool {
	return Text{Shared: true}.scan(r, &r.Label)
}

func (label[A]) empty(*A) bool   { return false }
func (label[A]) add(_, _ *A)     {}
func (label[A]) check(*A) *fault { return nil }

// encoder collects the text of a line.
type encoder struct {
	label string
	text  []byte
	err   error
}

// key appends the quoted name of a member with its colon.
func (e *encoder) key(quoted string, first bool) {
	if !first {
		e.text = append(e.text, ',')
	}
	e.text = append(e.text, quoted...)
}

func (e *encoder) quote(s string) {
	text, err := jsontext.AppendQuote(e.text, s)
	if err != nil {
		e.err = fmt.Errorf("%q: %w", s, err)
		return
	}
	e.text = text
}

// Append appends a as one line of JSON, without its end, to text. The label is
// that of the line.
func (o *Object[A]) Append(text []byte, label string, a *A) ([]byte, error) {
	e := encoder{label: label, text: text}
	o.append(&e, a)
	return e.text, e.err
}
