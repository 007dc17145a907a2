package spec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

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
			key.HeadComment = strings.TrimSpace(commented(text))
		}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("encode a manual: %w", err)
	}
	var out strings.Builder
	out.WriteString(commented(chapters[""]))
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

// commented returns a text as a comment.
func commented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}

// wrapped breaks a text into lines of at most width characters.
func wrapped(text string, width int) string {
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
