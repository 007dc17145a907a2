package jsonlines

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads lines of one form. It expects what a Form writes,
// members in order without blanks, and accepts all other JSON too, more slowly.
type Reader struct {
	// Passed counts unknown members by name; the names of nested ones are joined by
	// dots. The caller makes the map.
	Passed map[string]int
	// Beyond adds up figures of the last line with unknown names, by the member
	// that contains them.
	Beyond map[string]float64

	text   []byte
	at     int
	depth  int
	top    string // member of the line
	doubt  bool   // the line may hold more than the reader examined
	fault  fault
	copies map[string]string
}

// fault is what is wrong with a value.
type fault struct {
	path []string // names of members, the innermost first
	text string
}

// in adds the name of the member that contains the value.
func (f *fault) in(name string) { f.path = append(f.path, name) }

// within is in for the fault that is returned.
func (f *fault) within(name string) *fault {
	f.in(name)
	return f
}

// Error names the member and says what is wrong with it.
func (f *fault) Error() string {
	var b strings.Builder
	for i := len(f.path) - 1; i >= 0; i-- {
		b.WriteString(f.path[i])
		if i > 0 {
			b.WriteByte('.')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String() + f.text
}

// begin makes line the one that is read.
func (r *Reader) begin(line []byte) {
	r.text, r.at, r.depth, r.doubt, r.fault, r.Beyond = line, 0, 0, false, fault{}, nil
}

// end returns the error of a line, read as far as it is ok. Doubt says that the line may hold
// more than was examined.
func (r *Reader) end(ok bool) (doubt bool, err error) {
	if r.space(); ok && r.at < len(r.text) {
		ok = r.refuse("more than one value on a line")
	}
	if !ok || r.doubt {
		var value jsontext.Value
		if err := json.Unmarshal(r.text, &value); err != nil {
			return false, err
		}
	}
	if !ok {
		f := r.fault
		return false, &f
	}
	return r.doubt, nil
}

// keys are the names of an object's members.
type keys struct {
	names  []string
	quoted []string // with the colon
	find   map[string]int
}

// maxKeys is the largest number of members that a set of keys holds.
const maxKeys = 64

// newKeys panics with too many names: forms are part of the program.
func newKeys(names []string) keys {
	if len(names) > maxKeys {
		panic(fmt.Sprintf("jsonlines: %d members, at most %d", len(names), maxKeys))
	}
	k := keys{names: names, find: map[string]int{}}
	for i, name := range names {
		k.quoted = append(k.quoted, strconv.Quote(name)+":")
		k.find[name] = i
	}
	return k
}

// object reads an object: member the values of its keys, strange those of others.
// It returns the set of keys that were there.
func (r *Reader) object(of *keys, member func(i int) bool, strange func(name string) bool) (seen uint64, ok bool) {
	if !r.is("{") {
		return 0, r.mismatch("an object")
	}
	r.depth++
	next := 0
	for first := true; ; first = false {
		if r.space(); r.is("}") {
			r.depth--
			return seen, true
		}
		if !first && !r.is(",") {
			return 0, r.refuse("is no valid JSON")
		}
		i, name, ok := r.key(of, next)
		switch {
		case !ok:
			return 0, r.refuse("is no valid JSON")
		case i < 0:
			if !strange(name) {
				return 0, false
			}
			continue
		case seen&(1<<i) != 0:
			return 0, r.refuse("has " + of.names[i] + " twice")
		}
		if r.depth == 1 {
			r.top = of.names[i]
		}
		seen |= 1 << i
		if next = i + 1; !member(i) {
			r.fault.in(of.names[i])
			return 0, false
		}
	}
}

// key reads a name with its colon and returns its index, -1 for an unknown one.
// It expects the key next, or one soon after it.
func (r *Reader) key(of *keys, next int) (i int, name string, ok bool) {
	r.space()
	if rest := r.text[r.at:]; len(rest) > 1 {
		for i := next; i < len(of.quoted); i++ {
			if of.quoted[i][1] == rest[1] && r.is(of.quoted[i]) {
				r.space()
				return i, "", true
			}
		}
	}
	text, ok := r.string()
	if r.space(); !ok || !r.is(":") {
		return 0, "", false
	}
	r.space()
	if i, known := of.find[string(text)]; known {
		return i, "", true
	}
	return -1, r.shared(text), true
}

// space skips blanks.
func (r *Reader) space() {
	for r.at < len(r.text) && r.text[r.at] <= ' ' {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// is consumes a literal text. If the text is another one, it consumes nothing.
func (r *Reader) is(text string) bool {
	end := r.at + len(text)
	if end > len(r.text) || string(r.text[r.at:end]) != text {
		return false
	}
	r.at = end
	return true
}

// string consumes a string. The result is valid until the next call.
func (r *Reader) string() ([]byte, bool) {
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return nil, false
	}
	rest := r.text[r.at+1:]
	for i, c := range rest {
		switch {
		case c == '"':
			r.at += i + 2
			return rest[:i], true
		case c < ' ' || c > '~' || c == '\\':
			return r.escaped()
		}
	}
	return nil, false
}

// escaped consumes a string that is not plain ASCII.
func (r *Reader) escaped() ([]byte, bool) {
	r.doubt = true
	start := r.at
	for i := start + 1; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			i++
		case '"':
			text, err := jsontext.AppendUnquote(nil, r.text[start:i+1])
			r.at = i + 1
			return text, err == nil
		}
	}
	return nil, false
}

// shared returns the shared copy of b.
func (r *Reader) shared(b []byte) string {
	if s, ok := r.copies[string(b)]; ok {
		return s
	}
	if r.copies == nil {
		r.copies = map[string]string{}
	}
	s := string(b)
	r.copies[s] = s
	return s
}

// integer consumes a whole number that fits.
func (r *Reader) integer() (int64, bool) {
	start, v := r.at, int64(0)
	if r.at < len(r.text) && r.text[r.at] == '-' {
		r.at++
	}
	first := r.at
	for ; r.at < len(r.text) && digit(r.text[r.at]); r.at++ {
		v = 10*v + int64(r.text[r.at]-'0')
	}
	n := r.at - first
	fraction := r.at < len(r.text) && (r.text[r.at] == '.' || r.text[r.at]|' ' == 'e')
	switch {
	case n == 0 || fraction || n > 1 && r.text[first] == '0':
		r.at = start
		return 0, false
	case n > 18:
		long, err := strconv.ParseInt(string(r.text[start:r.at]), 10, 64)
		if err != nil {
			r.at = start
		}
		return long, err == nil
	case first > start:
		v = -v
	}
	return v, true
}

// float consumes a number that a float64 can hold.
func (r *Reader) float() (float64, bool) {
	if v, n := decimal(r.text[r.at:]); n > 0 {
		r.at += n
		return v, true
	}
	n := numberLen(r.text[r.at:])
	v, err := strconv.ParseFloat(string(r.text[r.at:r.at+n]), 64)
	if n == 0 || err != nil {
		return 0, false
	}
	r.at += n
	return v, true
}

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// decimal reads a number in the usual form: a few digits with or without a
// fraction. It is one exact number divided by another and so rounded once. It
// returns the length of the text, 0 for another form.
func decimal(b []byte) (v float64, n int) {
	var digits uint64
	point := -1
	for ; n < len(b); n++ {
		switch c := b[n]; {
		case digit(c):
			digits = 10*digits + uint64(c-'0')
			continue
		case c == '.' && point < 0 && n > 0:
			point = n
			continue
		case c == '.' || c == '-' || c == '+' || c|' ' == 'e':
			return 0, 0
		}
		break
	}
	switch {
	case n == 0 || n > 18 || digits >= 1<<53 || n > 1 && b[0] == '0' && point != 1 || point == n-1:
		return 0, 0
	case point < 0:
		return float64(digits), n
	}
	return float64(digits) / tens[n-1-point], n
}

// numberLen returns the length of the JSON number that b begins with, 0 when it
// begins with none.
func numberLen(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && digit(b[i]) {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if !digits() || i > first+1 && b[first] == '0' {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return 0
		}
	}
	if i < len(b) && b[i]|' ' == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// pass skips the value of an unknown member and counts the member.
func (r *Reader) pass(name string) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(r.text[r.at:]))
	if err := d.SkipValue(); err != nil {
		return r.refuse("is no valid JSON")
	}
	r.at += int(d.InputOffset())
	r.count(name)
	return true
}

// count counts an unknown member of the object that the reader is in.
func (r *Reader) count(name string) {
	r.doubt = true // because of repeated names
	if r.depth > 1 {
		name = r.top + "." + name
	}
	r.Passed[name]++
}

func (r *Reader) beyond(v float64) {
	if r.Beyond == nil {
		r.Beyond = map[string]float64{}
	}
	r.Beyond[r.top] += v
}

// refuse sets what is wrong with the value.
func (r *Reader) refuse(text string) bool {
	r.fault = fault{text: text}
	return false
}

func (r *Reader) unknown(name string, known *keys) bool {
	r.refuse("is not known, only " + list(known.names))
	r.fault.in(name)
	return false
}

// mismatch refuses a value of the wrong kind.
func (r *Reader) mismatch(want string) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(r.text[r.at:]))
	value, err := d.ReadValue()
	switch text := string(value); {
	case err != nil:
		return r.refuse("is no valid JSON")
	case text == "null":
		return r.refuse("is null")
	case len(text) > 40:
		return r.refuse("is not " + want)
	default:
		return r.refuse(fmt.Sprintf("is %s, not %s", text, want))
	}
}
