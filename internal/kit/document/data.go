package document

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
