package jsonscan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Scannable is a value that reads itself.
type Scannable interface {
	// Scan must consume the value at the cursor, which may be of any kind.
	Scan(s *Scanner)
}

// Decode reads a text that is one value into what v points to, as encoding/json does with structs by their tags, of
// which only names count. It takes strings, whole numbers, floats, booleans, pointers, slices, maps of strings and
// Scannable values; a slice of bytes takes the JSON of any value and shares the bytes of the text. Names are the tags'
// to the letter, one that comes twice is an error, and bytes that are not UTF-8 become U+FFFD. A null empties what it
// is read into, but not a field whose tag has several names, as in "input|arguments", of which the last one that is no
// null counts. A value of the wrong kind is an error, which names the byte.
func Decode(text []byte, v any) error {
	s := New(text)
	s.Decode(v)
	s.End()
	return s.err
}

// Decode reads the value at the cursor, as the function Decode does.
func (s *Scanner) Decode(v any) {
	to := reflect.ValueOf(v).Elem()
	d := decoders.Get().(*decoder)
	d.Scanner = *s
	planOf(to.Type())(d, to)
	*s = d.Scanner
	if d.Scanner = (Scanner{}); cap(d.scratch) <= maxScratch {
		decoders.Put(d)
	}
}

// maxScratch bounds what is kept of a long string that had escapes, bytes.
const maxScratch = 1 << 20

// decoder is a scanner with room for the text of strings.
type decoder struct {
	Scanner
	scratch []byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// plan reads the value at the cursor into v.
type plan func(d *decoder, v reflect.Value)

var (
	plans     sync.Map // of types
	scannable = reflect.TypeFor[Scannable]()
)

// planOf returns the plan of a type.
func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	b := planner{}
	p := b.of(t)
	for t, p := range b {
		plans.Store(t, plan(func(d *decoder, v reflect.Value) { (*p)(d, v) }))
	}
	plans.Store(t, p)
	return p
}

// planner holds the plans that are being made, since a type may contain itself.
type planner map[reflect.Type]*plan

func (b planner) of(t reflect.Type) plan {
	if p := b[t]; p != nil {
		return func(d *decoder, v reflect.Value) { (*p)(d, v) }
	}
	p := new(plan)
	b[t] = p
	*p = b.make(t)
	return *p
}

func (b planner) make(t reflect.Type) plan {
	if reflect.PointerTo(t).Implements(scannable) {
		return func(d *decoder, v reflect.Value) { v.Addr().Interface().(Scannable).Scan(&d.Scanner) }
	}
	switch t.Kind() {
	case reflect.String:
		return nullable('"', "a string", (*decoder).string)
	case reflect.Bool:
		return nullable(0, "", func(d *decoder, v reflect.Value) {
			if d.Peek() == 'f' || d.Peek() == 't' {
				v.SetBool(d.Bool())
			} else {
				d.failHere("true or false")
			}
		})
	case reflect.Int, reflect.Int64:
		return nullable(0, "", (*decoder).int)
	case reflect.Float64:
		return nullable(0, "", (*decoder).float)
	case reflect.Pointer:
		to := b.of(t.Elem())
		return nullable(0, "", func(d *decoder, v reflect.Value) {
			if v.IsNil() {
				v.Set(reflect.New(t.Elem()))
			}
			to(d, v.Elem())
		})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return func(d *decoder, v reflect.Value) { v.SetBytes(d.Raw()) }
		}
		return nullable('[', "a list", list(t, b.of(t.Elem())))
	case reflect.Map:
		to := b.of(t.Elem())
		return nullable('{', "an object", func(d *decoder, v reflect.Value) {
			if v.IsNil() {
				v.Set(reflect.MakeMap(t))
			}
			for name := range d.Members {
				name, value := reflect.ValueOf(valid(name)), reflect.New(t.Elem()).Elem()
				to(d, value)
				v.SetMapIndex(name.Convert(t.Key()), value)
			}
		})
	case reflect.Struct:
		return nullable('{', "an object", b.object(t))
	}
	panic(fmt.Sprintf("jsonscan: a value into a %s", t))
}

// nullable makes a plan that empties v for a null, and refuses values that do not begin with a byte, 0 for any.
func nullable(first byte, what string, p plan) plan {
	return func(d *decoder, v reflect.Value) {
		switch c := d.Peek(); {
		case c == 'n':
			d.literal("null")
			v.SetZero()
		case first != 0 && c != first:
			d.failHere(what)
		default:
			p(d, v)
		}
	}
}

// unlessNull makes a plan that leaves v as it is for a null.
func unlessNull(p plan) plan {
	return func(d *decoder, v reflect.Value) {
		if d.Peek() == 'n' {
			d.literal("null")
		} else {
			p(d, v)
		}
	}
}

// valid returns text with U+FFFD in the place of bytes that are not UTF-8.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

func (d *decoder) string(v reflect.Value) { v.SetString(valid(d.Text(&d.scratch))) }

func (d *decoder) int(v reflect.Value) {
	from := d.Scanner
	if n, ok := d.Int(); ok {
		v.SetInt(n)
	} else if d.err == nil {
		d.Scanner = from
		d.failHere("a whole number")
	}
}

func (d *decoder) float(v reflect.Value) {
	from := d.Scanner
	x, err := strconv.ParseFloat(string(d.Raw()), 64)
	if v.SetFloat(x); err != nil && d.err == nil {
		d.Scanner = from
		d.failHere("a number")
	}
}

// list makes the plan of a slice.
func list(t reflect.Type, element plan) plan {
	return func(d *decoder, v reflect.Value) {
		all := reflect.New(t).Elem()
		for range d.Elements {
			n := all.Len()
			if n == all.Cap() {
				all.Grow(1)
			}
			all.SetLen(n + 1)
			element(d, all.Index(n))
		}
		if all.IsNil() {
			all = reflect.MakeSlice(t, 0, 0)
		}
		v.Set(all)
	}
}

// field is where a member of an object goes.
type field struct {
	index []int
	plan  plan
	nth   int // among the names of the struct
}

// object makes the plan of a struct.
func (b planner) object(t reflect.Type) plan {
	fields := map[string]*field{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p := b.of(f.Type)
		if strings.Contains(name, "|") {
			p = unlessNull(p)
		}
		for name := range strings.SplitSeq(name, "|") {
			if had := fields[name]; had == nil || len(f.Index) < len(had.index) {
				fields[name] = &field{f.Index, p, len(fields)}
			}
		}
	}
	return func(d *decoder, v reflect.Value) {
		seen := Seen(0)
		for name := range d.Members {
			switch f := fields[string(name)]; {
			case f == nil:
				d.Skip()
			case !d.Once(&seen, f.nth):
			case len(f.index) == 1:
				f.plan(d, v.Field(f.index[0]))
			default:
				f.plan(d, v.FieldByIndex(f.index))
			}
		}
	}
}
