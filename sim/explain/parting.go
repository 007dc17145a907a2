package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Parting is where a request parts from the one before it.
type Parting struct {
	Path    string // system[2].text
	At      int    // of the first other character of a text, from 1; 0 for a value that is none
	Was, Is string // what stands there and behind it, "" for nothing
	Ahead   int    // bytes of the later request ahead of the place, in the order in which it is cached, as JSON without markers
	Whole   int    // bytes of the later request
}

// maxShown is how much of what stood and stands at a parting is shown, characters.
const maxShown = 160

// inOrder are the members of a request in the order in which they are cached. Others belong to no prefix.
var inOrder = []string{"tools", "system", "instructions", "messages", "input"}

// Part returns where the request on one line of a request log parts from the request on another, which came before it,
// other than by messages that follow. It is false where they do not, or where a line shows no request.
func Part(before, after []byte) (Parting, bool) {
	a, b := requestOn(before), requestOn(after)
	if a == nil || b == nil {
		return Parting{}, false
	}
	return partIn(a, b, func(list []any, first int) []any { return list[:min(len(list), first)] })
}

// partIn returns where body b parts from body a, which came before it. compared returns the messages of b that are compared with a
// number of messages of a.
func partIn(a, b map[string]any, compared func(later []any, earlier int) []any) (Parting, bool) {
	var w weigher
	for _, name := range inOrder {
		was, is := blocks(a[name]), blocks(b[name])
		if list, ok := is.([]any); ok && (name == "messages" || name == "input") {
			if first, ok := was.([]any); ok {
				is = compared(list, len(first))
			}
		}
		if p, parts := w.part(name, was, is); parts {
			p.Whole = bytesOf(b)
			p.Ahead = min(w.ahead, p.Whole)
			return p, true
		}
	}
	return Parting{}, false
}

// bytesOf returns the bytes of the members of a body that are cached.
func bytesOf(body map[string]any) int {
	n := 0
	for _, name := range inOrder {
		n += weight(blocks(body[name]))
	}
	return n
}

// weigher adds up the bytes that two requests have in common.
type weigher struct{ ahead int }

// weight returns the bytes of a value as JSON, without cache markers.
func weight(v any) int {
	switch x := v.(type) {
	case nil:
		return 0
	case map[string]any:
		n := 0
		for name, member := range x {
			if name == "content" {
				member = blocks(member)
			}
			if name != "cache_control" {
				n += len(name) + weight(member)
			}
		}
		return n
	case []any:
		n := 0
		for _, member := range x {
			n += weight(member)
		}
		return n
	case string:
		return len(x)
	}
	return len(asJSON(v))
}

// requestOn returns the body of the request on a line, nil for none.
func requestOn(line []byte) map[string]any {
	var x struct{ Request map[string]any }
	if json.Unmarshal(line, &x) != nil {
		return nil
	}
	body := x.Request
	for _, name := range []string{"body", "body_raw"} {
		switch inner := x.Request[name].(type) {
		case map[string]any:
			body = inner
		case string:
			var read map[string]any
			if json.Unmarshal([]byte(inner), &read) == nil {
				body = read
			}
		}
	}
	return body
}

// blocks returns a content that is a text as the list of blocks that a cache marker makes of that text.
func blocks(v any) any {
	if text, ok := v.(string); ok {
		return []any{map[string]any{"type": "text", "text": text}}
	}
	return v
}

// part returns where two values part. Cache markers, which move, are left out.
func (w *weigher) part(path string, was, is any) (Parting, bool) {
	switch a := was.(type) {
	case map[string]any:
		b, ok := is.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		delete(names, "cache_control")
		for _, name := range slices.Sorted(maps.Keys(names)) {
			x, y := a[name], b[name]
			if name == "content" {
				x, y = blocks(x), blocks(y)
			}
			if p, parts := w.part(path+"."+name, x, y); parts {
				return p, true
			}
			w.ahead += len(name)
		}
		return Parting{}, false
	case []any:
		b, ok := is.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			var x, y any
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if p, parts := w.part(fmt.Sprintf("%s[%d]", path, i), x, y); parts {
				return p, true
			}
		}
		return Parting{}, false
	case string:
		b, ok := is.(string)
		if !ok {
			break
		}
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
			n--
		}
		w.ahead += n
		return Parting{Path: path, At: utf8.RuneCountInString(a[:n]) + 1, Was: a[n:], Is: b[n:]}, a != b
	}
	if reflect.DeepEqual(was, is) {
		w.ahead += weight(is)
		return Parting{}, false
	}
	return Parting{Path: path, Was: asJSON(was), Is: asJSON(is)}, true
}

// asJSON returns a value as JSON, "" for nothing.
func asJSON(v any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// place is the path with the character.
func (p *Parting) place() string {
	if p.At > 0 {
		return p.Path + ", character " + document.Whole(p.At)
	}
	return p.Path
}

// tokens returns the tokens of a request of so many that stand ahead of the place, by their share of its bytes.
func (p *Parting) tokens(input int64) int64 {
	if p.Whole == 0 {
		return 0
	}
	return int64(float64(input) * float64(p.Ahead) / float64(p.Whole))
}

// list says where the requests part, what stands behind the place, and what the miss cost.
func (p *Parting) list(b *studies.Billed) document.List {
	text := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return document.Shortened(document.Printable(strings.Join(strings.Fields(s), " ")), maxShown)
	}
	list := document.List{{Label: "at", Text: p.place()}, {Label: "was", Text: text(p.Was)}, {Label: "is", Text: text(p.Is)}}
	if b == nil || p.Whole == 0 {
		return list
	}
	input := b.Uncached + b.Read + b.Write5m + b.Write1h
	ahead := p.tokens(input)
	behind := fmt.Sprintf("about %s of %s tokens", document.Whole(input-ahead), document.Whole(input))
	if b.Missed > 0 {
		behind += fmt.Sprintf("; %s had been cached and were sent again, which cost %s", document.Whole(b.Missed), document.USD(b.MissUSD, 4))
	}
	return append(list, document.Item{Label: "behind", Text: behind})
}
