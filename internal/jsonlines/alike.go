package jsonlines

import "bytes"

// Writer writes lines of values that have much in common: a member equal to that of the last value
// is copied from the last line. Maps of a value must not change once it is written.
type Writer[A any] struct {
	of         *Object[A]
	known      bool
	last       A
	line, next []byte
	ends       []int // of the members in the line, each with the following comma
}

// Writer returns a writer of lines of the form.
func (o *Object[A]) Writer() *Writer[A] { return &Writer[A]{of: o, ends: make([]int, len(o.members))} }

// Last returns the value of the last line, zero if there is none.
func (w *Writer[A]) Last() *A { return &w.last }

// Line returns a as one line of JSON, with its end, as Object.Append writes it; it is valid until the next call. The
// error names a member that is out of bounds.
func (w *Writer[A]) Line(label string, a *A) ([]byte, error) {
	if n := len(w.line); n > 1 {
		w.line[n-1] = ',' // replaced at the end of the line
	}
	e := encoder{label: label, text: append(w.next[:0], '{')}
	from := 1
	for i := range w.of.members {
		m := &w.of.members[i]
		to := w.ends[i]
		if w.known && m.part.same(&w.last, a) {
			e.text = append(e.text, w.line[from:to]...)
		} else if m.take(&w.last, a); !m.Optional || !m.part.empty(a) {
			if f := m.part.check(a); f != nil {
				w.known = false
				return nil, f.within(m.Name)
			}
			e.text = append(e.text, w.of.keys.quoted[i]...)
			m.part.append(&e, a)
			e.text = append(e.text, ',')
		}
		from, w.ends[i] = to, len(e.text)
	}
	w.known = e.err == nil
	w.line, w.next = e.text, w.line
	if n := len(e.text); n > 1 {
		return append(e.text[:n-1], "}\n"...), e.err // the last comma goes
	}
	return append(e.text, "}\n"...), e.err
}

// ReadNext reads a line into a, which holds what r has read by ReadNext before,
// or is zero: a member with the same text as in the last line is skipped.
func (o *Object[A]) ReadNext(r *Reader, line []byte, a *A) error {
	if r.texts == nil {
		r.texts = make([][]byte, len(o.members))
	}
	seen, err := o.read(r, line, a, func(i int) bool {
		if text := r.texts[i]; len(text) > 0 && r.again(text) {
			return true
		}
		from, doubt := r.at, r.doubt
		o.members[i].take(a, &o.zero)
		r.doubt = false
		ok := o.members[i].part.scan(r, a)
		r.texts[i] = r.texts[i][:0]
		if ok && !r.doubt {
			r.texts[i] = append(r.texts[i], r.text[from:r.at]...)
		}
		r.doubt = r.doubt || doubt
		return ok
	})
	for i := range o.members {
		if seen&(1<<i) == 0 {
			r.texts[i] = r.texts[i][:0]
			o.members[i].take(a, &o.zero)
		}
	}
	return err
}

// again consumes the text of a value if it comes next.
func (r *Reader) again(text []byte) bool {
	rest := r.text[r.at:]
	n := len(text)
	if len(rest) <= n || rest[n] != ',' && rest[n] != '}' || !bytes.Equal(rest[:n], text) {
		return false
	}
	r.at += n
	return true
}
