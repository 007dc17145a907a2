package traces

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Corpus is what was read from a set of recordings.
type Corpus struct {
	Sessions    []*Session     // ordered by start, then id
	Problems    []Problem      // of files and folders that belong to no session; at most Options.MaxProblems
	NumProblems int            // all problems, the sessions' problems included
	Lines       int            // lines read, blank ones aside
	BadLines    int            // lines that are not valid or not understood
	Unread      int            // files that could not be read, or not to their end
	Bytes       int64          // decompressed bytes read
	Unknown     map[string]int // lines by type, for types the reader does not know
	Unsupported map[string]int // files by agent, of agents whose recordings are not supported; "" for what looks like a recording and no reader knows
	Repeated    int            // calls met again in a later session
	Inherited   int            // calls met in a later session alone: the one that made them is not here
	Inputs      *Inputs        // where the text can be read again
	MaxLine     int            // longest line that was read, bytes; defaultMaxLine when 0

	store Store  // where bodies of the sessions are; may be nil
	paths string // where they were found
}

// LineLimit returns the longest line that is read when the text of the corpus is read again, bytes.
func (c *Corpus) LineLimit() int {
	if c.MaxLine > 0 {
		return c.MaxLine
	}
	return defaultMaxLine
}

// Keep says where bodies of the sessions are stored, nil for nowhere, and under which paths they were found. What is
// computed of the corpus can be kept there for the next time. Bodies that are loaded again share some room in memory.
func (c *Corpus) Keep(in Store, paths []string) {
	c.store, c.paths = in, strings.Join(paths, "\n")
	room := new(atomic.Int64)
	room.Store(heldCalls)
	for _, s := range c.Sessions {
		if in, ok := s.stored(); ok {
			in.held.room, in.held.calls = room, int64(s.NumCalls())
		}
	}
}

// Kept returns what Keep was told: a store, or nil, and the paths in one text.
func (c *Corpus) Kept() (Store, string) { return c.store, c.paths }

// Key identifies the sessions as they are now: sessions of one key are equal. It is "" where the body of a session is in memory,
// or nothing is kept.
func (c *Corpus) Key() string {
	if c.store == nil {
		return ""
	}
	h := sha256.New()
	for _, s := range c.Sessions {
		key := s.StoreKey()
		if key == "" {
			return ""
		}
		fmt.Fprintln(h, key, s.ID)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// WithCalls returns the sessions that made calls.
func (c *Corpus) WithCalls() []*Session {
	var sessions []*Session
	for _, s := range c.Sessions {
		if s.NumCalls() > 0 {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// Close removes what was spooled to read the corpus.
func (c *Corpus) Close() error {
	if c.Inputs == nil {
		return nil
	}
	return c.Inputs.Close()
}

// Input returns the file with a name as in Session.Files, to read its text again.
func (c *Corpus) Input(name string) (Input, bool) {
	if c.Inputs != nil {
		for _, in := range c.Inputs.Files {
			if in.Name == name {
				return in, true
			}
		}
	}
	return Input{}, false
}

// defaultMaxLine is the longest line that is read, in bytes: a transcript line
// may carry whole files and images in base64.
const defaultMaxLine = 256 << 20

// defaultMaxProblems is how many problems are kept per session and per corpus;
// the rest is only counted.
const defaultMaxProblems = 100

// defaultBatch is how many lines are held before they become sessions: about 16 MB. Files of one
// session that are not read in one batch are read twice. Where memory is bounded, each linePerMemory
// bytes may hold a line.
const (
	defaultBatch  = 20_000
	linePerMemory = 32 << 10
)

// Options say how recordings are read. The zero value works.
type Options struct {
	Rates  Rates // tokens per byte of visible blocks; DefaultRates when zero
	Strict bool  // the first bad line, file or path is an error
	// Estimate keeps sessions none of whose calls have token counts. Their calls have sizes by what was said.
	Estimate bool
	MaxLine  int // longest line in bytes, longer ones are skipped as a problem; defaultMaxLine when 0
	// MaxMemory is how many bytes of memory the program may hold while it reads, 0 for no bound.
	// Recordings that take more end reading with ErrMemory.
	MaxMemory int64
	// Batch is how many lines are held at once before they become sessions, in a form that takes
	// some five times as much memory as sessions, twice during that. 0 means defaultBatch, or fewer
	// where memory is bounded. Sessions do not depend on it.
	Batch       int
	Workers     int       // files read at the same time; GOMAXPROCS when 0
	MaxProblems int       // problems kept per session and per corpus; defaultMaxProblems when 0
	Stdin       io.Reader // what the path "-" reads
	// Progress, when not nil, receives what was read since the last call:
	// decompressed bytes and files finished. It must be safe for concurrent use.
	Progress func(bytes int64, files int)
	// Found, when not nil, is told the number of files before they are read.
	Found func(files int)

	// Listener, when not nil, is shown the texts of blocks and makes Session.Index.
	Listener Listener
	// Spoke, when not nil, is told which sessions and calls files speak of, by 64 bits of the digests of their
	// names: files that speak of the same belong together.
	Spoke func(file string, name uint64)
	// Store, when not nil, keeps what is read for the next time. Sessions do not depend on it.
	Store Store
	// Lazy leaves the bodies of sessions in Store, as far as they are there, until Session.Load.
	Lazy bool

	long *sync.Mutex
}

// Store keeps what was made of recordings, by key. It is safe for concurrent use.
type Store interface {
	// Get reads a value into what a pointer points to and reports whether there was one, whole and of this type.
	Get(key string, into any) bool
	// Put keeps the value that a pointer points to, and reports whether it could.
	Put(key string, from any) bool
}

// Long returns the lock that a worker holds while it reads a line of more than some MiB, so that
// no two do at once. It is nil for options without defaults.
func (o Options) Long() *sync.Mutex { return o.long }

// ErrMemory is wrapped by the error of recordings that take more memory than Options.MaxMemory.
var ErrMemory = errors.New("the recordings take too much memory")

// Room returns an error when the file called name is read and memory is used up.
func (o Options) Room(name string) error {
	if o.MaxMemory <= 0 {
		return nil
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	// The rest is what the collector needs to work, and what it has not found yet.
	if held := live[0].Value.Uint64(); held > uint64(o.MaxMemory)/8*5 {
		return fmt.Errorf("%w: %d MiB of %d at %s", ErrMemory, held>>20, o.MaxMemory>>20, name)
	}
	return nil
}

// Watch returns r, or a reader that reports r's bytes to Progress.
func (o Options) Watch(r io.Reader) io.Reader {
	if o.Progress == nil {
		return r
	}
	return &watched{r, o.Progress}
}

type watched struct {
	r    io.Reader
	tell func(bytes int64, files int)
}

// Read reads and reports how much.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.tell(int64(n), 0)
	return n, err
}

// WithDefaults returns o with defaults for zeros.
func (o Options) WithDefaults() Options {
	if o.Rates == (Rates{}) {
		o.Rates = DefaultRates()
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Batch <= 0 {
		o.Batch = defaultBatch
		if o.MaxMemory > 0 {
			o.Batch = min(o.Batch, int(max(1, o.MaxMemory/linePerMemory)))
		}
	}
	if o.MaxMemory > 0 {
		o.MaxLine = min(o.MaxLine, int(o.MaxMemory/6))
	}
	if o.long == nil {
		o.long = new(sync.Mutex)
	}
	if o.MaxProblems <= 0 {
		o.MaxProblems = defaultMaxProblems
	}
	return o
}

// Rates estimate the true tokens of a block from its text: tokens per byte by
// kind and a fixed number per block.
type Rates struct {
	PerByte [prompt.NumKinds]float64
	Fixed   [prompt.NumKinds]float64
}

// DefaultRates are fitted inside 421 recorded Claude Code sessions, where the
// growth between two calls is known exactly.
func DefaultRates() Rates {
	var r Rates
	for k := range r.PerByte {
		r.PerByte[k] = 0.31
	}
	r.PerByte[prompt.KindText] = 0.26
	r.PerByte[prompt.KindThinking] = 0.30
	r.PerByte[prompt.KindToolUse] = 0.30
	r.Fixed[prompt.KindToolUse] = 54
	r.PerByte[prompt.KindToolResult] = 0.33
	r.PerByte[prompt.KindSummary] = 0.26
	r.PerByte[prompt.KindImage] = 0
	r.Fixed[prompt.KindImage] = 1600
	r.PerByte[prompt.KindDocument] = 0
	r.Fixed[prompt.KindDocument] = 2000
	return r
}

// Tokens returns the estimate for n bytes of content of kind k, at least 1 for
// content that is not empty.
func (r *Rates) Tokens(k prompt.Kind, n int) int {
	t := int(r.PerByte[k]*float64(n) + r.Fixed[k] + 0.5)
	if t == 0 && n > 0 {
		return 1
	}
	return t
}
