package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// form writes and reads the values of a type. Memory without pointers is copied unchanged; the
// layout is a part of the name of an entry, so that nothing written under another layout is read.
type form struct {
	size uintptr // of values that are copied unchanged, 0 for others
	put  func(to []byte, from unsafe.Pointer) []byte
	get  func(from *input, to unsafe.Pointer)
}

// input is the rest of the text, and the first error.
type input struct {
	rest []byte
	err  error
}

var errShort = errors.New("the entry ends too early")

// take returns the next n bytes.
func (in *input) take(n uint64) []byte {
	if in.err != nil || n > uint64(len(in.rest)) {
		in.fail(errShort)
		return nil
	}
	b := in.rest[:n:n]
	in.rest = in.rest[n:]
	return b
}

// count returns a number of elements of at least one byte each.
func (in *input) count() uint64 {
	n, used := binary.Uvarint(in.rest)
	if used <= 0 || n > uint64(len(in.rest)) {
		in.fail(errShort)
		return 0
	}
	in.rest = in.rest[used:]
	return n
}

func (in *input) fail(err error) {
	if in.err == nil {
		in.err, in.rest = err, nil
	}
}

// forms makes forms. A value in an interface has a pointer to one of its types.
type forms struct{ types []reflect.Type }

// of returns the form of a type, or why it has none.
func (f forms) of(t reflect.Type) (form, error) {
	if flat(t) {
		return copied(t.Size()), nil
	}
	switch t.Kind() {
	case reflect.String:
		return text(), nil
	case reflect.Slice:
		elem, err := f.of(t.Elem())
		return slice(t, elem), err
	case reflect.Pointer:
		elem, err := f.of(t.Elem())
		return pointer(t, elem), err
	case reflect.Struct:
		return f.fields(t)
	case reflect.Array:
		elem, err := f.of(t.Elem())
		return array(t, elem), err
	case reflect.Interface:
		return f.dynamic(t)
	case reflect.Map:
		return f.mapping(t)
	}
	return form{}, fmt.Errorf("values of type %s are not kept", t)
}

// flat reports whether values of a type hold no pointers.
func flat(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr:
		return true
	case k == reflect.Array:
		return flat(t.Elem())
	case k == reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

func bytesAt(p unsafe.Pointer, n uintptr) []byte { return unsafe.Slice((*byte)(p), n) }

func copied(size uintptr) form {
	return form{
		size: size,
		put:  func(to []byte, from unsafe.Pointer) []byte { return append(to, bytesAt(from, size)...) },
		get:  func(from *input, to unsafe.Pointer) { copy(bytesAt(to, size), from.take(uint64(size))) },
	}
}

func text() form {
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			s := *(*string)(from)
			return append(binary.AppendUvarint(to, uint64(len(s))), s...)
		},
		get: func(from *input, to unsafe.Pointer) { *(*string)(to) = string(from.take(from.count())) },
	}
}

// slice is the form of slices, in which nil differs from length 0.
func slice(t reflect.Type, elem form) form {
	step := t.Elem().Size()
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			v := reflect.NewAt(t, from).Elem()
			if v.IsNil() {
				return append(to, 0)
			}
			to = binary.AppendUvarint(to, uint64(v.Len())+1)
			first := v.UnsafePointer()
			if elem.size > 0 {
				return append(to, bytesAt(first, step*uintptr(v.Len()))...)
			}
			for i := range uintptr(v.Len()) {
				to = elem.put(to, unsafe.Add(first, i*step))
			}
			return to
		},
		get: func(from *input, to unsafe.Pointer) {
			n := from.count()
			if n == 0 {
				return
			}
			n--
			if elem.size > 0 && n*uint64(step) > uint64(len(from.rest)) {
				from.fail(errShort)
				return
			}
			v := reflect.MakeSlice(t, int(n), int(n))
			first := v.UnsafePointer()
			if elem.size > 0 {
				copy(bytesAt(first, step*uintptr(n)), from.take(n*uint64(step)))
			} else {
				for i := range uintptr(n) {
					elem.get(from, unsafe.Add(first, i*step))
				}
			}
			reflect.NewAt(t, to).Elem().Set(v)
		},
	}
}

// array is the form of arrays whose elements hold pointers.
func array(t reflect.Type, elem form) form {
	each := func(at unsafe.Pointer, do func(unsafe.Pointer)) {
		for i := range t.Len() {
			do(unsafe.Add(at, uintptr(i)*t.Elem().Size()))
		}
	}
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			each(from, func(at unsafe.Pointer) { to = elem.put(to, at) })
			return to
		},
		get: func(from *input, to unsafe.Pointer) { each(to, func(at unsafe.Pointer) { elem.get(from, at) }) },
	}
}

func pointer(t reflect.Type, elem form) form {
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			p := *(*unsafe.Pointer)(from)
			if p == nil {
				return append(to, 0)
			}
			return elem.put(append(to, 1), p)
		},
		get: func(from *input, to unsafe.Pointer) {
			if from.count() == 0 {
				return
			}
			v := reflect.New(t.Elem())
			elem.get(from, v.UnsafePointer())
			*(*unsafe.Pointer)(to) = v.UnsafePointer()
		},
	}
}

// mapping is the form of maps, in which nil differs from an empty one.
func (f forms) mapping(t reflect.Type) (form, error) {
	key, err := f.of(t.Key())
	if err != nil {
		return form{}, err
	}
	elem, err := f.of(t.Elem())
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			v := reflect.NewAt(t, from).Elem()
			if v.IsNil() {
				return append(to, 0)
			}
			to = binary.AppendUvarint(to, uint64(v.Len())+1)
			k, e := reflect.New(t.Key()), reflect.New(t.Elem())
			for at := v.MapRange(); at.Next(); {
				k.Elem().SetIterKey(at)
				e.Elem().SetIterValue(at)
				to = elem.put(key.put(to, k.UnsafePointer()), e.UnsafePointer())
			}
			return to
		},
		get: func(from *input, to unsafe.Pointer) {
			n := from.count()
			if n == 0 {
				return
			}
			v := reflect.MakeMap(t)
			for ; n > 1 && from.err == nil; n-- {
				k, e := reflect.New(t.Key()), reflect.New(t.Elem())
				key.get(from, k.UnsafePointer())
				elem.get(from, e.UnsafePointer())
				v.SetMapIndex(k.Elem(), e.Elem())
			}
			reflect.NewAt(t, to).Elem().Set(v)
		},
	}, err
}

// fields is the form of a struct. Adjacent fields without pointers are copied together.
func (f forms) fields(t reflect.Type) (form, error) {
	var list []form
	var at []uintptr
	from := -1 // first field of those that are copied together
	for i := range t.NumField() + 1 {
		if i < t.NumField() && flat(t.Field(i).Type) {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 {
			last := t.Field(i - 1)
			list = append(list, copied(last.Offset+last.Type.Size()-t.Field(from).Offset))
			at, from = append(at, t.Field(from).Offset), -1
		}
		if i < t.NumField() {
			field, err := f.of(t.Field(i).Type)
			if err != nil {
				return form{}, fmt.Errorf("%s.%s: %w", t, t.Field(i).Name, err)
			}
			list, at = append(list, field), append(at, t.Field(i).Offset)
		}
	}
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			for i := range list {
				to = list[i].put(to, unsafe.Add(from, at[i]))
			}
			return to
		},
		get: func(from *input, to unsafe.Pointer) {
			for i := range list {
				list[i].get(from, unsafe.Add(to, at[i]))
			}
		},
	}, nil
}

// dynamic is the form of interfaces: 1 + the number of the type, then the
// value. A value of an unknown type is not kept.
func (f forms) dynamic(t reflect.Type) (form, error) {
	list := make([]form, len(f.types))
	for i, p := range f.types {
		var err error
		if list[i], err = (forms{}).of(p.Elem()); err != nil {
			return form{}, err
		}
	}
	return form{
		put: func(to []byte, from unsafe.Pointer) []byte {
			v := reflect.NewAt(t, from).Elem().Elem()
			for i, p := range f.types {
				if v.IsValid() && v.Type() == p && !v.IsNil() {
					return list[i].put(append(to, byte(i+1)), v.UnsafePointer())
				}
			}
			return append(to, 0)
		},
		get: func(from *input, to unsafe.Pointer) {
			n := int(from.count())
			if n == 0 || n > len(list) {
				return
			}
			v := reflect.New(f.types[n-1].Elem())
			list[n-1].get(from, v.UnsafePointer())
			reflect.NewAt(t, to).Elem().Set(v)
		},
	}, nil
}

// layout describes the memory layout of values of a type.
func (f forms) layout(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for i := range t.NumField() {
			field := t.Field(i)
			fmt.Fprintf(&b, "%s %d %s;", field.Name, field.Offset, f.layout(field.Type))
		}
		return "{" + b.String() + "}"
	case reflect.Slice, reflect.Pointer:
		return t.Kind().String() + " " + f.layout(t.Elem())
	case reflect.Map:
		return "map " + f.layout(t.Key()) + " " + f.layout(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), f.layout(t.Elem()))
	case reflect.Interface:
		list := make([]string, len(f.types))
		for i, p := range f.types {
			list[i] = (forms{}).layout(p)
		}
		return "any(" + strings.Join(list, "|") + ")"
	}
	return t.Kind().String()
}
