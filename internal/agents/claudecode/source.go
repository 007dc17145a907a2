package claudecode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/traces"
)

// scan reads one file into records.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*source, error) {
	src := &source{name: in.Name, problems: problems{limit: opts.MaxProblems}}
	r, err := in.Open()
	if err != nil {
		return src, src.refuse(opts, 0, err)
	}
	defer r.Close()
	p := &parser{src: src}
	lines := traces.NewLineReader(opts.Watch(r), opts.MaxLine)
	for {
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return src, src.refuse(opts, 0, fmt.Errorf("reading stopped after line %d: %w", src.lines, err))
		}
		if err := ctx.Err(); err != nil {
			return src, err
		}
		src.bytes = ln.Place + int64(len(ln.Text))
		if err := p.line(opts, ln); err != nil {
			return src, err
		}
	}
	if src.lines == 0 {
		return src, src.refuse(opts, 0, errors.New("file is empty"))
	}
	return src, nil
}

// refuse notes a defect of the file as a whole, or of a line.
func (src *source) refuse(opts traces.Options, line int, err error) error {
	if line > 0 {
		src.bad++
	}
	src.problems.add(src.name, int32(line), "%s", err)
	if opts.Strict {
		return fmt.Errorf("claudecode: %w", errors.New(traces.Problem{File: src.name, Line: line, Text: err.Error()}.String()))
	}
	return nil
}

// line reads one line; the error is one that ends reading.
func (p *parser) line(opts traces.Options, ln traces.Line) error {
	if ln.TooLong {
		p.src.lines++
		return p.src.refuse(opts, ln.Number, fmt.Errorf("line is longer than %d bytes", opts.MaxLine))
	}
	if ln.Number == 1 {
		ln.Text = reading.TrimBOM(ln.Text)
	}
	if len(bytes.TrimSpace(ln.Text)) == 0 {
		return nil
	}
	p.src.lines++
	if err := p.parse(ln); err != nil {
		if ln.Torn {
			err = fmt.Errorf("last line is cut off: %w", err)
		}
		return p.src.refuse(opts, ln.Number, err)
	}
	if invalidUTF8(ln.Text) {
		return p.src.refuse(opts, ln.Number, errors.New("line holds bytes that are not UTF-8"))
	}
	return nil
}
