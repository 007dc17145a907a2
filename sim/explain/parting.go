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
)

// Parting is where a request parts from the one before it.
type Parting struct {
	Path    string // system[2].text
	At      int    // of the first other character of a text, from 1; 0 for a value that is none
	Was, Is string // what stands there and behind it, "" for nothing
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
	for _, name := range inOrder {
		was, is := blocks(a[name]), blocks(b[name])
		if list, ok := is.([]any); ok && (name == "messages" || name == "input") {
			if first, ok := was.([]any); ok {
				is = list[:min(len(list), len(first))]
			}
		}
		if p, parts := part(name, was, is); parts {
			return p, true
		}
	}
	return Parting{}, false
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

// blocks returns a content that is a text as the list of blocks that a cache marker makes of it.
func blocks(v any) any {
	if text, ok := v.(string); ok {
		return []any{map[string]any{"type": "text", "text": text}}
	}
	return v
}

// part returns where two values part. Cache markers, which move, are left out.
func part(path string, was, is any) (Parting, bool) {
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
			if p, parts := part(path+"."+name, x, y); parts {
				return p, true
			}
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
			if p, parts := part(fmt.Sprintf("%s[%d]", path, i), x, y); parts {
				return p, true
			}
		}
		return Parting{}, false
	case string:
		b, ok := is.(string)
		if !ok || a == b {
			break
		}
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
			n--
		}
		return Parting{path, utf8.RuneCountInString(a[:n]) + 1, a[n:], b[n:]}, true
	}
	return Parting{path, 0, asJSON(was), asJSON(is)}, !reflect.DeepEqual(was, is)
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

// list says where the requests part.
func (p *Parting) list() document.List {
	where := p.Path
	if p.At > 0 {
		where += ", character " + document.Whole(p.At)
	}
	text := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return document.Shortened(document.Printable(strings.Join(strings.Fields(s), " ")), maxShown)
	}
	return document.List{{Label: "at", Text: where}, {Label: "was", Text: text(p.Was)}, {Label: "is", Text: text(p.Is)}}
}
