package texts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

type want struct{ line, block int32 }

// file is one file of a session, open or not.
type file struct {
	name  string
	wants []want // all blocks in it, by line
	next  int    // index in wants after the last line read
	base  int    // lines before those that lines counts
	seeks bool   // the file can be read from a place
	in    io.Closer
	lines *assembly.LineReader
}

func (f *file) sort() {
	slices.SortFunc(f.wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.block, b.block))
	})
}

// of returns the blocks on a line.
func (f *file) of(number int32) []want {
	from := f.at(number)
	to := from
	for to < len(f.wants) && f.wants[to].line == number {
		to++
	}
	return f.wants[from:to]
}

// passed reports whether a line was already read.
func (f *file) passed(number int32) bool { return f.next > 0 && number <= f.wants[f.next-1].line }

// at returns the index of the first of wants on a line or after it.
func (f *file) at(number int32) int {
	i, _ := slices.BinarySearchFunc(f.wants, number, func(w want, n int32) int { return cmp.Compare(w.line, n) })
	return i
}

// farAhead is the number of skipped blocks from which reopening at a line's
// place is faster.
const farAhead = 64

// jump goes to the place of a line in a file that was just opened. If that is
// impossible, in a compressed file or with a reader that keeps no places, the
// lines before it are read.
func (f *file) jump(rc io.Reader, number int32, place int64) {
	s, ok := rc.(io.Seeker)
	if !ok || place <= 0 {
		return
	}
	if _, err := s.Seek(place, io.SeekStart); err == nil {
		f.next, f.base, f.seeks = f.at(number), int(number)-1, true
	}
}

func (f *file) close() error {
	in := f.in
	f.in, f.lines, f.next, f.base = nil, nil, 0, 0
	if in == nil {
		return nil
	}
	return in.Close()
}

// byLine reports whether a line of a file is decoded by itself, and not the whole file.
func (r *Reader) byLine() bool { return r.agent.Document == nil || r.agent.Lined }

// load decodes a line into r.last.
func (r *Reader) load(f *file, number int32, place int64) error {
	if !r.byLine() {
		return r.loadDocument(f)
	}
	text, ok := r.cache.get(key{f, number})
	if !ok {
		var err error
		if text, err = r.advance(f, number, place); err != nil {
			_ = f.close() // the first error counts
			r.open = slices.DeleteFunc(r.open, func(o *file) bool { return o == f })
			return err
		}
	}
	found := r.agent.Texts(text)
	if found == nil {
		for _, o := range assembly.Joined(text) {
			found = append(found, r.agent.Texts(o)...)
		}
	}
	r.last.decode(f, number, f.of(number), r.s, found)
	return nil
}

// loadDocument decodes a file that is one document.
func (r *Reader) loadDocument(f *file) error {
	in, ok := r.corpus.Input(f.name)
	if !ok {
		return errNotInCorpus
	}
	open := r.agent.Source
	if open == nil {
		open = func(context.Context, traces.Input) (io.ReadCloser, error) { return in.Open() }
	}
	rc, err := open(r.ctx, in)
	if err != nil {
		return err
	}
	defer rc.Close()
	text, err := io.ReadAll(io.LimitReader(rc, int64(r.corpus.LineLimit())))
	if err == nil {
		r.last.decode(f, 0, f.wants, r.s, r.agent.Texts(assembly.TrimBOM(text)))
	}
	return err
}

var errNotInCorpus = errors.New("the file is not among the recordings of this corpus")

// advance reads a file up to a line and returns it. Lines with blocks on the
// way are kept. The result is valid until the next call.
func (r *Reader) advance(f *file, number int32, place int64) ([]byte, error) {
	if err := r.ready(f, number, place); err != nil {
		return nil, err
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		ln, err := f.lines.Next()
		ln.Number += f.base
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file ends before this line: it has changed since it was read")
		case err != nil:
			return nil, err
		case f.next >= len(f.wants) || int32(ln.Number) < f.wants[f.next].line:
			continue
		}
		if ln.TooLong {
			return nil, fmt.Errorf("line %d is longer than %d bytes", ln.Number, r.corpus.LineLimit())
		}
		for f.next < len(f.wants) && f.wants[f.next].line == int32(ln.Number) {
			f.next++
		}
		if ln.Number == 1 {
			ln.Text = assembly.TrimBOM(ln.Text)
		}
		r.cache.put(key{f, int32(ln.Number)}, ln.Text)
		if int32(ln.Number) == number {
			return ln.Text, nil
		}
	}
}

// ready opens a file, or reopens it to go back. If too many files are open, it
// closes the least recently used one.
func (r *Reader) ready(f *file, number int32, place int64) error {
	if f.in != nil && (f.passed(number) || f.seeks && f.at(number) > f.next+farAhead) {
		if err := f.close(); err != nil {
			return err
		}
	}
	r.open = slices.DeleteFunc(r.open, func(o *file) bool { return o == f })
	if f.in == nil {
		in, ok := r.corpus.Input(f.name)
		if !ok {
			return errNotInCorpus
		}
		if len(r.open) == maxOpen {
			if err := r.open[0].close(); err != nil {
				return err
			}
			r.open = slices.Delete(r.open, 0, 1)
		}
		rc, err := in.Open()
		if err != nil {
			return err
		}
		f.in, f.next = rc, 0
		f.jump(rc, number, place)
		f.lines = assembly.NewLineReader(rc, r.corpus.LineLimit())
	}
	r.open = append(r.open, f)
	return nil
}

// cacheBytes is how much text of lines a reader holds: several times what most
// recorded sessions have in lines with blocks, so that late results, and
// sub-agents in their parent's file, are found without reading the file again.
const cacheBytes = 16 << 20

// key names a line.
type key struct {
	file   *file
	number int32
}

// cache holds the text of the last lines read.
type cache struct {
	limit int // bytes
	held  int // bytes
	lines map[key][]byte
	order []key // of lines, the oldest first
}

func (c *cache) get(k key) ([]byte, bool) {
	text, ok := c.lines[k]
	return text, ok
}

// put keeps a copy of a line and drops the oldest. A line that would displace a
// quarter of the cache is not kept.
func (c *cache) put(k key, text []byte) {
	if _, ok := c.lines[k]; ok || len(text) > c.limit/4 {
		return
	}
	if c.lines == nil {
		c.lines = map[key][]byte{}
	}
	for c.held+len(text) > c.limit {
		oldest := c.order[0]
		c.order = c.order[1:]
		c.held -= len(c.lines[oldest])
		delete(c.lines, oldest)
	}
	c.lines[k] = append(make([]byte, 0, len(text)), text...)
	c.order = append(c.order, k)
	c.held += len(text)
}
