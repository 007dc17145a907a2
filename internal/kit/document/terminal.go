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

// terminal is a document being written as text.
type terminal struct {
	b      *bytes.Buffer
	notes  footnotes
	width  int
	file   bool // there is no screen
	styled bool
	left   []string // titles of dropped columns
}

// widest is the largest width of paragraphs on any screen, in characters:
// longer lines read badly.
const widest = 110

// Styles of text on a terminal that shows any (ECMA-48, select graphic rendition).
const (
	bold   = "\x1b[1m"
	cyan   = "\x1b[36m"
	faint  = "\x1b[2m"
	normal = "\x1b[0m"
)

// writeTerminal writes d as text: lines fit the width of its screen, columns
// are two spaces apart.
func writeTerminal(b *bytes.Buffer, d *Document) error {
	t := &terminal{b: b, width: d.screen.Columns, file: d.screen.Columns == 0, styled: d.screen.Styled}
	if t.file {
		t.width = Width
	}
	for _, line := range d.Head {
		t.text(line, "")
	}
	for i := range d.Sections {
		if err := t.section(&d.Sections[i]); err != nil {
			return err
		}
	}
	notes := t.notes.lines()
	if len(t.left) > 0 {
		notes = append(notes, fmt.Sprintf("No room for %s: a wider terminal shows more, --format json all.",
			strings.Join(t.left, ", ")))
	}
	if notes = append(notes, d.Notes...); len(notes) > 0 {
		t.gap()
	}
	for _, note := range notes {
		t.text(note, faint)
	}
	return nil
}

// gap leaves a line between two parts.
func (t *terminal) gap() {
	if n := t.b.Len(); n > 0 && !bytes.HasSuffix(t.b.Bytes(), []byte("\n\n")) {
		t.b.WriteByte('\n')
	}
}

// text writes a paragraph in a style.
func (t *terminal) text(text, look string) {
	for _, line := range wrapText(Printable(text), min(t.width, widest)) {
		fmt.Fprintln(t.b, t.look(line, look))
	}
}

// look applies a style to a line if the screen has any.
func (t *terminal) look(line, look string) string {
	if !t.styled || look == "" || line == "" {
		return line
	}
	return look + line + normal
}

func (t *terminal) section(s *Section) error {
	if s.Title == "" && s.Name == "" && len(s.Blocks) == 0 {
		return nil
	}
	t.gap()
	if s.Title != "" {
		t.text(t.notes.addMarks(strings.ToUpper(s.Title), s.Notes), bold)
	}
	if s.Name != "" {
		t.text(t.notes.addMarks(s.Name, s.Notes), bold)
	}
	for i, block := range s.Blocks {
		if _, table := block.(*Table); i > 0 && (table || isTable(s.Blocks[i-1])) {
			t.gap()
		}
		switch x := block.(type) {
		case Text:
			t.text(t.notes.addMarks(x.Lead+x.Text, x.Notes), "")
		case List:
			t.list(x)
		case *Table:
			if s.Name != "" && x.Title != "" {
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

// minLabel is the least width of labels, so that the texts of consecutive lists
// align.
const minLabel = 5

// list writes the labels of a list in a column, and the texts beside them.
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
			lines = wrapText(lines[0], min(t.width, widest)-2-width)
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
		t.text(x.Title, bold)
	}
	g := x.grid(&t.notes)
	if screen := !t.file; screen || x.Fitted {
		above, left, fitted := g.fit(t.width, screen)
		if above != "" {
			t.text(above, "")
			t.gap()
		}
		for _, title := range slices.Backward(left) {
			if !slices.Contains(t.left, title) {
				t.left = append(t.left, title)
			}
		}
		g = fitted
	}
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
	look := cyan // of the head
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(t.b, t.look(strings.TrimRight(line, " \n"), look))
		look = ""
	}
	if len(x.Notes) > 0 {
		t.gap()
	}
	for _, note := range x.Notes {
		t.text(note, faint)
	}
	return nil
}

// render lays out g: names left-aligned, figures right-aligned. Every text
// passes through escape.
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
		// The marks ¹ and the characters … and · have width 1 in every locale.
		tablewriter.WithEastAsian(tw.Off),
	)
	texts := g.lines(escape)
	t.Header(texts[0])
	if err := t.Bulk(texts[1:]); err != nil {
		return err
	}
	return t.Render()
}
