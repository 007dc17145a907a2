package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table before it is rendered: names on the left, figures on the
// right.
type grid struct {
	title string // "" for the main table
	head  []field
	rows  [][]field
	left  []bool // columns whose texts stand to the left; the first always
}

// field is a text with the marks of its footnotes.
type field struct{ text, mark string }

// writeLines writes texts, each wrapped.
func writeLines(b *bytes.Buffer, texts []string) {
	for _, text := range texts {
		for _, line := range Wrap(text, TextWidth) {
			fmt.Fprintln(b, line)
		}
	}
}

// writeText renders g with two spaces between columns and no lines.
func writeText(w io.Writer, g grid) error {
	var b bytes.Buffer
	r := renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Symbols:  tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
	})
	if err := render(&b, r, tw.Padding{Right: "  ", Overwrite: true}, g, func(s string) string { return s }); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// render lays out g: names to the left, figures to the right. Every text goes
// through escape.
func render(w io.Writer, r tw.Renderer, padding tw.Padding, g grid, escape func(string) string) error {
	align := make(tw.Alignment, len(g.head))
	for i := range align {
		align[i] = tw.AlignRight
		if i == 0 || i < len(g.left) && g.left[i] {
			align[i] = tw.AlignLeft
		}
	}
	t := tablewriter.NewTable(w,
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
	texts := aligned(g, escape)
	t.Header(texts[0])
	if err := t.Bulk(texts[1:]); err != nil {
		return err
	}
	return t.Render()
}

// aligned returns the texts of g with their marks. Within a column of figures
// all take the width of the widest mark, so that digits stay below each other.
func aligned(g grid, escape func(string) string) [][]string {
	rows := append([][]field{g.head}, g.rows...)
	texts := make([][]string, len(rows))
	for i := range texts {
		texts[i] = make([]string, len(g.head))
	}
	for col := range g.head {
		width := 0
		for _, row := range rows {
			width = max(width, utf8.RuneCountInString(row[col].mark))
		}
		for i, row := range rows {
			f := row[col]
			s := escape(f.text)
			if f.mark != "" {
				s += " " + f.mark
			}
			if width > 0 && col > 0 {
				pad := width - utf8.RuneCountInString(f.mark)
				if f.mark == "" {
					pad++
				}
				s += strings.Repeat(" ", pad)
			}
			texts[i][col] = s
		}
	}
	return texts
}
