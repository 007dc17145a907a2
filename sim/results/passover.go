package results

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PassedOver counts what a reader did not know and went without, by name: members
// that a later version of the tool adds to results of the same schema. The names
// of nested members are joined by dots, without places in lists.
type PassedOver map[string]int

// Decode decodes one JSON value into v, which is a pointer to a zero value, and
// counts the members it passes over. Members of the objects in sums, which are at
// the top of the value, are not passed over: figures that others are added up
// from would be wrong without them. The line numbers of errors are those in data.
func (p PassedOver) Decode(data []byte, v any, sums ...string) error {
	return p.decode(PassedOver{}, data, v, sums...)
}

// decode is Decode for one of many values of a form, of which drop holds the members
// that are known to be passed over. It adds those it finds.
func (p PassedOver) decode(drop PassedOver, data []byte, v any, sums ...string) error {
	text, counts, err := drop.without(data, "")
	for err == nil {
		err = json.Unmarshal(text, v, json.RejectUnknownMembers(true))
		var at *json.SemanticError
		if err == nil || !errors.Is(err, json.ErrUnknownName) || !errors.As(err, &at) {
			break
		}
		found, n, walkErr := drop.without(data, at.JSONPointer)
		if walkErr != nil || maps.Equal(n, counts) || refused(n, counts, sums) {
			return err
		}
		text, counts, err = found, n, nil
		for name := range counts {
			drop[name] = 0
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	if err != nil {
		return err
	}
	for name, n := range counts {
		p[name] += n
	}
	return nil
}

// refused reports whether a name that is new among counts is one of sums.
func refused(counts, before map[string]int, sums []string) bool {
	for name := range counts {
		top, _, nested := strings.Cut(name, ".")
		if _, old := before[name]; !old && nested && slices.Contains(sums, top) {
			return true
		}
	}
	return false
}

// without returns data with the members that p names blanked, those with the name
// of the one that at points to too, and how many there were of each.
func (p PassedOver) without(data []byte, at jsontext.Pointer) ([]byte, map[string]int, error) {
	if len(p) == 0 && at == "" {
		return data, nil, nil
	}
	b := blanker{from: jsontext.NewDecoder(bytes.NewBuffer(data)), text: data, drop: maps.Clone(p), at: at, counts: map[string]int{}}
	if at != "" {
		// Where the member stands is found first: its name may occur ahead of it.
		if err := b.value(""); err != nil {
			return nil, nil, err
		}
		b.from, b.at, b.counts = jsontext.NewDecoder(bytes.NewBuffer(data)), "", map[string]int{}
	}
	b.text = slices.Clone(data)
	err := b.value("")
	return b.text, b.counts, err
}

// blanker blanks members of a JSON text, so that all else stays where it is.
type blanker struct {
	from   *jsontext.Decoder
	text   []byte
	drop   PassedOver
	at     jsontext.Pointer // the member to look for; "" when it is blanking
	counts map[string]int
}

// value goes through a value with a name.
func (b *blanker) value(name string) error {
	switch b.from.PeekKind() {
	case '{':
		return b.object(name)
	case '[':
		if _, err := b.from.ReadToken(); err != nil {
			return err
		}
		for b.from.PeekKind() != ']' {
			if err := b.value(name); err != nil {
				return err
			}
		}
		_, err := b.from.ReadToken()
		return err
	}
	return b.from.SkipValue()
}

func (b *blanker) object(name string) error {
	if _, err := b.from.ReadToken(); err != nil {
		return err
	}
	for kept := false; b.from.PeekKind() != '}'; {
		start := b.from.InputOffset() // ahead of the comma, if there is one
		token, err := b.from.ReadToken()
		if err != nil {
			return err
		}
		member := token.String()
		if name != "" {
			member = name + "." + member
		}
		if b.at != "" && b.from.StackPointer() == b.at {
			if b.drop == nil {
				b.drop = PassedOver{}
			}
			b.drop[member] = 0
		}
		if _, drop := b.drop[member]; !drop || b.at != "" {
			kept = true
			if err := b.value(member); err != nil {
				return err
			}
			continue
		}
		if err := b.from.SkipValue(); err != nil {
			return err
		}
		b.counts[member]++
		b.blank(start, b.from.InputOffset(), !kept)
	}
	_, err := b.from.ReadToken()
	return err
}

// blank puts spaces in the place of the bytes from…to−1, and of the comma behind
// them when no member stands ahead of it any more. Ends of lines stay.
func (b *blanker) blank(from, to int64, comma bool) {
	for i := from; i < to; i++ {
		if b.text[i] != '\n' {
			b.text[i] = ' '
		}
	}
	if !comma {
		return
	}
	rest := bytes.TrimLeft(b.text[to:], " \t\r\n")
	if len(rest) > 0 && rest[0] == ',' {
		rest[0] = ' '
	}
}

// String names what was passed over, for a note: "retention, counts.naps (12
// times)". It is empty when nothing was.
func (p PassedOver) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch n := p[name]; {
		case n == 1:
			parts = append(parts, name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%s (%d times)", name, n))
		}
	}
	return strings.Join(parts, ", ")
}

// Note says what was passed over and what that means, "" when nothing was.
func (p PassedOver) Note() string {
	if text := p.String(); text != "" {
		return "of a later version, not known to this one and passed over: " + text
	}
	return ""
}
