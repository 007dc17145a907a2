package live

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// Mode says how a folder handles calls that it does not have.
type Mode string

// The modes of a folder.
const (
	Replay Mode = "replay" // a call that is not recorded is an error; no server is called
	Make   Mode = "live"   // calls are made if they are not recorded, or failed for a passing reason
)

// ErrMissing is the error of a call that is not recorded.
var ErrMissing = errors.New("no recorded answer")

// Key names a call: the SHA-256 of its request's body, in hexadecimal digits.
type Key string

// keyOf returns the key of a request. The ordinal distinguishes repetitions of a failed call: the first, 0, has the
// SHA-256 of the body alone.
func keyOf(body []byte, ordinal uint8) Key {
	if ordinal > 0 {
		body = fmt.Appendf(body, "\nrepetition %d", ordinal)
	}
	return Key(fmt.Sprintf("%x", sha256.Sum256(body)))
}

// Record is one recorded call, the content of its file. It has no field for a key of a provider or a header.
type Record struct {
	Request Key `json:"request"` // the name of the file
	// Session to Round say, to people, where the call was first made.
	Session string    `json:"session"` // id of the recording
	Source  string    `json:"source"`  // as in prompt.Intent.Source
	Model   string    `json:"model"`   // the called model
	Thread  int32     `json:"thread"`  // of the session
	Round   int32     `json:"round"`   // of the thread
	Began   time.Time `json:"began"`
	Reply   Reply     `json:"reply"`
	Sum     string    `json:"sum"` // SHA-256 of the rest: a summary changed by hand has figures that nobody paid for
}

// form defines the JSON of records.
var form = json.JoinOptions(
	json.Deterministic(true), json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "),
	json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error { return json.MarshalEncode(e, int64(d)) })),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *time.Duration) error { return json.UnmarshalDecode(d, (*int64)(to)) })),
)

// words is a text of a model, which files hold as lines, because people read lines.
type words string

// MarshalJSONTo implements json.MarshalerTo.
func (w words) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, strings.Split(string(w), "\n"))
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *words) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var lines []string
	err := json.UnmarshalDecode(d, &lines)
	*w = words(strings.Join(lines, "\n"))
	return err
}

// sealed returns the file of a record, and its sum.
func (r Record) sealed() (file []byte, sum string, err error) {
	r.Sum = ""
	b, err := json.Marshal(r, form)
	if err != nil {
		return nil, "", err
	}
	r.Sum = fmt.Sprintf("%x", sha256.Sum256(b))
	b, err = json.Marshal(r, form)
	return append(b, '\n'), r.Sum, err
}

const remedy = "delete it and record the call again"

// decodeRecord reads the file of a record, and returns what is wrong with it.
func decodeRecord(b []byte, k Key) (*Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r, form); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("it is cut off: " + remedy)
		}
		return nil, fmt.Errorf("it is not as this version records calls (%w): %s", err, remedy)
	}
	_, sum, err := r.sealed()
	switch {
	case err != nil:
		return nil, err
	case r.Request != k:
		return nil, fmt.Errorf("it holds the call %.12s… and not the one it is named by: give it its name back, or delete it",
			r.Request)
	case sum != r.Sum:
		return nil, errors.New("its answer is not the one that was recorded: " + remedy)
	}
	return &r, nil
}

// Folder is a folder of recorded calls, which are read when needed. It is safe for concurrent use.
type Folder struct {
	dir  string
	mode Mode

	mu    sync.Mutex
	slots map[Key]*slot
}

// slot is a call that was requested.
type slot struct {
	sync.Mutex      // held while the call is searched or made
	made       bool // by this Folder
}

// old are the names of recordings of versions that found calls by the digests of what they sent.
var old = regexp.MustCompile(`^[0-9a-f]{32}\.json$`)

// OpenFolder returns the recorded calls of a folder. For replay the folder must exist; for recording it is made if
// missing.
func OpenFolder(dir string, mode Mode) (*Folder, error) {
	if mode != Replay {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder to record to: %w", err)
		}
	}
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s to replay: record one first, or name another", dir)
	}
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if old.MatchString(n.Name()) {
			return nil, fmt.Errorf("%s was recorded by an earlier version of sim, which this one cannot replay: "+
				"record the calls again into another folder", filepath.Join(dir, n.Name()))
		}
	}
	return &Folder{dir: dir, mode: mode, slots: map[Key]*slot{}}, nil
}

func (f *Folder) slot(k Key) *slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots[k] == nil {
		f.slots[k] = &slot{}
	}
	return f.slots[k]
}

func (f *Folder) path(k Key) string { return filepath.Join(f.dir, string(k)+".json") }

// maxRecord is the largest file that is read, bytes: a recorded call has some kilobytes.
const maxRecord = 64 << 20

// read returns a recorded call, nil if there is none.
func (f *Folder) read(k Key) (*Record, error) {
	path := f.path(k)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode().IsRegular() && info.Size() > maxRecord:
		return nil, fmt.Errorf("%s: it has %d bytes, more than a recorded call has: %s", path, info.Size(), remedy)
	}
	b, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	r, err := decodeRecord(b, k)
	if err != nil {
		return nil, fmt.Errorf("recorded call %s: %w", path, err)
	}
	return r, nil
}

// there returns the record that answers a call, nil if the call must be made. A passing failure is made again once in
// the Folder's life.
func (f *Folder) there(k Key, made bool) (*Record, error) {
	r, err := f.read(k)
	if r != nil && r.Reply.Failure != nil && r.Reply.Failure.Passing() && f.mode == Make && !made {
		return nil, nil
	}
	return r, err
}

// Has reports whether Do answers a call without making it. A file that cannot be read counts as recorded: Do returns
// the error.
func (f *Folder) Has(k Key) bool {
	s := f.slot(k)
	s.Lock()
	defer s.Unlock()
	r, err := f.there(k, s.made)
	return r != nil || err != nil
}

// Do returns a call, and true if it was recorded already. Otherwise, except for replay, ask makes it and the result is
// written: whatever was paid for is on disk when Do returns. If several want a call at once, one
// asks and all get the same result.
//
// If ask returns an error, nothing is written.
func (f *Folder) Do(ctx context.Context, k Key, ask func(context.Context) (*Record, error)) (*Record, bool, error) {
	s := f.slot(k)
	s.Lock()
	defer s.Unlock()
	r, err := f.there(k, s.made)
	switch {
	case r != nil:
		return r, true, err
	case err != nil:
		return nil, false, err
	case f.mode == Replay:
		return nil, false, ErrMissing
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	}
	if r, err = ask(ctx); err != nil {
		return nil, false, err
	}
	r.Request = k
	b, _, err := r.sealed()
	if err != nil {
		return nil, false, fmt.Errorf("record the call %s: %w", k, err)
	}
	// What was paid for is kept even after an interruption.
	err = files.Write(context.WithoutCancel(ctx), f.path(k), func(w io.Writer) error { _, err := w.Write(b); return err })
	if err != nil {
		return nil, false, fmt.Errorf("record the call %s: %w", k, err)
	}
	s.made = true
	r, err = decodeRecord(b, k) // as a replay reads it
	return r, false, err
}
