package reading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/compactsim/compactsim/traces"
)

// File is one recording while it is read and what was met in it.
type File struct {
	Name     string
	Lines    int   // lines read, blank ones aside
	Bad      int   // lines that are not valid or not understood
	Bytes    int64 // decompressed
	Problems Problems

	reader string // package of the reader, in front of its errors
	strict bool
}

// NewFile returns an unread file for the reader of a name.
func NewFile(reader, name string, opts traces.Options) *File {
	return &File{Name: name, Problems: Problems{Limit: opts.MaxProblems}, reader: reader, strict: opts.Strict}
}

// Read hands every line of in that is not blank to parse. What parse refuses is
// a problem of the file, or under Options.Strict the error that ends reading;
// so is a file that cannot be read to its end, or is empty.
func (f *File) Read(ctx context.Context, opts traces.Options, in traces.Input, parse func(traces.Line) error) error {
	r, err := in.Open()
	if err != nil {
		return f.Refuse(0, err)
	}
	defer r.Close()
	lines := traces.NewLineReader(opts.Watch(r), opts.MaxLine)
	for {
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f.Refuse(0, fmt.Errorf("reading stopped after line %d: %w", f.Lines, err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		f.Bytes = ln.Place + int64(len(ln.Text))
		if err := f.line(opts, ln, parse); err != nil {
			return err
		}
	}
	if f.Lines == 0 {
		return f.Refuse(0, errors.New("file is empty"))
	}
	return nil
}

func (f *File) line(opts traces.Options, ln traces.Line, parse func(traces.Line) error) error {
	if ln.TooLong {
		f.Lines++
		return f.Refuse(ln.Number, fmt.Errorf("line is longer than %d bytes", opts.MaxLine))
	}
	if ln.Number == 1 {
		ln.Text = TrimBOM(ln.Text)
	}
	if len(bytes.TrimSpace(ln.Text)) == 0 {
		return nil
	}
	f.Lines++
	if err := parse(ln); err != nil {
		if ln.Torn {
			err = fmt.Errorf("last line is cut off: %w", err)
		}
		return f.Refuse(ln.Number, err)
	}
	if !utf8.Valid(ln.Text) {
		return f.Refuse(ln.Number, errors.New("line holds bytes that are not UTF-8"))
	}
	return nil
}

// Refuse notes a defect of a line, from 1, or of the file as a whole at 0. It
// is the error returned under Options.Strict.
func (f *File) Refuse(line int, err error) error {
	if line > 0 {
		f.Bad++
	}
	f.Problems.Add(f.Name, line, "%s", err)
	if f.strict {
		return fmt.Errorf("%s: %w", f.reader, errors.New(traces.Problem{File: f.Name, Line: line, Text: err.Error()}.String()))
	}
	return nil
}

// TrimBOM removes the byte order mark some editors leave at the start.
func TrimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }
