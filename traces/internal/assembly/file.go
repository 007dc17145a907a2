package assembly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Found is what was found in a file.
type Found struct {
	Name     string // of the file
	Lines    int    // lines read, blank ones aside
	Bad      int    // lines that are not valid or not understood
	Bytes    int64  // decompressed
	Problems Problems
	Unknown  map[string]int // lines by type, for types the reader does not know
}

// File is one recording while it is read.
type File struct {
	Found
	Maker Maker // makes blocks, of which Options.Listener hears

	rates   traces.Rates
	strict  bool
	lacking int             // calls whose token counts are missing, beside the rounds' own
	owned   owned           // what sessions have of the file
	claimed bool            // a session answers for its problems
	spoken  []prompt.Digest // names of sessions and calls it mentions, besides its own sessions' names
	records map[uint64]bool // by id; see Once
}

// owned counts what sessions have of a file's lines and problems.
type owned struct{ lines, bad, lacking, listed, problems, unread int }

// Once notes the id of a record, "" for none, such as a message. It is an error if the file had a record of this id: a log that two programs wrote,
// or that was merged, may have some twice, whose tokens count once.
func (f *File) Once(what, id string) error {
	switch {
	case id == "":
		return nil
	case f.records[prompt.DigestString(id).Lo]:
		return fmt.Errorf("%s %.40q is here a second time; it counts once", what, id)
	case f.records == nil:
		f.records = map[uint64]bool{}
	}
	f.records[prompt.DigestString(id).Lo] = true
	return nil
}

// Had reports whether the file had a record of an id; see Once.
func (f *File) Had(id string) bool { return f.records[prompt.DigestString(id).Lo] }

// Speaks records that the file belongs together with all other files that
// mention a name: the id of a session or of a call.
func (f *File) Speaks(name string) {
	if name != "" {
		f.spoken = append(f.spoken, prompt.DigestString(name))
	}
}

// NewFile returns an unread file.
func NewFile(name string, opts traces.Options) *File {
	found := Found{Name: name, Problems: Problems{Limit: opts.MaxProblems}, Unknown: map[string]int{}}
	return &File{Found: found, strict: opts.Strict, rates: opts.Rates, Maker: Maker{Ear: opts.Listener, Unknown: found.Unknown}}
}

// Again returns a file whose texts are read again: its blocks keep them.
func Again() *File {
	f := NewFile("", traces.Options{})
	f.Maker = Maker{Keep: true}
	return f
}

// Weigh returns the tokens of blocks, as estimated by their texts.
func (f *File) Weigh(blocks ...Block) (n int64) {
	for i := range blocks {
		n += int64(Weigh(&f.rates, &blocks[i].Block))
	}
	return n
}

// Form tells of a version of the form of a file, as JSON, that is not the one it is read as. It may be missing.
func (f *File) Form(line int, have []byte, known string) {
	if len(have) > 0 && string(have) != known {
		f.Problems.Add(f.Name, line, "version %.20s of the format is not known; it is read as version %s", have, known)
	}
}

// Stem returns the name of the file up to its first dot, without folders, for sessions that have no other name.
func (f *File) Stem() string {
	stem, _, _ := strings.Cut(path.Base(f.Name), ".")
	return stem
}

// Base returns f, so that a Reader can read types that embed a File.
func (f *File) Base() *File { return f }

// Read hands every line of in that is not blank to parse. A line that parse
// refuses is a problem of the file, or under Options.Strict the error that ends
// reading. So is a file that cannot be read to its end or is empty.
func (f *File) Read(ctx context.Context, opts traces.Options, in traces.Input, parse func(Line) error) error {
	r, err := in.Open()
	if err != nil {
		return f.Unreadable(err)
	}
	defer r.Close()
	lines := NewLineReader(&Interruptible{ctx, opts.Watch(r)}, opts.MaxLine)
	lines.turn = opts.Long()
	defer lines.Release()
	for {
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if errors.Is(err, traces.ErrBomb) {
			return err
		}
		if err != nil {
			return f.Unreadable(fmt.Errorf("reading stopped after line %d: %w", f.Lines, err))
		}
		if ln.Number%1024 == 1 {
			if err := opts.Room(f.Name); err != nil {
				return err
			}
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

// ReadAll returns the text of a file that is one document. A file that cannot
// be read to its end or is empty gives nil and a problem of the file, or under
// Options.Strict the error.
func (f *File) ReadAll(ctx context.Context, opts traces.Options, in traces.Input) ([]byte, error) {
	r, err := in.Open()
	if err != nil {
		return nil, f.Unreadable(err)
	}
	defer r.Close()
	if err := opts.Room(f.Name); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.Grow(int(min(max(in.Size(), 0), int64(opts.MaxLine))) + bytes.MinRead) // it would grow by doubling otherwise
	_, err = all.ReadFrom(io.LimitReader(&Interruptible{ctx, opts.Watch(r)}, int64(opts.MaxLine)+1))
	text := all.Bytes()
	f.Bytes = int64(len(text))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, traces.ErrBomb):
		return nil, err
	case err != nil:
		return nil, f.Unreadable(fmt.Errorf("reading stopped after %d bytes: %w", len(text), err))
	case len(text) > opts.MaxLine:
		return nil, f.Unreadable(fmt.Errorf("document is longer than %d bytes", opts.MaxLine))
	}
	text = TrimBOM(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, f.Refuse(0, errors.New("file is empty"))
	}
	f.Lines = bytes.Count(bytes.TrimSpace(text), []byte("\n")) + 1
	if !utf8.Valid(text) {
		err = f.Refuse(0, errors.New("document holds bytes that are not UTF-8"))
	}
	return text, err
}

func (f *File) line(opts traces.Options, ln Line, parse func(Line) error) error {
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
	err := parse(ln)
	if err == nil {
		return f.accept(ln, nil)
	}
	objects := Joined(ln.Text)
	if objects == nil {
		return f.accept(ln, err)
	}
	f.tellJoined(ln.Number, len(objects))
	ln.Torn = false
	for _, ln.Text = range objects {
		if err := f.accept(ln, parse(ln)); err != nil {
			return err
		}
	}
	return nil
}

// tellJoined tells that a line holds several objects.
func (f *File) tellJoined(line, objects int) {
	f.Problems.Add(f.Name, line, "%d objects are on one line, as two programs leave them that write one file; each is read as a line", objects)
}

// accept refuses a line that parse refused with err, or that is not UTF-8.
func (f *File) accept(ln Line, err error) error {
	if err != nil {
		if errors.As(err, new(traces.Problem)) {
			return err // refused already
		}
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

// Loose records blocks after the last call of a thread as a problem.
func (f *File) Loose(blocks []Block) {
	if n := len(blocks); n > 0 {
		f.Problems.Add(f.Name, int(blocks[0].Line), "%s to no call", numbers.Counted(n, "block after the last counted call belongs", "blocks after the last counted call belong"))
	}
}

// Refuse records a defect of a line, counted from 1, or of the whole file at 0.
// Under Options.Strict it returns the error.
func (f *File) Refuse(line int, err error) error {
	if line > 0 {
		f.Bad++
	}
	f.Problems.Add(f.Name, line, "%s", err)
	if f.strict {
		return traces.Problem{File: f.Name, Line: line, Text: err.Error()}
	}
	return nil
}

// Lacks records at a line that the token counts of n calls are missing that are in no round of the file, or in one
// with a part of its counts.
func (f *File) Lacks(n, line int, format string, args ...any) {
	f.lacking += n
	f.Problems.Add(f.Name, line, format, args...)
}

// Unreadable is Refuse for a file that cannot be read to its end; this problem is kept before all others.
func (f *File) Unreadable(err error) error {
	list := f.Problems.List
	f.Problems.List = nil
	refused := f.Refuse(0, err)
	f.Problems.Unread++
	for i := range f.Problems.List {
		f.Problems.List[i].Unread = true
	}
	f.Problems.List = append(f.Problems.List, list[:min(len(list), max(0, f.Problems.Limit-1))]...)
	return refused
}

// Interruptible is a reader that ends when its context does.
type Interruptible struct {
	Context context.Context
	Reader  io.Reader
}

// Read implements io.Reader.
func (i *Interruptible) Read(p []byte) (int, error) {
	if err := i.Context.Err(); err != nil {
		return 0, err
	}
	return i.Reader.Read(p)
}

// TrimBOM removes the byte order mark that some editors write at the start.
func TrimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

// Problems are the defects found: the first Limit defects, the number of all, and how many defects
// are files that could not be read, or not to their end.
type Problems struct {
	List   []traces.Problem
	Total  int
	Unread int
	Limit  int
}

// Add records a defect of a file at a line, counted from 1, or of the whole file at 0.
func (p *Problems) Add(file string, line int, format string, args ...any) {
	p.Total++
	if len(p.List) < p.Limit {
		p.List = append(p.List, traces.Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
	}
}

// Join adds the problems of q.
func (p *Problems) Join(q Problems) {
	p.Total += q.Total
	p.Unread += q.Unread
	p.List = append(p.List, q.List[:min(len(q.List), max(0, p.Limit-len(p.List)))]...)
}

// Stamp returns a time stamp of a line in unix nanoseconds, 0 for none or for one no transcript
// could have. Such a stamp makes the line a bad one: how long
// it waited, and so what the cache had forgotten, is unknown.
func (f *File) Stamp(line int, stamp []byte) int64 {
	at := Time(stamp)
	if at == 0 && len(stamp) > 0 {
		f.Bad++
		f.Problems.Add(f.Name, line, "time %q cannot be read or is out of range; it is left out", stamp[:min(len(stamp), 40)])
	}
	return at
}

// Millis is Stamp for a time in unix milliseconds, 0 for none.
func (f *File) Millis(line int, ms int64) int64 {
	at := Millis(ms)
	if at == 0 && ms != 0 {
		f.Bad++
		f.Problems.Add(f.Name, line, "time %d is out of range; it is left out", ms)
	}
	return at
}

// Nanos is Stamp for a time in unix nanoseconds, 0 for none.
func (f *File) Nanos(line int, ns int64) int64 {
	if f.Millis(line, ns/1e6) == 0 {
		return 0
	}
	return ns
}

// Moment is Stamp for the JSON of a time: a stamp, seconds with nanoseconds in a list, or a number, which
// may be in a string and whose size shows its unit.
func (f *File) Moment(line int, v []byte) int64 {
	text := bytes.Trim(v, `"`)
	switch {
	case len(v) == 0 || v[0] == 'n':
		return 0
	case v[0] == '[':
		var parts []int64
		if jsonscan.Decode(v, &parts) == nil && len(parts) == 2 && parts[0] < 1e10 {
			return f.Nanos(line, parts[0]*1e9+parts[1])
		}
	case bytes.IndexByte(text, '-') > 0:
		return f.Stamp(line, text)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		x, _ := strconv.ParseFloat(string(text), 64)
		for x > 0 && x < 1e17 { // seconds are below 10¹¹, milliseconds below 10¹⁴
			x *= 1000
		}
		if n = 0; x < 9e18 {
			n = int64(x)
		}
	}
	for n > 0 && n < 1e17 {
		n *= 1000
	}
	if n <= 0 {
		return f.Stamp(line, v) // says what stands there: no log could have this time
	}
	return f.Nanos(line, n)
}

// ReadObjects hands each object of a file, on lines or in one document, and in lists there, to object, which must read it
// and says what is wrong with it. none is what is wrong with a line or document that has nothing else.
func (f *File) ReadObjects(ctx context.Context, opts traces.Options, in traces.Input, none error, object func(*Cursor) error) error {
	head, err := in.Head(64 << 10)
	if err == nil && Lined(head) {
		return f.Read(ctx, opts, in, func(ln Line) error {
			n, err := Objects(ln.Text, ln.Number, none, object)
			if n > 1 {
				f.tellJoined(ln.Number, n)
			}
			return err
		})
	}
	return f.ReadDocument(ctx, opts, in, func(text []byte) error {
		_, err := Objects(text, 1, none, object)
		return err
	})
}

// ReadDocument hands a file that is one document to read; what that finds wrong is a problem of the file.
func (f *File) ReadDocument(ctx context.Context, opts traces.Options, in traces.Input, read func(text []byte) error) error {
	text, err := f.ReadAll(ctx, opts, in)
	if err != nil || text == nil {
		return err
	}
	if bad := read(text); bad != nil {
		return f.Refuse(0, bad)
	}
	return nil
}

// maxUSD is the largest plausible cost of one call.
const maxUSD = 1e5

// Cost returns the cost of a call as logged. An impossible cost is a problem of
// the line and counts as 0.
func (f *File) Cost(line int, usd float64) float64 {
	if usd >= 0 && usd <= maxUSD {
		return usd
	}
	f.Problems.Add(f.Name, line, "cost %g is out of range; it is left out", usd)
	return 0
}
