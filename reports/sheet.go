package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Sheet is a list of things with their properties: a table that is not about
// strategies. Machines get every column under its name, people those with a
// title.
type Sheet struct {
	Columns []SheetColumn
	Rows    [][]any // strings, numbers and booleans, one for each column
	Notes   []string
	// Fitted says that the table for a terminal is laid out within TextWidth:
	// what is the same in all rows stands above, long texts are wrapped, and
	// columns that have no room follow in a further table.
	Fitted bool
}

// SheetColumn is one property.
type SheetColumn struct {
	Name  string // for machines
	Title string // for people; "" leaves the column out of tables
	Unit  string // one of results.Unit…, or "" for text and plain counts
	Right bool   // figures stand to the right
}

// Write writes the sheet in a format of Formats.
func (s *Sheet) Write(w io.Writer, format string) error {
	switch format {
	case "table":
		return s.text(w)
	case "markdown":
		return s.markdown(w)
	case "csv":
		return s.csv(w)
	case "json":
		return s.json(w)
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}

// grid lays out the columns people see.
func (s *Sheet) grid() grid {
	var g grid
	var shown []int
	for i, c := range s.Columns {
		if c.Title != "" {
			shown = append(shown, i)
			g.head = append(g.head, field{text: c.Title})
			g.left = append(g.left, !c.Right)
		}
	}
	formats := s.formatters()
	for _, row := range s.Rows {
		var fields []field
		for _, i := range shown {
			fields = append(fields, field{text: formats[i](row[i])})
		}
		g.rows = append(g.rows, fields)
	}
	return g
}

// formatters returns how the values of each column are written for people.
func (s *Sheet) formatters() []func(any) string {
	formats := make([]func(any) string, len(s.Columns))
	for i, c := range s.Columns {
		var values []float64
		for _, row := range s.Rows {
			if v, ok := number(row[i]); ok {
				values = append(values, v)
			}
		}
		format := formatter(c.Unit, values)
		formats[i] = func(x any) string {
			if v, ok := number(x); ok {
				return format(v)
			}
			return Printable(fmt.Sprint(x))
		}
	}
	return formats
}

func number(x any) (float64, bool) {
	switch v := x.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

func (s *Sheet) text(w io.Writer) error {
	var b bytes.Buffer
	if err := s.tables(&b); err != nil {
		return fmt.Errorf("laying out a table: %w", err)
	}
	for i, note := range s.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		for _, line := range Wrap(note, TextWidth) {
			fmt.Fprintln(&b, line)
		}
	}
	return flush(w, &b)
}

// tables lays out the rows for a terminal.
func (s *Sheet) tables(b *bytes.Buffer) error {
	g := s.grid()
	if !s.Fitted {
		return writeText(b, g)
	}
	above, tables := fitTable(g, TextWidth)
	if above != "" {
		writeLines(b, []string{above})
		b.WriteByte('\n')
	}
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := writeText(b, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sheet) markdown(w io.Writer) error {
	var b bytes.Buffer
	if err := render(&b, renderer.NewMarkdown(), tw.Padding{Left: " ", Right: " ", Overwrite: true}, s.grid(), escapeMarkdown); err != nil {
		return fmt.Errorf("laying out a table: %w", err)
	}
	if len(s.Notes) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(s.Notes, "\n"))
	}
	return flush(w, &b)
}

func (s *Sheet) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	record := make([]string, len(s.Columns))
	for i := range s.Columns {
		record[i] = s.Columns[i].Name
	}
	if err := c.Write(record); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for _, row := range s.Rows {
		for i, x := range row {
			record[i] = fmt.Sprint(x)
		}
		if err := c.Write(record); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// json writes an array with one object for each row, a row on a line.
func (s *Sheet) json(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("[")
	for i, row := range s.Rows {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n{")
		for j, x := range row {
			if j > 0 {
				b.WriteString(",")
			}
			value, err := json.Marshal(x, jsontext.AllowInvalidUTF8(true))
			if err != nil {
				return fmt.Errorf("encode %s of row %d: %w", s.Columns[j].Name, i, err)
			}
			fmt.Fprintf(&b, "%q:%s", s.Columns[j].Name, value)
		}
		b.WriteString("}")
	}
	b.WriteString("\n]\n")
	return flush(w, &b)
}

func flush(w io.Writer, b *bytes.Buffer) error {
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	return nil
}
