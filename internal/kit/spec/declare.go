package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
)

// Enum is a small integer or boolean type with a name for each of its values,
// by index; files hold the names. The first name of a boolean means false.
type Enum interface{ Names() []string }

// Defaulter is an element of a list or a map whose defaults are not zero.
type Defaulter interface{ SetDefaults() }

// Ruled is a struct whose values can contradict each other in ways that no tag
// expresses. An error made by Wrong, or a Problem, is reported at the values it
// names, any other error at the struct.
type Ruled interface{ Rules() []error }

// Bounded is a struct with its own meaning of the bounds of a tag: an estimate
// applies them to its value, a distribution to its draws. Within returns why it
// is not in low…high, which are infinite without a bound.
type Bounded interface{ Within(low, high float64) error }

// Labelled is a struct with a parameter that decides what another one counts. Label
// returns the name and the unit of the parameter key, "" for those that its tags give.
type Labelled interface {
	Label(key string) (name, unit string)
}

// Label returns the label of an axis for the parameter at a path of v: its name
// in words and, unless the name ends with it, its unit: keep recent (results).
func Label(v any, path string) string {
	name, unit := path, ""
	Fields(v, func(f *Field) {
		key, below := strings.CutPrefix(path, f.Path+".")
		switch {
		case f.Path == path && unit == "":
			unit = f.Unit
		case below && f.Nested():
			of := reflect.New(f.Value.Type())
			of.Elem().Set(f.Value)
			if own, ok := of.Interface().(Labelled); ok {
				if n, u := own.Label(key); n != "" {
					name, unit = n, u
				}
			}
		}
	})
	name = strings.NewReplacer("_", " ", ".", " ").Replace(name)
	if unit == "" || strings.HasSuffix(name, unit) {
		return name
	}
	return name + " (" + unit + ")"
}

// Field is a parameter: a field of a struct with what its tags declare.
type Field struct {
	Path  string // of YAML keys, joined by dots
	Doc   string
	Unit  string
	Needs string // path of the parameter that must be on for this one to have an effect
	Value reflect.Value
	Tag   reflect.StructTag
}

// Nested reports whether the field is a mapping of further fields.
func (f *Field) Nested() bool { return isStruct(f.Value.Type()) }

// Text returns the value as YAML on one line.
func (f *Field) Text() string { return Line(f.Value.Interface()) }

// Fields calls visit for every parameter of a struct, or a pointer to one, in
// order, each mapping before its content.
func Fields(v any, visit func(*Field)) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() == reflect.Struct {
		walk(value, "", visit)
	}
}

func walk(v reflect.Value, path string, visit func(*Field)) {
	for _, m := range shapeOf(v.Type()).members {
		value := v.Field(m.at)
		if m.inline {
			walk(value, path, visit)
			continue
		}
		at := Join(path, m.key)
		visit(&Field{Path: at, Doc: m.doc, Unit: m.unit, Needs: m.needs, Value: value, Tag: m.Tag})
		if isStruct(m.Type) {
			walk(value, at, visit)
		}
	}
}

// member is a field of a struct type that files have, with what its tags say.
type member struct {
	reflect.StructField
	at              int    // index of the field
	key             string // in files
	inline          bool   // the field's own members stand in its place
	omitempty, flow bool
	doc, unit       string
	needs           string
	comment         func() string // above the field
}

// shape is what a type means in files.
type shape struct {
	opaque  bool     // it decodes itself, so that its kind says nothing
	members []member // of a struct that is not opaque
}

// shapes has the shape of each type that was asked for: a command reads the tags and
// methods of the same few types thousands of times.
var shapes sync.Map // of *shape by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	p := reflect.PointerTo(t)
	s := &shape{opaque: p.Implements(reflect.TypeFor[yaml.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[interface {
			UnmarshalYAML(func(any) error) error
		}]())}
	if t.Kind() == reflect.Struct {
		var list []member
		for i := range t.NumField() {
			f := t.Field(i)
			key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			list = append(list, member{
				StructField: f, at: i, key: cmp.Or(key, strings.ToLower(f.Name)), inline: strings.Contains(options, "inline"),
				omitempty: strings.Contains(options, "omitempty"), flow: strings.Contains(options, "flow"),
				doc: f.Tag.Get("doc"), unit: f.Tag.Get("unit"), needs: f.Tag.Get("needs"),
				comment: sync.OnceValue(func() string { return comment(f.Tag.Get("doc"), f.Tag.Get("unit")) }),
			})
		}
		s.members = list
	}
	shapes.Store(t, s)
	return s
}

// Difference is a parameter with different values in two structs.
type Difference struct{ Path, A, B string }

// Diff returns the parameters in which two structs of one type differ, as YAML.
func Diff(a, b any) []Difference {
	var list []Difference
	other := flat(b)
	for i, f := range flat(a) {
		if reflect.DeepEqual(f.Value.Interface(), other[i].Value.Interface()) {
			continue // to write both takes a hundred times as long
		}
		if x, y := f.Text(), other[i].Text(); x != y {
			list = append(list, Difference{f.Path, x, y})
		}
	}
	return list
}

func flat(v any) []*Field {
	var list []*Field
	Fields(v, func(f *Field) {
		if !f.Nested() {
			list = append(list, f)
		}
	})
	return list
}

// Keys returns the YAML keys of a struct type, keys of inlined fields included.
func Keys(t reflect.Type) []string {
	var keys []string
	for _, m := range shapeOf(t).members {
		if m.inline {
			keys = append(keys, Keys(m.Type)...)
		} else {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// fieldOf returns the field of a struct type with a YAML key, and its indices
// through inlined structs.
func fieldOf(t reflect.Type, key string) (member, []int, bool) {
	for _, m := range shapeOf(t).members {
		switch {
		case m.inline:
			if inner, index, ok := fieldOf(m.Type, key); ok {
				return inner, append([]int{m.at}, index...), true
			}
		case m.key == key:
			return m, []int{m.at}, true
		}
	}
	return member{}, nil, false
}

// Paths returns the keys of every field of a struct type, joined by dots, in
// the order of the fields. A path ends at a list, a map or a type that decodes
// itself.
func Paths(v any) []string { return paths(nil, base(reflect.TypeOf(v)), "") }

func paths(dst []string, t reflect.Type, path string) []string {
	if !isStruct(t) {
		return dst
	}
	for _, key := range Keys(t) {
		f, _, _ := fieldOf(t, key)
		dst = append(dst, Join(path, key))
		dst = paths(dst, base(f.Type), Join(path, key))
	}
	return dst
}

// CheckPath returns an error that names the nearest path if v's type has no
// field at keys.
func CheckPath(v any, keys ...string) error {
	t := base(reflect.TypeOf(v))
	for _, key := range keys {
		ok := false
		switch {
		case t.Kind() == reflect.Map && !opaque(t):
			t, ok = base(t.Elem()), true
		case isStruct(t):
			var f member
			if f, _, ok = fieldOf(t, key); ok {
				t = base(f.Type)
			}
		}
		if !ok {
			path := strings.Join(keys, ".")
			return fmt.Errorf("unknown parameter %q%s", path, nearest.Hint(path, Paths(v)))
		}
	}
	return nil
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var (
	nodeType     = reflect.TypeFor[yaml.Node]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isStruct reports whether values of t are mappings whose keys are its fields.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != nodeType && t != timeType && !opaque(t)
}

// opaque reports whether a type decodes itself, so that its kind says nothing
// about its form in files.
func opaque(t reflect.Type) bool { return shapeOf(t).opaque }

// enumNames returns the names of the values of an Enum, nil for another type.
func enumNames(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Uint8:
		if e, ok := reflect.Zero(t).Interface().(Enum); ok {
			return e.Names()
		}
	}
	return nil
}

// Name returns the name of a value of an Enum, its number if it has no name.
func Name[E interface {
	~bool | ~uint8 | ~int
	Enum
}](e E) string {
	return enumName(reflect.ValueOf(e), e.Names())
}

func enumName(v reflect.Value, names []string) string {
	if i := ordinal(v); i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprint(ordinal(v))
}

// ordinal returns the index of a value of an Enum among its names.
func ordinal(v reflect.Value) int {
	switch {
	case v.CanUint():
		return int(v.Uint())
	case v.CanInt():
		return int(v.Int())
	case v.Bool():
		return 1
	}
	return 0
}

// setOrdinal sets a value of an Enum to the one at an index.
func setOrdinal(v reflect.Value, i int) {
	switch {
	case v.CanUint():
		v.SetUint(uint64(i))
	case v.CanInt():
		v.SetInt(int64(i))
	default:
		v.SetBool(i == 1)
	}
}

// unknown returns the message for a value that is not among those known.
func unknown(value string, known []string) string {
	named := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return name == "" })
	return fmt.Sprintf("unknown value %q%s; want %s", value, nearest.Hint(value, named), strings.Join(named, " or "))
}

// limit is one bound of a tag as a number, in ns for a duration, and as written; the
// zero value is no bound.
type limit struct {
	at   float64
	text string
	set  bool
}

// limits are the bounds in a field's tag, and the texts that it allows.
type limits struct {
	min, above, max, below limit
	known                  []string // nil for any
}

// bounds has the limits of each tag that was asked for: a command checks values against
// the same few hundred tags thousands of times.
var bounds sync.Map // of *limits by limitsKey

type limitsKey struct {
	tag reflect.StructTag
	of  reflect.Type
}

// limitsOf returns the bounds that a tag sets to values of a type.
func limitsOf(tag reflect.StructTag, t reflect.Type) *limits {
	if l, ok := bounds.Load(limitsKey{tag, t}); ok {
		return l.(*limits)
	}
	read := func(key string) (l limit) {
		if l.text = tag.Get(key); l.text == "" {
			return l
		}
		var err error
		if t == durationType {
			var d time.Duration
			d, err = time.ParseDuration(l.text)
			l.at = float64(d)
		} else {
			l.at, err = strconv.ParseFloat(l.text, 64)
		}
		l.set = err == nil
		return l
	}
	l := &limits{min: read("min"), above: read("above"), max: read("max"), below: read("below")}
	if enum := tag.Get("enum"); enum != "" && t.Kind() == reflect.String {
		l.known = strings.Split(enum, ",")
	}
	bounds.Store(limitsKey{tag, t}, l)
	return l
}

// outside says why a value is outside the bounds of its tags, "" if it is
// inside. A value that is not finite is always outside.
func outside(v reflect.Value, tag reflect.StructTag) string {
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return ""
	}
	l := limitsOf(tag, v.Type())
	low, over, high, under := l.min, l.above, l.max, l.below
	const huge = 1.7976931348623157e308
	fits := (!low.set || x >= low.at) && (!over.set || x > over.at) && (!high.set || x <= high.at) && (!under.set || x < under.at) &&
		x >= -huge && x <= huge
	switch {
	case fits || !low.set && !over.set && !high.set && !under.set:
		return ""
	case low.set && high.set:
		return "must lie in " + low.text + "…" + high.text
	case over.set && high.set:
		return "must lie above " + over.text + " and be at most " + high.text
	case low.set && under.set:
		return "must be at least " + low.text + " and lie below " + under.text
	case over.set && under.set:
		return "must lie between " + over.text + " and " + under.text
	case high.set:
		return "must be at most " + high.text
	case under.set:
		return "must lie below " + under.text
	case over.set:
		return "must be above " + over.text
	case low.at == 0 && x < 0:
		return "must not be negative"
	case low.at == 0:
		return "must be a number from 0"
	}
	return "must be at least " + low.text
}

// flaw says what is wrong with one value by its tags, without its path; "" for
// nothing.
func flaw(v reflect.Value, tag reflect.StructTag) string {
	if text := outside(v, tag); text != "" {
		return " " + Line(v.Interface()) + " " + text
	}
	if v.Kind() == reflect.String {
		if known := limitsOf(tag, v.Type()).known; known != nil && !slices.Contains(known, v.String()) {
			return ": " + unknown(v.String(), known)
		}
	}
	return ""
}
