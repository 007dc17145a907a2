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

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/document"
)

// The formats of a table.
const (
	FormatJSONL   = "jsonl"
	FormatCSV     = "csv"
	FormatParquet = "parquet"
)

// Formats returns the formats, which are the extensions of their files.
func Formats() []string { return []string{FormatJSONL, FormatCSV, FormatParquet} }

// FormatOf returns the format for the extension of a file name.
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
	var line []byte
	var err error
	for i := range t.records {
		for j := range t.columns {
			c := &t.columns[j]
			line = append(quote(append(line, "{,"[min(j, 1)]), c.Name), ':')
			was := len(line)
			if line, err = c.append(line, &t.records[i], c.Type == String); err != nil {
				return err
			}
			if len(line) == was {
				line = append(line, "null"...)
			}
		}
		if _, err := out.Write(append(line, '}', '\n')); err != nil {
			return err
		}
		line = line[:0]
	}
	return out.Flush()
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
	var field []byte
	for i := range t.records {
		for j := range t.columns {
			var err error
			if field, err = t.columns[j].append(field[:0], &t.records[i], false); err != nil {
				return err
			}
			line[j] = string(field)
			if t.columns[j].Type == String && !t.Raw {
				line[j] = document.Field(line[j])
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// append appends the value of a row, nothing for null: the shortest decimal
// that reads back as the same number, or a text.
func (c *Column) append(b []byte, r *record, quoted bool) ([]byte, error) {
	if c.figure == nil {
		s, ok := c.text(r)
		if ok && quoted {
			return quote(b, s), nil
		}
		return append(b, s...), nil
	}
	v, ok, err := c.number(r)
	switch {
	case !ok:
		return b, err
	case c.Type == Int64:
		return strconv.AppendInt(b, int64(v), 10), nil
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64), nil
}

// quote appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quote(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return quoted
}
