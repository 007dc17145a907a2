package cassette

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/files"
)

// Mode says what a folder does about calls that it does not have.
type Mode string

// The modes of a folder.
const (
	Replay        Mode = "replay"         // a call that is not stored is an error: nothing is asked of a server
	Record        Mode = "live"           // every call is made anew, once in the life of the Folder
	RecordMissing Mode = "record-missing" // a call that is not stored is made, and one that failed for a passing reason
)

// Options say how cassettes are written. The zero value keeps all texts.
type Options struct {
	// Redact replaces the texts of requests and answers by sizes in steps and by digests under a key that is not
	// kept. The run that records sees the same filler as one that replays.
	Redact bool
	// Keep are strings that Redact leaves in answers beside the tags of analysis and summary, such as titles of
	// sections.
	Keep []string
	// ReplaceBroken has RecordMissing make a call anew whose file cannot be read, and keep the file under another
	// ending.
	ReplaceBroken bool
}

// Folder is a folder of cassettes, which are read when asked for. It is safe for concurrent use.
type Folder struct {
	dir  string
	mode Mode
	opts Options
	blur blur // of this recording

	mu      sync.Mutex
	made    map[Key]bool // stored by this Folder
	flights map[Key]*flight
	broken  []string // files kept beside, with what is wrong
}

// suffix is the ending of the files; what has another is passed over.
const suffix = ".json"

// Open returns the cassettes of a folder. To replay the folder must exist, to
// record it is made.
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
	return &Folder{dir: dir, mode: mode, opts: opts, blur: newBlur(), made: map[Key]bool{}, flights: map[Key]*flight{}}, nil
}

// path returns the file of a call.
func (f *Folder) path(k Key) string { return filepath.Join(f.dir, k.String()+suffix) }

// Load returns the cassette of a call, or ErrMissing; any other error names the file and what to do.
func (f *Folder) Load(call Call) (*Cassette, error) {
	c, err := f.find(call)
	if err == nil && c == nil {
		err = f.missing(call)
	}
	return c, err
}

// find is Load that returns nil without an error when there is none.
func (f *Folder) find(call Call) (*Cassette, error) {
	k := call.Key()
	path := f.path(k)
	c, err := read(path, k)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, ErrBroken) && f.opts.ReplaceBroken && f.mode == RecordMissing {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cassette %s: %w", path, err)
	}
	c.Call = call
	return c, nil
}

// Has reports whether Do answers a call from the folder without making it. A file
// that cannot be read counts as stored: Do returns the error.
func (f *Folder) Has(call Call) bool {
	c, err := f.there(call)
	return c != nil || err != nil && !errors.Is(err, ErrMissing)
}

// Store writes a cassette, in the place of one of the same call: whole or not at all, whatever ends the program. A
// failure that every call would meet, such as a wrong key, is no cassette.
func (f *Folder) Store(c *Cassette) error {
	_, err := f.store(c)
	return err
}

// store is Store that returns the cassette as it will be read.
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
	if err := f.keepBroken(k); err != nil {
		return refused(err)
	}
	// What was paid for is kept, whatever has been interrupted meanwhile.
	if err := files.Write(context.Background(), f.path(k), func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return refused(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made[k] = true
	return stored, nil
}

// ErrBroken reports a file that holds no cassette, or not the one it is named by.
var ErrBroken = errors.New("the file is broken")

// brokenError is an error of a file, in its own words, that is ErrBroken.
type brokenError struct{ error }

func (e brokenError) Unwrap() error        { return e.error }
func (e brokenError) Is(target error) bool { return target == ErrBroken }

func broken(err error) error { return brokenError{err} }

// brokenSuffix ends the name of a file that is kept beside the one that replaces it.
const brokenSuffix = ".broken"

// keepBroken moves the broken file of a call out of the way, under a number where earlier ones are kept.
func (f *Folder) keepBroken(k Key) error {
	if !f.opts.ReplaceBroken || f.mode != RecordMissing {
		return nil
	}
	path := f.path(k)
	_, why := read(path, k)
	if !errors.Is(why, ErrBroken) {
		return nil
	}
	beside := path + brokenSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(beside); errors.Is(err, os.ErrNotExist) {
			break
		}
		beside = fmt.Sprintf("%s%s-%d", path, brokenSuffix, n)
	}
	if err := os.Rename(path, beside); err != nil {
		return fmt.Errorf("keep the broken file beside the new one: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = append(f.broken, fmt.Sprintf("%s: %v", beside, why))
	return nil
}

// Broken returns the files that were replaced, each with its present name and what is
// wrong with it, ordered by name.
func (f *Folder) Broken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.broken))
}

// Ask makes a call.
type Ask = func(context.Context) (*Cassette, error)

// flight is a call under way, for which others wait.
type flight struct {
	done chan struct{}
	c    *Cassette
	err  error
}

// errPanicked is what those get who wait for a call whose maker panicked.
var errPanicked = errors.New("the call that was waited for panicked")

// Do returns the cassette of a call, and true when it was there already; else,
// unless the folder is only replayed, ask makes it, and what that returns is
// stored: whatever was paid for is on disk when Do returns. Of several that want
// a call at once one asks and the others get the same. The Call of what ask
// returns is set to call; the cassette that Do returns is what a replay gives,
// with filler for texts that are withheld.
//
// What ask returns an error for is not stored, nor is a failure that every call
// would meet, which is the error then.
func (f *Folder) Do(ctx context.Context, call Call, ask Ask) (*Cassette, bool, error) {
	k := call.Key()
	for {
		own, other := f.board(k)
		if other == nil {
			return f.fly(ctx, own, call, ask)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		switch {
		case other.err == nil:
			return other.c, true, nil
		case ctx.Err() == nil && (errors.Is(other.err, context.Canceled) || errors.Is(other.err, context.DeadlineExceeded)):
			continue // only the other was told to stop
		}
		return nil, false, other.err
	}
}

// board returns a flight of one's own, or another's under way.
func (f *Folder) board(k Key) (own, other *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.flights[k]; other != nil {
		return nil, other
	}
	own = &flight{done: make(chan struct{}), err: errPanicked}
	f.flights[k] = own
	return own, nil
}

// fly makes the call of a flight and wakes those who wait.
func (f *Folder) fly(ctx context.Context, own *flight, call Call, ask Ask) (c *Cassette, there bool, err error) {
	defer func() {
		f.mu.Lock()
		delete(f.flights, call.Key())
		f.mu.Unlock()
		close(own.done)
	}()
	c, err = f.there(call)
	if there = c != nil; !there && err == nil {
		c, err = f.record(ctx, call, ask)
	}
	own.c, own.err = c, err
	return c, there, err
}

// there returns the cassette that answers a call in the folder's mode, nil for one to be made. RecordMissing
// repeats a passing failure once in the Folder's life.
func (f *Folder) there(call Call) (*Cassette, error) {
	if f.mode == Replay {
		return f.Load(call)
	}
	f.mu.Lock()
	made := f.made[call.Key()]
	f.mu.Unlock()
	if f.mode == Record && !made {
		return nil, nil
	}
	c, err := f.find(call)
	if c != nil && c.Failure != nil && c.Failure.Passing() && f.mode == RecordMissing && !made {
		return nil, nil
	}
	return c, err
}

// record has a call made and stores it.
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
