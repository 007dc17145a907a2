package assembly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Line is one line of a recording. Text is valid until the next line is read.
type Line struct {
	Text    []byte // without its terminator; nil when TooLong
	Number  int    // from 1
	Place   int64  // byte offset of the line in the (decompressed) file
	TooLong bool   // longer than the limit: skipped, not held
	Torn    bool   // the input ended without a line terminator
}

// Joined returns the objects of a line that holds several whole ones and nothing else, nil for any other line. Two programs that
// write one log may each write a line before the other has ended its own.
func Joined(line []byte) (objects [][]byte) {
	s := jsonscan.New(line)
	for s.Peek() == '{' {
		objects = append(objects, s.Raw())
	}
	if s.End(); s.Err() != nil || len(objects) < 2 {
		return nil
	}
	return objects
}

// LineReader reads lines of any length up to a limit, holding one at a time.
type LineReader struct {
	r     io.Reader
	max   int
	buf   []byte
	from  int // start of the unread part of buf
	to    int // end of the unread part of buf
	place int64
	line  int
	err   error

	turn  *sync.Mutex // taken for a long line; nil for none
	taken bool
}

const (
	firstBuffer = 256 << 10
	longLine    = 16 << 20 // of longer lines, readers that share a turn hold one at a time
	maxSkipped  = 16 << 30 // bytes of a skipped line: a compressed file may be practically endless
)

// NewLineReader returns a reader of the lines of r that skips lines of more
// than limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{r: r, max: limit, buf: make([]byte, min(firstBuffer, max(limit+1, 16)))}
}

// Next returns the next line. The error is io.EOF after the last line, or the underlying reader's
// error after the lines that could be read.
func (l *LineReader) Next() (Line, error) {
	searched := 0
	if l.taken && l.to-l.from < firstBuffer {
		l.Release()
	}
	for {
		if i := bytes.IndexByte(l.buf[l.from+searched:l.to], '\n'); i >= 0 {
			return l.take(searched+i, 1), nil
		}
		searched = l.to - l.from
		if searched > l.max {
			return l.skip()
		}
		if l.err != nil {
			if searched > 0 && !errors.Is(l.err, traces.ErrBomb) {
				return l.take(searched, 0), nil
			}
			return Line{}, l.err
		}
		l.fill()
	}
}

// Release gives back the memory and the turn of a long line.
func (l *LineReader) Release() {
	if !l.taken {
		return
	}
	rest := make([]byte, max(firstBuffer, l.to-l.from))
	l.from, l.to = 0, copy(rest, l.buf[l.from:l.to])
	l.buf, l.taken = rest, false
	l.turn.Unlock()
}

// take consumes n bytes of text and the terminator.
func (l *LineReader) take(n, terminator int) Line {
	l.line++
	ln := Line{Text: l.buf[l.from : l.from+n : l.from+n], Number: l.line, Place: l.place, Torn: terminator == 0}
	if n > l.max {
		ln.Text, ln.TooLong = nil, true
	}
	l.from += n + terminator
	l.place += int64(n + terminator)
	return ln
}

// fill makes room and reads once.
func (l *LineReader) fill() {
	if l.from > 0 {
		copy(l.buf, l.buf[l.from:l.to])
		l.to -= l.from
		l.from = 0
	}
	if l.to == len(l.buf) && l.to >= longLine && l.turn != nil && !l.taken {
		l.turn.Lock()
		l.taken = true
	}
	if l.to == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.max+1))
		copy(grown, l.buf[:l.to])
		l.buf = grown
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.to:])
		l.to += n
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// skip drops the rest of a line that is over the limit.
func (l *LineReader) skip() (Line, error) {
	l.line++
	ln := Line{Number: l.line, Place: l.place, TooLong: true}
	for {
		i := bytes.IndexByte(l.buf[l.from:l.to], '\n')
		if i >= 0 {
			l.from += i + 1
			l.place += int64(i + 1)
			return ln, nil
		}
		l.place += int64(l.to - l.from)
		l.from, l.to = 0, 0
		if l.place-ln.Place > maxSkipped && l.err == nil {
			l.err = fmt.Errorf("a line of more than %d bytes", int64(maxSkipped))
		}
		if l.err != nil {
			ln.Torn = true
			return ln, nil
		}
		l.fill()
	}
}

// Linewise reads the recordings of an agent whose files have lines, each of a session or a sub-agent. F is what a file is read
// into; it embeds a *Part.
type Linewise[F interface {
	Base() *File
	Top() *Part
}] struct {
	Name string              // of the agent
	New  func(*Part) F       // returns an unread file
	Line func(F, Line) error // reads a line; the error says what is wrong with it
	End  func(F)             // takes what is under way where a file ends; nil for nothing
	Ends func([]F)           // the same, where other files tell how it went on
}

// ErrNoType says that a line is not what it should be.
var ErrNoType = errors.New("not a line of a session: it has no type")

// Read reads recordings; see Reader.
func (l Linewise[F]) Read(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	r := Reader[F]{Name: l.Name, Scan: l.scan, Sessions: func(opts *traces.Options, files []F) []*Session {
		if l.Ends != nil {
			l.Ends(files)
		}
		return Families(l.Name, opts, files)
	}}
	return r.Read(ctx, opts, inputs, what)
}

// scan reads one file.
func (l Linewise[F]) scan(ctx context.Context, opts traces.Options, in traces.Input) (F, error) {
	f := l.New(NewPart(NewFile(in.Name, opts)))
	err := f.Base().Read(ctx, opts, in, func(ln Line) error { return l.Line(f, ln) })
	l.end(f)
	return f, err
}

func (l Linewise[F]) end(f F) {
	if l.End != nil {
		l.End(f)
	}
}

// Texts reads the texts of a line again, as far as the line can be read.
func (l Linewise[F]) Texts(text []byte) []traces.Text {
	f := l.New(NewPart(Again()))
	_ = l.Line(f, Line{Text: text}) // what is wrong was told when the file was read
	l.end(f)
	return f.Top().Texts()
}

// Time returns a time stamp in unix nanoseconds, 0 when no transcript could
// have it.
func Time(b []byte) int64 {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0
	}
	return sane(t)
}

// Millis returns a time in unix milliseconds as nanoseconds, 0 when no
// transcript could have it.
func Millis(ms int64) int64 { return sane(time.UnixMilli(ms).UTC()) }

// sane accepts the years a recording can come from, so that differences stay
// far from the limits of int64.
func sane(t time.Time) int64 {
	if y := t.Year(); y < 2020 || y > 2100 {
		return 0
	}
	return t.UnixNano()
}
