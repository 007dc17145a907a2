package cassette

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// Mode says how a folder handles calls that it does not have.
type Mode string

// The modes of a folder.
const (
	Replay        Mode = "replay"         // a call that is not stored is an error; no server is called
	Record        Mode = "live"           // every call is made again, once in the life of the Folder
	RecordMissing Mode = "record-missing" // calls are made if they are not stored, or failed for a passing reason
)

// Options say how cassettes are written. The zero value keeps all texts.
type Options struct {
	// Redact replaces the texts of requests and answers by rounded sizes and by digests under
	// a key that is not kept. The recording run sees the same filler as a replaying one.
	Redact bool
	// Keep are strings that Redact leaves in answers besides the tags of analysis
	// and summary, such as titles of sections.
	Keep []string
}

// Folder is a folder of cassettes, which are read when needed. It is safe for concurrent use.
type Folder struct {
	dir  string
	mode Mode
	opts Options
	blur blur // of this run

	mu    sync.Mutex
	slots map[Key]*slot
}

// slot is a call that was requested.
type slot struct {
	turn chan struct{} // held while the call is searched or made
	made atomic.Bool   // stored by this Folder
}

// slot returns the slot of a call.
func (f *Folder) slot(k Key) *slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots[k] == nil {
		f.slots[k] = &slot{turn: make(chan struct{}, 1)}
	}
	return f.slots[k]
}

// suffix is the ending of the files; others are ignored.
const suffix = ".json"

// Open returns the cassettes of a folder. For replay the folder must exist; for
// recording it is made if missing.
func Open(dir string, mode Mode, opts Options) (*Folder, error) {
	if mode != Replay {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("cassettes: make the folder to record to: %w", err)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cassettes: there is no folder %s to replay: record one first, or name another", dir)
	case err != nil:
		return nil, fmt.Errorf("cassettes: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("cassettes: %s is no folder", dir)
	}
	return &Folder{dir: dir, mode: mode, opts: opts, blur: newBlur(), slots: map[Key]*slot{}}, nil
}

// path returns the file of a call.
func (f *Folder) path(k Key) string { return filepath.Join(f.dir, k.String()+suffix) }

// load returns the cassette of a call, or ErrMissing; any other error names the file and the remedy.
func (f *Folder) load(call Call) (*Cassette, error) {
	c, err := f.find(call)
	if err == nil && c == nil {
		err = fmt.Errorf("%w for call %d of session %s", ErrMissing, call.Number, call.Session)
	}
	return c, err
}

// find is load, but returns nil without an error if there is none.
func (f *Folder) find(call Call) (*Cassette, error) {
	k := call.Key()
	path := f.path(k)
	c, err := read(path, k)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cassette %s: %w", path, err)
	}
	c.Call = call
	return c, nil
}

// Has reports whether Do answers a call from the folder without making it. A
// file that cannot be read counts as stored: Do returns the error.
func (f *Folder) Has(call Call) bool {
	c, err := f.there(call)
	return c != nil || err != nil && !errors.Is(err, ErrMissing)
}

// store writes a cassette, replacing one of the same call, and returns it as it will be read. It is written
// completely or not at all, even if the program is killed. A failure that every call would get, such as a wrong key,
// is not stored.
func (f *Folder) store(c *Cassette) (*Cassette, error) {
	k := c.Call.Key()
	refused := func(why error) (*Cassette, error) {
		return nil, fmt.Errorf("store the call %s of session %s: %w", k, c.Call.Session, why)
	}
	if f.mode == Replay {
		return refused(errors.New("the cassettes are opened to replay"))
	}
	if c.Failure != nil && c.Failure.Fatal() {
		return refused(errors.New("its failure is one that every call meets"))
	}
	file := formOf(c)
	if f.opts.Redact {
		file.redact(&f.blur, f.opts.Keep)
	}
	b, err := file.encode()
	if err != nil {
		return refused(err)
	}
	again, err := decode(b)
	if err != nil {
		return refused(err)
	}
	stored, err := again.cassette(k)
	if err != nil {
		return refused(err)
	}
	stored.Call = c.Call
	// What was paid for is kept even after an interruption.
	err = files.Write(context.Background(), f.path(k), func(w io.Writer) error { _, err := w.Write(b); return err })
	if err != nil {
		return refused(err)
	}
	f.slot(k).made.Store(true)
	return stored, nil
}

// Ask makes a call.
type Ask = func(context.Context) (*Cassette, error)

// Do returns the cassette of a call, and true if it was stored already.
// Otherwise, except for replay, ask makes it and the result is stored: whatever
// was paid for is on disk when Do returns. If several want a call at once, one
// asks and the others get the same result. Do sets the Call of the result to
// call. The returned cassette is what a replay gives, with filler for withheld
// texts.
//
// If ask returns an error, nothing is stored; nor is a failure that every call
// would get, which is then the error.
func (f *Folder) Do(ctx context.Context, call Call, ask Ask) (*Cassette, bool, error) {
	turn := f.slot(call.Key()).turn
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	c, err := f.there(call)
	if c != nil || err != nil {
		return c, c != nil, err
	}
	c, err = f.record(ctx, call, ask)
	return c, false, err
}

// there returns the cassette that answers a call in the folder's mode, nil if the call
// must be made. RecordMissing repeats a passing failure once in the Folder's life.
func (f *Folder) there(call Call) (*Cassette, error) {
	if f.mode == Replay {
		return f.load(call)
	}
	made := f.slot(call.Key()).made.Load()
	if f.mode == Record && !made {
		return nil, nil
	}
	c, err := f.find(call)
	if c != nil && c.Failure != nil && c.Failure.Passing() && f.mode == RecordMissing && !made {
		return nil, nil
	}
	return c, err
}

// record makes a call with ask and stores it.
func (f *Folder) record(ctx context.Context, call Call, ask Ask) (*Cassette, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("call %s of session %s came to nothing", call.Key(), call.Session)
	}
	if c.Failure != nil && c.Failure.Fatal() {
		return nil, c.Failure
	}
	made := *c
	made.Call = call
	return f.store(&made)
}
