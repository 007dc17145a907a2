// Package document is the one model of a report: sections of text, lists and
// tables with footnotes, and the writers that turn it into terminal text,
// Markdown, CSV, JSON and an HTML page. It knows nothing of sessions.
//
// A verb builds a Document and writes it:
//
//	d := &document.Document{
//		Head: []string{"2 sessions · 31 calls"},
//		Sections: []document.Section{{Blocks: []document.Block{&document.Table{
//			Columns: []document.Column{{Name: "model", Title: "MODEL"}, {Name: "cost_usd", Title: "COST", Unit: document.UnitUSD, Right: true}},
//			Rows:    [][]any{{"opus", document.Cell{Value: 1.25, Notes: []string{"batch prices"}}}},
//		}}}},
//		Notes: []string{"Prices are as of today."},
//	}
//	err := d.Write(w, "markdown")
//
// Footnotes are given as texts with what they belong to (Cell.Notes,
// Column.Notes, Section.Notes, Text.Notes). The writers number them in the
// order in which a reader meets their marks, equal texts once, and list them
// before Document.Notes.
//
// People see the columns with a title, machines those with a name. CSV and JSON
// carry one table: Data, or the first of the sections. A report whose JSON has
// a published schema sets Document.JSON. Values in rows are strings, numbers,
// booleans, nil for a missing value, or a Cell.
package document

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	// Data returns the table for CSV and JSON; nil for the first table of the
	// sections.
	Data func() *Table
	// JSON writes the published form of the report; nil for the table of Data.
	JSON func(io.Writer) error

	screen Screen // what it is written to
}

// Width is the width at which text for a file is wrapped, in characters.
const Width = 110

// Screen is a writer that a person looks at.
type Screen struct {
	io.Writer
	Columns int  // width in characters; 0 for a file, which has none
	Styled  bool // it shows bold and colours
}

// Section is a part of a document.
type Section struct {
	// Title is a heading, which a terminal shows in capitals.
	Title string
	// Name is a heading shown unchanged, one level below a title: the subject of a
	// part.
	Name   string
	Notes  []string // footnotes of the heading
	Blocks []Block
	// Folded says that a comment hides the section under its heading until it is
	// opened, and drops it if space is short.
	Folded bool
	// Way names one of several ways to tell the same. A page shows the sections of one
	// way at a time, without scripts all; other formats have the first way alone.
	Way string
}

// Block is what a section holds: Text, List, *Table, *Figure, *Tracks or Raw.
type Block interface{ block() }

// Text is a paragraph.
type Text struct {
	Heading string // on a page: a heading below the section's heading
	Lead    string // its beginning, in bold if available
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
	// A table has the width of its screen: a line above it states what is the same in all
	// rows, columns are dropped, shortened and wrapped as they allow, and a note names the
	// dropped ones. Fitted says that it keeps to Width in a file too, with all columns except
	// spare ones.
	Fitted bool
}

// Column is one property of the rows.
type Column struct {
	Name  string // for machines
	Title string // for people; "" hides the column
	Unit  string // one of Unit…, or "" for text and plain counts
	Right bool   // figures are right-aligned
	Notes []string

	// What a table may do when space is short:
	Spare     int  // drop the column, highest number first, below 0 never
	Clip      int  // cut the middle of texts, down to this many characters
	ClipTitle int  // cut the middle of the title, down to this many characters
	Break     bool // break names after their underscores
}

// Cell is a value with its own text or footnotes.
type Cell struct {
	Value any
	Text  string // for people; Value in the unit of the column when empty
	Notes []string
}

// writers are the formats by name, in the order in which they are listed.
var writers = []struct {
	name  string
	write func(*bytes.Buffer, *Document) error
	safe  func([]byte) []byte // makes the whole output harmless; nil if its parts are harmless already
}{
	{"table", writeTerminal, Inert},
	{"markdown", writeMarkdown, Inert},
	{"csv", writeCSV, nil},
	{"json", writeJSON, inertJSON},
	{"html", writeHTML, nil},
}

// Formats returns the names of the formats: table, markdown, csv, json and html.
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
		if x.name != "html" {
			shown.Sections = firstWay(d.Sections)
		}
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

// firstWay returns the sections without those that tell in another way what others have told.
func firstWay(sections []Section) []Section {
	first := ""
	return slices.DeleteFunc(slices.Clone(sections), func(s Section) bool {
		if first == "" {
			first = s.Way
		}
		return s.Way != "" && s.Way != first
	})
}

// Alone takes away what stands around the tables of d for people: its head and its notes. Marks
// keep their footnotes.
func (d *Document) Alone() { d.Head, d.Notes = nil, nil }

// Write writes a document of t alone.
func (t *Table) Write(w io.Writer, format string) error {
	d := Document{Sections: []Section{{Blocks: []Block{t}}}}
	return d.Write(w, format)
}

// data returns the table for machines.
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

// ColumnOf is a column with the value that each row has there, so that one declaration serves people and machines.
type ColumnOf[T any] struct {
	Column
	Of func(T) any
}

// TableOf lays out rows by the declaration of their columns.
func TableOf[T any](columns []ColumnOf[T], rows []T) *Table {
	t := &Table{Rows: make([][]any, len(rows))}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
		for i, row := range rows {
			t.Rows[i] = append(t.Rows[i], c.Of(row))
		}
	}
	return t
}

// Left returns left-aligned columns of text with titles for people.
func Left(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i].Title = title
	}
	return columns
}

// Right returns right-aligned columns of figures in a unit, with titles for people.
func Right(unit string, titles ...string) []Column {
	columns := Left(titles...)
	for i := range columns {
		columns[i].Unit, columns[i].Right = unit, true
	}
	return columns
}

// Columns returns columns that have only a name, for Data.
func Columns(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	return columns
}

// footnotes numbers texts in the order in which their marks appear.
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

// addMarks returns a text followed by the marks of notes.
func (f *footnotes) addMarks(text string, notes []string) string {
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

// writeCSV writes the table of d for machines: column names, then a line for
// each row. Texts are safe for spreadsheets.
func writeCSV(b *bytes.Buffer, d *Document) error {
	t := d.data()
	c := csv.NewWriter(b)
	record := make([]string, len(t.Columns))
	for i := range t.Columns {
		record[i] = Field(t.Columns[i].Name)
	}
	if err := c.Write(record); err != nil {
		return err
	}
	for _, row := range t.Rows {
		clear(record)
		for i, x := range row {
			switch x := plain(x).(type) {
			case nil:
			case string:
				record[i] = Field(x)
			case float64:
				record[i] = Plain(x)
			default:
				record[i] = fmt.Sprint(x)
			}
		}
		if err := c.Write(record); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// writeJSON writes the published form of d or, if it has none, an array with an
// object for each row of its table.
func writeJSON(b *bytes.Buffer, d *Document) error {
	if d.JSON != nil {
		return d.JSON(b)
	}
	return Lines(b, "[", d.data().Objects(), "]")
}

// Objects returns the rows in the form of JSON: each has the members that the columns name.
func (t *Table) Objects() []any {
	rows := make([]any, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = object{t.Columns, row}
	}
	return rows
}

// object is a row with the names of its columns.
type object struct {
	columns []Column
	row     []any
}

// MarshalJSONTo writes the members in the order of the columns.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i, x := range o.row {
		if err := e.WriteToken(jsontext.String(o.columns[i].Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, plain(x)); err != nil {
			return fmt.Errorf("column %s: %w", o.columns[i].Name, err)
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

// Lines writes values between a beginning and an end, one per line.
func Lines[T any](w io.Writer, begin string, values []T, end string) error {
	var b bytes.Buffer
	b.WriteString(begin)
	for i := range values {
		text, err := json.Marshal(values[i], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return fmt.Errorf("encoding item %d: %w", i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	b.WriteString("\n" + end + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

// Indented returns a writer of v as indented JSON, for Document.JSON.
func Indented(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "),
			jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
}
