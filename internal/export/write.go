package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The formats of a table.
const (
	FormatJSONL   = "jsonl"
	FormatCSV     = "csv"
	FormatParquet = "parquet"
)

// Formats returns the formats, which are the extensions of their files.
func Formats() []string { return []string{FormatJSONL, FormatCSV, FormatParquet} }

// FormatOf returns the format that the extension of a file name asks for.
func FormatOf(name string) (string, error) {
	ext := strings.TrimPrefix(filepath.Ext(name), ".")
	if !slices.Contains(Formats(), ext) {
		return "", fmt.Errorf("%s: unknown extension %q; known: .%s", name, filepath.Ext(name), strings.Join(Formats(), ", ."))
	}
	return ext, nil
}

// Write writes the rows in a format of Formats.
func (t *Table) Write(w io.Writer, format string) error {
	var err error
	switch format {
	case FormatJSONL:
		err = t.jsonl(w)
	case FormatCSV:
		err = t.csv(w)
	case FormatParquet:
		err = t.parquet(w)
	default:
		err = fmt.Errorf("unknown format (known: %s)", strings.Join(Formats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("exporting %s: %w", format, err)
	}
	return nil
}

// jsonl writes an object with every column for each row.
func (t *Table) jsonl(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	names := make([][]byte, len(t.columns))
	for i := range t.columns {
		names[i] = append(quote(nil, t.columns[i].Name), ':')
	}
	var line []byte
	var err error
	for i := range t.records {
		line = append(line[:0], '{')
		for j := range t.columns {
			if j > 0 {
				line = append(line, ',')
			}
			line = append(line, names[j]...)
			if line, err = t.columns[j].appendJSON(line, &t.records[i]); err != nil {
				return err
			}
		}
		if _, err := out.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (c *Column) appendJSON(b []byte, r *record) ([]byte, error) {
	if c.figure != nil {
		was := len(b)
		b, err := c.appendNumber(b, r)
		if len(b) == was {
			b = append(b, "null"...)
		}
		return b, err
	}
	s, ok := c.text(r)
	switch {
	case !ok:
		return append(b, "null"...), nil
	case c.Type == JSON:
		return append(b, s...), nil
	}
	return quote(b, s), nil
}

// appendNumber appends the shortest decimal that reads back as the same number,
// and nothing for null.
func (c *Column) appendNumber(b []byte, r *record) ([]byte, error) {
	v, ok, err := c.number(r)
	switch {
	case !ok:
		return b, err
	case c.Type == Int64:
		return strconv.AppendInt(b, int64(v), 10), nil
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64), nil
}

// csv writes a line with the names of the columns, then one for each row.
func (t *Table) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(t.columns))
	for j := range t.columns {
		line[j] = t.columns[j].Name
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range t.records {
		for j := range t.columns {
			var err error
			if line[j], err = t.columns[j].field(&t.records[i]); err != nil {
				return err
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// field returns the value of a row as a field of CSV, "" for null.
func (c *Column) field(r *record) (string, error) {
	if c.figure == nil {
		s, _ := c.text(r)
		return s, nil
	}
	b, err := c.appendNumber(make([]byte, 0, 24), r)
	return string(b), err
}
