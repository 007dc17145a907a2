package fidelity

import "strings"

// Text is a text that entities are looked for in.
type Text struct{ squeezed string }

// NewText prepares a text.
func NewText(s string) Text { return Text{squeeze(s)} }

// Has reports whether the text has an entity word for word, white space aside.
// root is the folder of the project: a path below it may be given relative to it;
// "" for none.
func (t Text) Has(e Entity, root string) bool {
	if strings.Contains(t.squeezed, e.Text) {
		return true
	}
	rest, below := strings.CutPrefix(e.Text, strings.TrimSuffix(root, "/")+"/")
	return e.Kind == Path && root != "" && below && len(rest) >= minText && strings.Contains(t.squeezed, rest)
}
