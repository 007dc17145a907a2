package spec

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Encode returns the node of a Go value; Enums are written by name.
func Encode(v any) (*yaml.Node, error) { return encode(reflect.ValueOf(v), false) }

// Describe returns a struct as a mapping with every field, each with its doc
// and unit in a comment above it.
func Describe(v any) (*yaml.Node, error) {
	return encode(reflect.Indirect(reflect.ValueOf(v)), true)
}

// Line returns a value as YAML on one line: a mapping in braces, a multi-line
// text in double quotes.
func Line(v any) string {
	n, err := Encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	text, err := line(n)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}

// Flow returns a node on one line, a text without quotes.
func Flow(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	text, err := line(Clone(n))
	if err != nil {
		return ""
	}
	return text
}

// line writes a node on one line, changing its style.
func line(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	quoteLines(n)
	text, err := yaml.Marshal(n)
	return strings.TrimSpace(string(text)), err
}

// quoteLines sets double quotes for multi-line texts in a node.
func quoteLines(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteLines(child)
	}
}

// encode returns the node of a value. With described it has every field, with
// comments, and lists on one line unless they hold structs.
func encode(v reflect.Value, described bool) (*yaml.Node, error) {
	if !v.IsValid() {
		return encodePlain(v)
	}
	t := v.Type()
	switch names := enumNames(t); {
	case names != nil:
		return encodePlain(reflect.ValueOf(enumName(v, names))) // off is quoted, because YAML 1.1 reads it as false
	case t == durationType:
		return Text(shortDuration(time.Duration(v.Int()))), nil
	case opaque(t), t == timeType, t == nodeType:
	case t.Kind() == reflect.Pointer && !v.IsNil():
		return encode(v.Elem(), described)
	case t.Kind() == reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		return n, encodeFields(n, v, described)
	case t.Kind() == reflect.Slice && !v.IsNil():
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		keyed := described && v.Len() > 0 && t.Elem().Kind() == reflect.Struct && t.Elem() != nodeType
		if described && !keyed {
			n.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			elem, err := encode(v.Index(i), keyed)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, elem)
		}
		return n, nil
	case t.Kind() == reflect.Map && !v.IsNil() && !plain(t, nil):
		return encodeMap(v)
	default:
		if n := scalar(v); n != nil {
			return n, nil
		}
	}
	n, err := encodePlain(v)
	if err == nil && described && n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	return n, err
}

// encodeMap returns the node of a map, sorted by the text of its keys.
func encodeMap(v reflect.Value) (*yaml.Node, error) {
	type entry struct{ key, value *yaml.Node }
	var entries []entry
	for it := v.MapRange(); it.Next(); {
		key, err := encodeKey(it.Key())
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("encode YAML: a key of type %s has no text", v.Type().Key())
		}
		value, err := encode(it.Value(), false)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{key, value})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key.Value, b.key.Value) })
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, e := range entries {
		n.Content = append(n.Content, e.key, e.value)
	}
	return n, nil
}

func encodeKey(v reflect.Value) (*yaml.Node, error) {
	if v.Kind() == reflect.String {
		return Text(v.String()), nil
	}
	return encode(v, false)
}

// encodePlain encodes what yaml.v3 can encode.
func encodePlain(v reflect.Value) (*yaml.Node, error) {
	var value any
	if v.IsValid() {
		value = v.Interface()
	}
	n := new(yaml.Node)
	if err := n.Encode(value); err != nil {
		return nil, fmt.Errorf("encode YAML: %w", err)
	}
	return n, nil
}

// scalar returns the node of a truth value, a number or a word, nil for anything else: encodePlain has yaml.v3 write a
// value and read it again.
func scalar(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch {
	case v.Kind() == reflect.Bool:
		n.Value = strconv.FormatBool(v.Bool())
	case v.CanInt():
		n.Value = strconv.FormatInt(v.Int(), 10)
	case v.Kind() == reflect.Float64 && math.Abs(v.Float()) <= math.MaxFloat64:
		n.Value = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.String:
		n.Value = v.String()
		if n.ShortTag() != "!!str" || !words.MatchString(n.Value) || slices.Contains(oldBools, strings.ToLower(n.Value)) {
			return nil
		}
	default:
		return nil
	}
	n.Tag = n.ShortTag()
	return n
}

// words are texts that need no quotes, unless they are what YAML 1.1 reads as a truth value.
var (
	words    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	oldBools = []string{"y", "n", "yes", "no", "on", "off"}
)

func encodeFields(n *yaml.Node, v reflect.Value, described bool) error {
	for _, m := range shapeOf(v.Type()).members {
		of := v.Field(m.at)
		switch {
		case !described && m.omitempty && of.IsZero():
			continue
		case m.inline:
			if err := encodeFields(n, of, described); err != nil {
				return err
			}
			continue
		}
		value, err := encode(of, described)
		if err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		if m.flow {
			value.Style |= yaml.FlowStyle
		}
		key := Text(m.key)
		if described {
			key.HeadComment = m.comment()
		}
		n.Content = append(n.Content, key, value)
	}
	return nil
}

// comment returns the comment above a field: its doc, and its unit if the doc lacks it.
func comment(doc, unit string) string {
	if strings.Contains(strings.ToLower(doc), unit) {
		return wrap(doc, manualWidth)
	}
	sentence, ends := strings.CutSuffix(doc, ".")
	if doc = strings.TrimPrefix(sentence+", "+unit, ", "); ends {
		doc += "."
	}
	return wrap(doc, manualWidth)
}

// plain reports whether yaml.v3 encodes values of a type as this package does.
func plain(t reflect.Type, seen []reflect.Type) bool {
	switch {
	case slices.Contains(seen, t):
		return true
	case enumNames(t) != nil, t == durationType:
		return false
	case opaque(t), t == timeType, t == nodeType:
		return true
	}
	switch t.Kind() {
	case reflect.Map:
		return plain(t.Key(), seen) && plain(t.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		return plain(t.Elem(), seen)
	case reflect.Struct:
		seen = append(seen, t)
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !plain(f.Type, seen) {
				return false
			}
		}
	}
	return true
}

// shortDuration returns a duration in Go's form, without trailing zero parts.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// manualWidth is the width of the comments of a manual, characters.
const manualWidth = 80

// Manual returns a struct as a file with every field. Above each field is its
// tag doc or, by path, a chapter. A chapter without a path comes first. The
// text of chapters stays unchanged.
func Manual(v any, chapters map[string]string) ([]byte, error) {
	root, err := Describe(v)
	if err != nil {
		return nil, err
	}
	for path, text := range chapters {
		if key := keyAt(root, path); key != nil {
			key.HeadComment = strings.TrimSpace(writeComment(text))
		}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("encode a manual: %w", err)
	}
	var out strings.Builder
	out.WriteString(writeComment(chapters[""]))
	apart := true
	for line := range strings.Lines(b.String()) {
		top := line[0] != ' ' && line[0] != '-'
		if top && apart {
			out.WriteByte('\n')
		}
		apart = line[0] != '#'
		out.WriteString(line)
	}
	return []byte(out.String()), nil
}

// Chapters divides a text into chapters: each line "== PATH" begins one, and
// the first has no path.
func Chapters(text string) map[string]string {
	list := map[string]string{}
	for i, part := range strings.Split("\n"+text, "\n== ") {
		path, rest := "", part
		if i > 0 {
			path, rest, _ = strings.Cut(part, "\n")
		}
		list[path] = strings.TrimSpace(rest)
	}
	return list
}

// keyAt returns the node of the key at a path, nil for none.
func keyAt(n *yaml.Node, path string) *yaml.Node {
	head, rest, more := strings.Cut(path, ".")
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == head {
			if !more {
				return n.Content[i]
			}
			return keyAt(n.Content[i+1], rest)
		}
	}
	return nil
}

// writeComment returns a text as a comment.
func writeComment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	left := width
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1 > left:
			b.WriteByte('\n')
			left = width
		default:
			b.WriteByte(' ')
			left--
		}
		b.WriteString(word)
		left -= n
	}
	return b.String()
}
