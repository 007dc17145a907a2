package document

import (
	"bytes"
	"fmt"
	"math"
	"slices"

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
		return p.folded(s)
	}
	if s.Title != "" {
		p.paragraph("## " + escapeLine(p.notes.marked(s.Title, s.Notes)))
	}
	if s.Name != "" {
		p.paragraph("### " + escapeLine(p.notes.marked(s.Name, s.Notes)))
	}
	for _, block := range s.Blocks {
		switch x := block.(type) {
		case Text:
			p.text(x)
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

func (p *page) text(x Text) {
	text := p.notes.marked(escapeLine(x.Text), x.Notes)
	if x.Lead != "" {
		text = "**" + escapeLine(x.Lead) + "**" + text
	}
	p.paragraph(text)
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
		p.paragraph(fmt.Sprintf("and %s more.", Count(more, "row")))
	}
	for _, note := range x.Notes {
		p.paragraph(escapeLine(note))
	}
	return nil
}
