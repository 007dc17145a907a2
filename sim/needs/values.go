package needs

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
	"github.com/go-json-experiment/json/jsontext"
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

// directing are the words that make a person's sentence a direction. Assumed.
var directing = map[string]bool{
	"must": true, "never": true, "always": true, "don't": true, "don’t": true, "not": true, "prefer": true, "use": true,
	"only": true, "avoid": true, "ensure": true, "should": true, "required": true, "without": true,
}

// Limits of a directing sentence, words. Assumed: shorter ones are answers, longer ones are pasted.
const (
	minWords = 3
	maxWords = 60
	longest  = 16 // bytes of a directing word and the characters around it
)

// directive is a directing sentence of a person or a summary.
type directive struct {
	block int32
	term  uint64 // digest of its words
}

// directives returns the digests of the words of a text's directing sentences, without the marks of lists and quotes
// around them. A sentence that begins with a tag comes from the client and is left out.
func directives(text string) (terms []uint64) {
	for from := 0; from < len(text); {
		to := sentence(text, from)
		if s := strings.TrimSpace(text[from:to]); s != "" && s[0] != '<' && Directs(s) {
			words := strings.Join(strings.Fields(strings.Trim(s, " \t\r\n0123456789.!?-*+>:;,\"'`()[]“”‘’")), " ")
			terms = append(terms, digest(words, directiveSalt))
		}
		from = to
	}
	return terms
}

// directiveSalt makes directives differ from terms and lines.
const directiveSalt = 0xc2b2ae3d27d4eb4f

// Directs reports whether a sentence says what to do or not to do: by a word like must, never or use, in 3 to 60 words.
func Directs(s string) bool {
	words, found := 0, false
	for w, rest := word(s); w != ""; w, rest = word(rest) {
		if words++; words > maxWords {
			return false
		}
		found = found || begins[w[0]] && len(w) <= longest && directing[strings.ToLower(strings.TrimFunc(w, around))]
	}
	return found && words >= minWords
}

// word returns the first of a text's words, as strings.Fields has them, and what follows; "" for none.
func word(s string) (w, rest string) {
	from := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf: // it may be white space, or have some behind it
			return wideWord(s[from:])
		case c > ' ' || c != ' ' && (c < '\t' || c > '\r'):
		case i > from:
			return s[from:i], s[i+1:]
		default:
			from = i + 1
		}
	}
	return s[from:], ""
}

// wideWord is word for a text that is not of ASCII alone.
func wideWord(s string) (w, rest string) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// begins has the bytes that may begin a directing word, including the characters around it.
var begins = func() (t [256]bool) {
	for w := range directing {
		t[w[0]], t[w[0]-'a'+'A'] = true, true
	}
	for c := range 128 {
		t[c] = t[c] || around(rune(c))
	}
	return t
}()

// around reports whether a character may surround a directing word.
func around(r rune) bool {
	switch r {
	case '.', ',', ':', ';', '!', '?', '"', '\'', '(', ')', '*', '`':
		return true
	}
	return false
}

// sentence returns the end of the sentence that begins at a position.
func sentence(text string, from int) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i + 1
		case '.', '!', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return i + 1
			}
		}
	}
	return len(text)
}
