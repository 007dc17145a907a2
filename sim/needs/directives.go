package needs

import "strings"

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
	for w := range strings.FieldsSeq(s) {
		if words++; words > maxWords {
			return false
		}
		found = found || begins[w[0]] && len(w) <= longest && directing[strings.ToLower(strings.TrimFunc(w, around))]
	}
	return found && words >= minWords
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
