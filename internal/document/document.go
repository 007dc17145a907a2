// Package document is the one model of a report: sections of text, lists and
// tables with footnotes, and the writers that turn it into a terminal's text,
// Markdown, CSV, JSON and a page of HTML. It knows nothing of sessions.
//
// A verb builds a Document and writes it:
//
//	d := &document.Document{
//		Head: []string{"2 sessions · 31 calls"},
//		Sections: []document.Section{{Blocks: []document.Block{&document.Table{
//			Columns: []document.Column{{Name: "model", Title: "MODEL"}, {Name: "cost_usd", Title: "COST", Unit: document.UnitUSD, Right: true}},
//			Rows:    [][]any{{"opus", document.Cell{Value: 1.25, Notes: []string{"batch prices"}}}},
//		}}}},
//		Notes: []string{"Prices are those of today."},
//	}
//	err := d.Write(w, "markdown")
//
// Footnotes are given as texts beside what they belong to (Cell.Notes,
// Column.Notes, Section.Notes, Text.Notes). The writers number them in the order
// in which a reader meets their marks, equal texts once, and list them ahead of
// Document.Notes.
//
// People see the columns with a title, machines those with a name. CSV and JSON
// carry one table: Data, or the first of the sections. A report whose JSON is a
// published schema of its own sets Document.JSON. Values in rows are strings,
// numbers, booleans, nil for what is missing, or a Cell.
package document

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Document is a report.
type Document struct {
	// Title is the heading of a page. A terminal shows none.
	Title string
	// Head says what is reported, a line each; an empty line leaves a gap.
	Head     []string
	Sections []Section
	// Notes follow the footnotes, a line each; an empty line leaves a gap.
	Notes []string
	// Data lays out the table that CSV and JSON carry; the first table of the
	// sections when nil.
	Data func() *Table
	// JSON writes the published form of the report; the table of Data when nil.
	JSON func(io.Writer) error

	screen Screen // what it is written for
}

// Width is where text is wrapped that goes to no screen, such as a file, in characters.
const Width = 110

// Screen is a writer at which a person sits.
type Screen struct {
	io.Writer
	Columns int  // its width in characters; 0 for a file, which has none
	Styled  bool // it shows bold and colours
}

// Section is a part of a document.
type Section struct {
	// Title is a heading in words of ours, which a terminal shows in capitals.
	Title string
	// Name is a heading shown as it is, one level below a title: what a part is
	// about.
	Name   string
	Notes  []string // footnotes of the heading
	Blocks []Block
	// Folded says that a comment shows the section below its heading when it is
	// opened, and leaves it out for want of room.
	Folded bool
}

// Block is what a section holds: Text, List, *Table, *Figure, *Tracks or Raw.
type Block interface{ block() }

// Text is a paragraph.
type Text struct {
	Heading string // on a page: a heading below that of the section
	Lead    string // its beginning, in bold where there is bold
	Text    string
	Notes   []string // footnotes
}

// List is a list of short texts.
type List []Item

// Item is one entry of a list, with or without a label.
type Item struct {
	Label string
	Text  string
	Whole bool // a terminal does not wrap it
}

func (Text) block()   {}
func (List) block()   {}
func (*Table) block() {}

// Table is a table of named columns.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]any
	// Notes are lines below the table.
	Notes []string
	// A table has the width of its screen: what is the same in all rows stands above,
	// columns are left out, shortened and wrapped as they allow, and a note names those
	// that had no room. Fitted says that it keeps to Width in a file too, with all its
	// columns but the spare ones; Wide that its lines may be of any length on a screen.
	Fitted bool
	Wide   bool
}

// Column is one property of the rows.
type Column struct {
	Name  string // for machines
	Title string // for people; "" leaves the column out
	Unit  string // one of Unit…, or "" for text and plain counts
	Right bool   // figures stand to the right
	Notes []string

	// What a table may do for want of room:
	Spare     int  // leave the column out, those of the highest number first, below 0 never
	Clip      int  // take the middle out of texts, down to this many characters
	ClipTitle int  // take the middle out of the title, down to this many characters
	Break     bool // break names behind their underscores
}

// Cell is a value that has a text or footnotes of its own.
type Cell struct {
	Value any
	Text  string // for people; Value in the unit of the column when empty
	Notes []string
}

// writers are the formats by name, in the order in which they are listed.
var writers = []struct {
	name  string
	write func(*bytes.Buffer, *Document) error
	safe  func([]byte) []byte // makes the whole harmless; nil for what is so by its parts, or not at all
}{
	{"table", writeTerminal, Inert},
	{"markdown", writeMarkdown, Inert},
	{"csv", writeCSV, nil},
	{"csv-raw", writeRawCSV, nil},
	{"json", writeJSON, inertJSON},
	{"html", writeHTML, nil},
}

// Formats returns the names of the formats: table, markdown, csv, csv-raw (texts as
// they are, also where a spreadsheet takes one for a formula), json and html.
func Formats() []string {
	var names []string
	for _, x := range writers {
		names = append(names, x.name)
	}
	return names
}

// Write writes d in a format of Formats.
func (d *Document) Write(w io.Writer, format string) error {
	for _, x := range writers {
		if x.name != format {
			continue
		}
		var b bytes.Buffer
		shown := *d
		if screen, ok := w.(*Screen); ok {
			shown.screen = *screen
		}
		if err := x.write(&b, &shown); err != nil {
			return fmt.Errorf("writing a report as %s: %w", format, err)
		}
		text := b.Bytes()
		if x.safe != nil {
			text = x.safe(text)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("writing a report: %w", err)
		}
		return nil
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}

// Write writes a document of t alone.
func (t *Table) Write(w io.Writer, format string) error {
	d := Document{Sections: []Section{{Blocks: []Block{t}}}}
	return d.Write(w, format)
}

// data returns the table that machines get.
func (d *Document) data() *Table {
	if d.Data != nil {
		return d.Data()
	}
	for i := range d.Sections {
		for _, block := range d.Sections[i].Blocks {
			if t, ok := block.(*Table); ok {
				return t
			}
		}
	}
	return &Table{}
}

// Left returns columns of text with titles for people.
func Left(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i].Title = title
	}
	return columns
}

// Right returns columns of figures in a unit with titles for people.
func Right(unit string, titles ...string) []Column {
	columns := Left(titles...)
	for i := range columns {
		columns[i].Unit, columns[i].Right = unit, true
	}
	return columns
}

// Columns returns columns of which machines get the names alone, for Data.
func Columns(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	return columns
}

// footnotes numbers texts in the order in which their marks are met.
type footnotes []string

// mark returns the marks of texts, "" for none.
func (f *footnotes) mark(texts []string) string {
	var marks []string
	for _, text := range texts {
		i := slices.Index(*f, text)
		if i < 0 {
			i = len(*f)
			*f = append(*f, text)
		}
		marks = append(marks, superscript(i+1))
	}
	return strings.Join(slices.Compact(marks), " ")
}

// marked returns a text with the marks of notes behind it.
func (f *footnotes) marked(text string, notes []string) string {
	if marks := f.mark(notes); marks != "" {
		return text + " " + marks
	}
	return text
}

// lines returns the numbered notes.
func (f footnotes) lines() []string {
	var lines []string
	for i, text := range f {
		lines = append(lines, superscript(i+1)+" "+text)
	}
	return lines
}
