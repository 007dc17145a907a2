package document

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// page is a document being written as Markdown.
type page struct {
	b     *bytes.Buffer
	notes footnotes
	// rows is the largest number of rows of a table.
	rows int
}

// writeMarkdown writes d as GitHub-flavoured Markdown.
func writeMarkdown(b *bytes.Buffer, d *Document) error {
	p := &page{b: b, rows: math.MaxInt}
	if err := p.body(d); err != nil {
		return err
	}
	for _, note := range slices.Concat(p.notes.lines(), d.Notes) {
		p.paragraph(escapeLine(note))
	}
	return nil
}

// body writes everything except the notes.
func (p *page) body(d *Document) error {
	if d.Title != "" {
		p.paragraph("# " + escapeLine(d.Title))
	}
	for _, line := range d.Head {
		p.paragraph(escapeLine(line))
	}
	for i := range d.Sections {
		if err := p.section(&d.Sections[i]); err != nil {
			return err
		}
	}
	return nil
}

// paragraph writes a text after a blank line; nothing for an empty text.
func (p *page) paragraph(text string) {
	if text == "" {
		return
	}
	p.gap()
	p.b.WriteString(text + "\n")
}

func (p *page) gap() {
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
}

func (p *page) section(s *Section) error {
	if s.Folded {
		return p.fold(s)
	}
	if s.Title != "" {
		p.paragraph("## " + escapeLine(p.notes.addMarks(s.Title, s.Notes)))
	}
	if s.Name != "" {
		p.paragraph("### " + escapeLine(p.notes.addMarks(s.Name, s.Notes)))
	}
	for _, block := range s.Blocks {
		switch x := block.(type) {
		case Text:
			text := p.notes.addMarks(escapeLine(x.Text), x.Notes)
			if x.Lead != "" {
				text = "**" + escapeLine(x.Lead) + "**" + text
			}
			p.paragraph(text)
		case List:
			p.gap()
			for _, item := range x {
				label := ""
				if item.Label != "" {
					label = escapeLine(item.Label) + ": "
				}
				fmt.Fprintf(p.b, "- %s%s\n", label, escapeLine(item.Text))
			}
		case *Table:
			if err := p.table(x); err != nil {
				return fmt.Errorf("laying out a table: %w", err)
			}
		}
	}
	return nil
}

func (p *page) table(x *Table) error {
	if x.Title != "" {
		p.paragraph("**" + escapeLine(x.Title) + "**")
	}
	p.gap()
	padding := tw.Padding{Left: " ", Right: " ", Overwrite: true}
	shown := *x
	shown.Rows = x.Rows[:min(p.rows, len(x.Rows))]
	if err := render(p.b, renderer.NewMarkdown(), padding, shown.grid(&p.notes), escapeLine); err != nil {
		return err
	}
	if more := len(x.Rows) - len(shown.Rows); more > 0 {
		p.paragraph(fmt.Sprintf("and %s.", Count(more, "more row")))
	}
	for _, note := range x.Notes {
		p.paragraph(escapeLine(note))
	}
	return nil
}

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

// fitting returns the longest comment within the limit.
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
	// A comment of size n has n rows in each table and no folded section, or all rows and
	// as many folded sections as n exceeds them by.
	best, err := "", error(nil)
	fits := func(n int) bool {
		var text string
		text, err = d.comment(max(n-rows, 0), min(n, rows))
		if err != nil || utf8.RuneCountInString(text) > maxComment {
			return false
		}
		best = text
		return true
	}
	if !fits(rows+folds) && err == nil {
		sort.Search(rows+folds, func(n int) bool { return err != nil || !fits(n) })
	}
	if best == "" && err == nil {
		err = fmt.Errorf("it has room for %d characters, and this has more without any table", maxComment)
	}
	return best, err
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
	return string(Inert(b.Bytes())), nil
}

// fold writes a section that opens under its heading.
func (p *page) fold(s *Section) error {
	html := strings.NewReplacer("<", "&lt;", "&", "&amp;", ">", "&gt;")
	p.paragraph("<details><summary>" + html.Replace(unlink(p.notes.addMarks(Printable(s.Title+s.Name), s.Notes))) + "</summary>")
	if err := p.section(&Section{Blocks: s.Blocks}); err != nil {
		return err
	}
	p.paragraph("</details>")
	return nil
}

// live matches what a forge turns into links in any text: mentions, numbers of
// issues, addresses. An address of www is one up to its first dot, so the character comes ahead of the dot.
var live = regexp.MustCompile(`(?i)@|#\b|\bgh-|www\b|:/`)

// unlink puts a zero-width character into these. Names come from recordings, and
// Markdown that somebody posts must not notify anybody.
func unlink(s string) string { return live.ReplaceAllString(s, "${0}\u200b") }

// maxFew is how many names Few lists.
const maxFew = 5

// Few joins the first names of a list.
func Few(names []string) string {
	if len(names) <= maxFew {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFew], ", "), len(names)-maxFew)
}
