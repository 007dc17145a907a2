package needs

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
)

// value is a string of a tool call's input.
type value struct{ name, text string }

// role says what a string means in its call.
type role uint8

const (
	roleOther role = iota
	roleOld        // the text that an edit replaces
	rolePatch      // lines that are removed, added, or stay
	rolePath       // the file that the call acts on
	roleTask       // an item of a plan
)

// patchHead begins a patch.
const patchHead = "*** "

// role returns the role of a string by its name; a patch is recognized by its text.
func (v *value) role() role {
	if strings.HasPrefix(v.text, patchHead) && strings.Contains(v.text, "\n") {
		return rolePatch
	}
	switch strings.TrimPrefix(v.name, "edits.") { // of a call that makes several edits
	case "old_string", "old_str", "oldString", "oldText":
		return roleOld
	case "file_path", "notebook_path", "filePath", "path":
		return rolePath
	case "todos.content", "plan.step":
		return roleTask
	}
	return roleOther
}

// call returns the utterance of a tool call.
func (s *scanner) call(t *traces.Text) *utterance {
	h := &utterance{}
	if t.Quoted && strings.HasPrefix(t.Text, patchHead) && utf8.ValidString(t.Text) {
		s.values = append(s.values[:0], value{"input", t.Text}) // as texts.Input has it
	} else {
		s.members(t)
	}
	s.once = false
	for i := range s.values {
		v := &s.values[i]
		if v.name != "description" { // says why, not what
			h.key = digest(v.text, h.key)
		}
		r := v.role()
		s.search(v.text, r == rolePatch)
		if r == rolePatch {
			markRemoved(v.text, s.all)
		}
		if len(s.all) > 0 {
			h.values = append(h.values, argument{r, found{s.count, slices.Clone(s.all)}})
		}
	}
	return h
}

// markRemoved marks what is in the removed lines of a patch.
func markRemoved(text string, list []mark) {
	for i := range list {
		list[i].removed = text[strings.LastIndexByte(text[:list[i].from], '\n')+1] == '-'
	}
}

// members sets the strings of a call's input.
func (s *scanner) members(t *traces.Text) {
	var ok bool
	if s.values, ok = members(s.values[:0], t.Text); !ok {
		s.values, _ = members(s.values[:0], string(texts.Input(t.Text, t.Quoted)))
	}
}

// members appends the strings of an input, and reports whether it is a JSON
// object in UTF-8. The name of a list of objects precedes the names in them.
func members(list []value, input string) ([]value, bool) {
	if !utf8.ValidString(input) {
		return list, false
	}
	w := walker{text: input, list: list}
	ok := w.next() == '{' && w.value(0, "", "")
	return w.list, ok && w.next() == 0
}

// walker walks through a JSON text.
type walker struct {
	text string
	at   int
	list []value
}

// value walks through a value at a depth, called name, inside the member top. It reports whether the value ended.
func (w *walker) value(depth int, top, name string) bool {
	switch c := w.next(); c {
	case '{', '[':
		return w.members(c, depth+1, top)
	case '"':
		text, ok := w.string()
		switch {
		case depth > 3:
			name = ""
		case depth == 3 && top != "":
			name = top + "." + name
		}
		w.list = append(w.list, value{name, text})
		return ok
	default:
		from := w.at
		for w.at < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[w.at]) < 0 {
			w.at++
		}
		return w.at > from
	}
}

// members walks through an object or a list.
func (w *walker) members(open byte, depth int, top string) bool {
	w.at++
	for first := true; ; first = false {
		switch c := w.next(); {
		case c == open+2: // in ASCII, closing brackets are two after opening ones
			w.at++
			return true
		case c == ',' && !first:
			w.at++
			w.next()
		case !first:
			return false
		}
		var name string
		var ok bool
		if open == '{' {
			if name, ok = w.string(); !ok || w.next() != ':' {
				return false
			}
			w.at++
			if depth == 1 {
				top = name
			}
		}
		if !w.value(depth, top, name) {
			return false
		}
	}
}

// next returns the next byte that is not white space, 0 at the end.
func (w *walker) next() byte {
	for ; w.at < len(w.text); w.at++ {
		if c := w.text[w.at]; c > ' ' {
			return c
		}
	}
	return 0
}

// string returns the text of the string that begins here, and reports whether it is one.
func (w *walker) string() (string, bool) {
	if w.at == len(w.text) || w.text[w.at] != '"' {
		return "", false
	}
	from, escaped := w.at, true
	for escaped {
		i := strings.IndexByte(w.text[w.at+1:], '"')
		if i < 0 {
			return "", false
		}
		w.at += i + 1
		escaped = false
		for j := w.at - 1; w.text[j] == '\\'; j-- {
			escaped = !escaped
		}
	}
	w.at++
	if text := w.text[from+1 : w.at-1]; strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	text, err := jsontext.AppendUnquote(nil, w.text[from:w.at])
	return string(text), err == nil
}
