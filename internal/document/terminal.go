package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// terminal is a document while it is written as text.
type terminal struct {
	b     *bytes.Buffer
	notes footnotes
}

// writeTerminal writes d as text: lines wrapped at Width, columns two spaces
// apart.
func writeTerminal(b *bytes.Buffer, d *Document) error {
	t := &terminal{b: b}
	t.lines(d.Head)
	for i := range d.Sections {
		if err := t.section(&d.Sections[i]); err != nil {
			return err
		}
	}
	if notes := slices.Concat(t.notes.lines(), d.Notes); len(notes) > 0 {
		t.gap()
		t.lines(notes)
	}
	return nil
}

// gap leaves a line between two parts.
func (t *terminal) gap() {
	if n := t.b.Len(); n > 0 && !bytes.HasSuffix(t.b.Bytes(), []byte("\n\n")) {
		t.b.WriteByte('\n')
	}
}

// lines writes texts, each wrapped.
func (t *terminal) lines(texts []string) {
	for _, text := range texts {
		for _, line := range wrapText(Printable(text), Width) {
			fmt.Fprintln(t.b, line)
		}
	}
}

func (t *terminal) section(s *Section) error {
	if s.Title == "" && s.Name == "" && len(s.Blocks) == 0 {
		return nil
	}
	t.gap()
	if s.Title != "" {
		t.lines([]string{t.notes.marked(strings.ToUpper(s.Title), s.Notes)})
	}
	if s.Name != "" {
		t.lines([]string{t.notes.marked(s.Name, s.Notes)})
	}
	for i, block := range s.Blocks {
		switch x := block.(type) {
		case Text:
			if i > 0 && isTable(s.Blocks[i-1]) {
				t.gap()
			}
			t.lines([]string{t.notes.marked(x.Lead+x.Text, x.Notes)})
		case List:
			if i > 0 && isTable(s.Blocks[i-1]) {
				t.gap()
			}
			t.list(x)
		case *Table:
			if i > 0 || s.Name != "" && x.Title != "" {
				t.gap()
			}
			if err := t.table(x); err != nil {
				return fmt.Errorf("laying out a table: %w", err)
			}
		}
	}
	return nil
}

func isTable(b Block) bool {
	_, ok := b.(*Table)
	return ok
}

// minLabel is the width that labels have at least: the texts of lists below each
// other begin in one column.
const minLabel = 5

// list writes the labels of a list below each other, and the texts beside them.
func (t *terminal) list(items List) {
	width := 0
	for _, x := range items {
		width = max(width, runes(x.Label))
	}
	if width > 0 {
		width = max(width, minLabel) + 1
	}
	for _, x := range items {
		lines := []string{Printable(x.Text)}
		if !x.Whole {
			lines = wrapText(lines[0], Width-2-width)
		}
		label := Printable(x.Label)
		for _, line := range lines {
			fmt.Fprintf(t.b, "  %s%s\n", label+strings.Repeat(" ", width-runes(label)), line)
			label = ""
		}
	}
}

func (t *terminal) table(x *Table) error {
	if x.Title != "" {
		t.lines([]string{x.Title})
	}
	g := x.grid(&t.notes)
	tables, above, below := []grid{g}, "", ""
	if x.Fitted {
		above, below, tables = g.fit(Width)
	}
	if above != "" {
		t.lines([]string{above, ""})
	}
	for i, part := range tables {
		if i > 0 {
			t.b.WriteByte('\n')
		}
		if err := t.grid(part); err != nil {
			return err
		}
	}
	notes := x.Notes
	if below != "" {
		notes = append(slices.Clone(notes), below)
	}
	if len(notes) > 0 {
		t.b.WriteByte('\n')
		t.lines(notes)
	}
	return nil
}

// grid renders g with two spaces between columns and no lines.
func (t *terminal) grid(g grid) error {
	var b bytes.Buffer
	r := renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Symbols:  tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
	})
	padding := tw.Padding{Right: strings.Repeat(" ", columnGap), Overwrite: true}
	if err := render(&b, r, padding, g, func(s string) string { return s }); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(t.b, strings.TrimRight(line, " \n"))
	}
	return nil
}

// render lays out g: names to the left, figures to the right. Every text goes
// through escape.
func render(b *bytes.Buffer, r tw.Renderer, padding tw.Padding, g grid, escape func(string) string) error {
	align := make(tw.Alignment, len(g.head))
	for i := range align {
		align[i] = tw.AlignRight
		if g.left(i) {
			align[i] = tw.AlignLeft
		}
	}
	t := tablewriter.NewTable(b,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithAlignment(align),
		tablewriter.WithPadding(padding),
		// The marks ¹ and the dots … and · count one column whatever the locale.
		tablewriter.WithEastAsian(tw.Off),
	)
	texts := g.lines(escape)
	t.Header(texts[0])
	if err := t.Bulk(texts[1:]); err != nil {
		return err
	}
	return t.Render()
}
