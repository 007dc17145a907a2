package document

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxComment is the largest number of characters of a comment: GitHub's limit
// is 65,536, and who posts it may add a line.
const maxComment = 65_000

// Comment writes d as Markdown for a comment on a pull request: folded sections
// open on demand, notes are small, and nothing becomes a link or a mention. A
// comment that would be too long loses folded sections, the last first, then
// rows of tables; a line says so.
func (d *Document) Comment(w io.Writer) error {
	text, err := d.fitting()
	if err != nil {
		return fmt.Errorf("writing a comment: %w", err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing a comment: %w", err)
	}
	return nil
}

// fitting returns a comment within the limit.
func (d *Document) fitting() (string, error) {
	folds, rows := 0, 0
	for i := range d.Sections {
		if d.Sections[i].Folded {
			folds++
		}
		for _, b := range d.Sections[i].Blocks {
			if t, ok := b.(*Table); ok {
				rows = max(rows, len(t.Rows))
			}
		}
	}
	for {
		text, err := d.comment(folds, rows)
		switch {
		case err != nil || utf8.RuneCountInString(text) <= maxComment:
			return text, err
		case folds > 0:
			folds--
		case rows > 0:
			rows /= 2
		default:
			return "", fmt.Errorf("it has room for %d characters, and this has more without any table", maxComment)
		}
	}
}

// comment writes d with so many folded sections, and so many rows per table.
func (d *Document) comment(folds, rows int) (string, error) {
	var b bytes.Buffer
	p := &page{b: &b, rows: rows}
	shown := *d
	shown.Sections = nil
	var left []string
	for _, s := range d.Sections {
		if folds--; s.Folded && folds < 0 {
			left = append(left, s.Title+s.Name)
			continue
		} else if !s.Folded {
			folds++
		}
		shown.Sections = append(shown.Sections, s)
	}
	if err := p.body(&shown); err != nil {
		return "", err
	}
	if len(left) > 0 {
		p.paragraph(escapeLine(fmt.Sprintf("Left out, as a comment has room for %s characters: %s (%s). They are in the "+
			"other formats.",
			Whole(maxComment), Count(len(left), "table"), Few(left))))
	}
	if notes := slices.Concat(p.notes.lines(), d.Notes); len(notes) > 0 {
		for i := range notes {
			notes[i] = escapeLine(notes[i])
		}
		p.paragraph("<sub>\n\n" + strings.Join(notes, "<br>\n") + "\n\n</sub>")
	}
	return string(Inert([]byte(inert(b.String())))), nil
}

// folded writes a section that opens under its heading.
func (p *page) folded(s *Section) error {
	html := strings.NewReplacer("<", "&lt;", "&", "&amp;", ">", "&gt;")
	p.paragraph("<details><summary>" + html.Replace(p.notes.marked(Printable(s.Title+s.Name), s.Notes)) + "</summary>")
	if err := p.section(&Section{Blocks: s.Blocks}); err != nil {
		return err
	}
	p.paragraph("</details>")
	return nil
}

// live matches what a forge turns into links in any text: mentions, numbers of
// issues, addresses.
var live = regexp.MustCompile(`(?i)@|#|\bgh-|www\.|:/`)

// inert puts a zero-width character into these. Names come from recordings, and
// a comment must not notify anybody.
func inert(s string) string { return live.ReplaceAllString(s, "${0}\u200b") }

// maxFew is how many names Few lists.
const maxFew = 5

// Few joins the first names of a list.
func Few(names []string) string {
	if len(names) <= maxFew {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFew], ", "), len(names)-maxFew)
}
