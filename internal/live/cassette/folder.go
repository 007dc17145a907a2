package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Mode says what a folder does about calls that it does not have.
type Mode uint8

// The modes of a folder.
const (
	Replay        Mode = iota // a call that is not stored is an error: nothing is asked of a server
	Record                    // every call is made anew, once in the life of the Folder
	RecordMissing             // a call that is not stored is made, and one that failed for a passing reason
)

var modeNames = [...]string{"replay", "record", "record-missing"}

// String returns the name that ParseMode takes.
func (m Mode) String() string { return modeNames[min(int(m), len(modeNames)-1)] }

// ParseMode returns the mode of a name: replay, record or record-missing.
func ParseMode(name string) (Mode, error) {
	if i := slices.Index(modeNames[:], name); i >= 0 {
		return Mode(i), nil
	}
	return 0, fmt.Errorf("unknown mode %q of cassettes; known: %s", name, strings.Join(modeNames[:], ", "))
}

// Options say how cassettes are written. The zero value keeps all texts.
type Options struct {
	// Redact withholds the texts of requests and answers: sizes and digests stand
	// for them. The calls of the run that records get the same filler as those of
	// one that replays, and send it on: a later call has it where the summary
	// before stood. A digest lets who has a text tell that it was this one.
	Redact bool
	// Keep are strings that Redact leaves in answers besides the tags of analysis
	// and summary: the titles of sections, for instance, which an answer repeats
	// from the instruction.
	Keep []string
	// ReplaceBroken has a call made anew whose file cannot be read, when what is
	// missing is recorded: the file is kept beside, under another ending.
	ReplaceBroken bool
}

// Folder is a folder of cassettes. It is safe for concurrent use. Cassettes are
// read when they are asked for and not held.
type Folder struct {
	dir  string
	mode Mode
	opts Options

	mu      sync.Mutex
	used    map[Key]bool
	made    map[Key]bool // stored by this Folder
	flights map[Key]*flight
	index   []indexed // of all files, made at the first miss
	broken  []Problem // that were kept beside
}

// suffix is the ending of the files; what has another is passed over.
const suffix = ".json"

// maxFile is the longest file that is read, bytes: a cassette has some kilobytes.
const maxFile = 64 << 20

// Open returns the cassettes of a folder. To replay the folder must exist, to
// record it is made.
func Open(dir string, mode Mode, opts Options) (*Folder, error) {
	if int(mode) >= len(modeNames) {
		return nil, fmt.Errorf("cassettes: unknown mode %d", mode)
	}
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
	return &Folder{dir: dir, mode: mode, opts: opts, used: map[Key]bool{}, made: map[Key]bool{}, flights: map[Key]*flight{}}, nil
}

// Mode returns the mode the folder was opened with.
func (f *Folder) Mode() Mode { return f.mode }

// path returns the file of a call.
func (f *Folder) path(k Key) string { return filepath.Join(f.dir, k.String()+suffix) }

// Load returns the cassette of a call. The error is a *MissingError, which is
// ErrMissing, when there is none; any other names the file and what to do.
func (f *Folder) Load(call Call) (*Cassette, error) {
	c, err := f.find(call)
	if err == nil && c == nil {
		err = f.missing(call)
	}
	return c, err
}

// find is Load that returns nil without an error when there is none.
func (f *Folder) find(call Call) (*Cassette, error) {
	c, err := f.look(call)
	if c != nil {
		f.note(call.Key(), false)
	}
	return c, err
}

// look is find that does not count as a use.
func (f *Folder) look(call Call) (*Cassette, error) {
	k := call.Key()
	path := f.path(k)
	got, err := readForm(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c *Cassette
	if err == nil {
		c, err = got.of(k)
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

// Has reports whether a call is stored and answered from there: Do has none made
// of which Has says so, whatever that costs. A file that cannot be read is there:
// it is an error of Do.
func (f *Folder) Has(call Call) bool {
	made := f.madeHere(call.Key())
	if f.mode == Record && !made {
		return false
	}
	c, err := f.look(call)
	return err != nil || c != nil && !f.again(c, made)
}

// again reports whether a stored call is made once more: one that failed for a
// reason that may be gone, when what is missing is recorded, once in the life of
// the Folder.
func (f *Folder) again(c *Cassette, made bool) bool {
	return f.mode == RecordMissing && c.passing() && !made
}

func (f *Folder) note(k Key, made bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used[k] = true
	if made {
		f.made[k] = true
		f.index = nil
	}
}

func (f *Folder) madeHere(k Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made[k]
}

// of returns the cassette of a file that is named by a key.
func (f *form) of(k Key) (*Cassette, error) {
	if f.Key != k {
		return nil, broken(fmt.Errorf("it holds the call %s and not the one it is named by: give it its name back, or delete it", f.Key))
	}
	c, err := f.cassette()
	if err != nil {
		return nil, broken(fmt.Errorf("%w: delete it and record the call again", err))
	}
	return c, nil
}

// readForm reads a file.
func readForm(path string) (*form, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file: move it away")
	case info.Size() > maxFile:
		return nil, broken(fmt.Errorf("it has %d bytes, and a cassette at most %d: delete it and record the call again", info.Size(), maxFile))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	got, err := decode(b)
	if err != nil {
		return nil, broken(err)
	}
	return got, nil
}

// Store writes a cassette, in the place of one of the same call. The file is
// there as a whole or not at all, whatever ends the program. A failure that
// every call would meet, a wrong key for instance, is no cassette.
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
		file.redact(f.opts.Keep)
	}
	b, err := file.encode()
	if err != nil {
		return refused(err)
	}
	again, err := decode(b)
	if err != nil {
		return refused(err)
	}
	stored, err := again.of(k)
	if err != nil {
		return refused(err)
	}
	stored.Call = c.Call
	if err := f.keepBroken(k); err != nil {
		return refused(err)
	}
	if err := writeWhole(f.path(k), b); err != nil {
		return refused(err)
	}
	f.note(k, true)
	return stored, nil
}

// writeWhole writes a file beside its place and moves it there.
func writeWhole(path string, b []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimSuffix(filepath.Base(path), suffix)+"-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// passing reports whether a call failed for a reason that may be gone.
func (c *Cassette) passing() bool { return c.Failure != nil && c.Failure.Passing() }
