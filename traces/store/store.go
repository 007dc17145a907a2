// Package store keeps data computed from files for the next run, in a folder that may be removed at
// any moment: an entry that is missing, damaged, or from another program is computed again, from files that must still be there.
//
// An entry is a value in the form that its type has in memory, under a digest of its own. It has the name of a key,
// the layout of the type, and the version of what computed it, so that a program does not read what another one, or an
// earlier state of itself, has computed otherwise. A type that says its version has that one, whatever the program; the version of all other types is
// the program, known by the size and the time of its file. Entries are written beside their place and renamed: any number of programs may use a folder.
package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// Limit is the largest size of a folder, bytes: sessions take about 3 % of
// their recordings. The least recently used entries are removed first.
const Limit = 1 << 30

const (
	suffix    = ".entry"
	temporary = "new-*"
	digestLen = 16
	// used is the resolution of the time at which an entry was last used.
	used = time.Hour
)

// Store is a folder of entries. It is safe for concurrent use.
type Store struct {
	dir     string
	program string
	forms   forms
	buffers sync.Pool // *[]byte

	mu      sync.Mutex
	known   map[reflect.Type]kind // how values are kept, by the type of a pointer to them
	written bool
	err     error // of the first entry that could not be written
}

// buffer returns a buffer of n bytes, which goes back to buffers.
func (s *Store) buffer(n int) *[]byte {
	b, ok := s.buffers.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return b
}

// kind is how values of a type are kept.
type kind struct {
	form
	layout  string
	version string // "" for the program's
	err     error
}

// Versioned is a type, used through a pointer, whose entries depend on less than the whole program.
type Versioned interface {
	// StoreVersion returns the version of what computes the values, the same for all values of the type. Programs that
	// have the same one read each other's entries. "" stands for a version that is not known: the program's.
	StoreVersion() string
}

// Open returns the store in a folder, which is made when the first entry is
// written. types are pointers to the types that interfaces in entries may hold.
func Open(dir string, types ...any) (*Store, error) {
	s := &Store{dir: dir, known: map[reflect.Type]kind{}}
	for _, p := range types {
		s.forms.types = append(s.forms.types, reflect.TypeOf(p))
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("keep parsed sessions: %w", err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		return nil, fmt.Errorf("keep parsed sessions: %w", err)
	}
	s.program = fmt.Sprint(runtime.GOARCH, info.Size(), info.ModTime().UnixNano())
	return s, nil
}

// Share names the program, so that its copies on several machines can share the folder, as jobs of cmd/sim-beam do.
func (s *Store) Share(program string) { s.program = runtime.GOARCH + program }

// kind returns the form of values of the type that a pointer type points to.
func (s *Store) kind(t reflect.Type) kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[t]
	if !ok {
		k.layout = s.forms.layout(t)
		k.form, k.err = s.forms.of(t.Elem())
		if v, ok := reflect.New(t.Elem()).Interface().(Versioned); ok {
			k.version = v.StoreVersion()
		}
		s.known[t] = k
	}
	return k
}

// name returns the file of a key, and the seed of the entry's digest, so that an entry under the name of another one is none.
func (s *Store) name(key string, k kind) (file string, seed uint64) {
	h := xxh3.HashString128(cmp.Or(k.version, s.program) + "\x00" + k.layout + "\x00" + key)
	return filepath.Join(s.dir, fmt.Sprintf("%x%s", h.Bytes(), suffix)), h.Lo
}

// Get reads the entry of a key into the value that into points to, and reports whether there was a valid one.
func (s *Store) Get(key string, into any) bool { return s.read(key, reflect.ValueOf(into)) == nil }

var errDigest = errors.New("the entry is not what was written")

func (s *Store) read(key string, v reflect.Value) error {
	k := s.kind(v.Type())
	if k.err != nil {
		return k.err
	}
	name, seed := s.name(key, k)
	in, err := files.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() > Limit {
		return errDigest
	}
	text := s.buffer(int(info.Size()))
	defer s.buffers.Put(text)
	if n, err := in.ReadAt(*text, 0); n < len(*text) {
		return err
	}
	err = k.open(*text, seed, v)
	if now := time.Now(); err == nil && now.Sub(info.ModTime()) > used {
		_ = os.Chtimes(name, now, now) // a user with read access only cannot set the time
	}
	return err
}

// open reads the value that was sealed in a text.
func (k *kind) open(text []byte, seed uint64, into reflect.Value) error {
	if len(text) < digestLen || xxh3.Hash128Seed(text[digestLen:], seed).Bytes() != [digestLen]byte(text) {
		return errDigest
	}
	left := &input{rest: text[digestLen:]}
	if k.get(left, into.UnsafePointer()); left.err == nil && len(left.rest) > 0 {
		left.err = errDigest
	}
	return left.err
}

// seal returns a value preceded by its digest.
func (k *kind) seal(from reflect.Value, seed uint64) []byte {
	text := k.put(make([]byte, digestLen, 64<<10), from.UnsafePointer())
	sum := xxh3.Hash128Seed(text[digestLen:], seed).Bytes()
	copy(text, sum[:])
	return text
}

// Put writes the value that from points to as the entry of a key, and reports whether it could. Close reports errors of
// writing.
func (s *Store) Put(key string, from any) bool {
	s.mu.Lock()
	failed := s.err != nil
	s.mu.Unlock()
	if failed {
		return false
	}
	err := s.write(key, reflect.ValueOf(from))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written, s.err = s.written || err == nil, cmp.Or(s.err, err)
	return err == nil
}

func (s *Store) write(key string, v reflect.Value) error {
	k := s.kind(v.Type())
	if k.err != nil {
		return k.err
	}
	name, seed := s.name(key, k)
	text := k.seal(v, seed)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(s.dir, temporary) // with permissions 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(tmp.Name()))
	}
	return err
}

// Close removes the least recently used entries if the folder exceeds Limit,
// and returns the first error of writing.
func (s *Store) Close() error {
	if !s.written {
		return s.err
	}
	return cmp.Or(s.err, trim(s.dir, Limit))
}

// Entry is one entry of a folder.
type Entry struct {
	Name  string
	Bytes int64
	Used  time.Time // within an hour
}

// List returns the entries of a folder, least recently used first; none for a missing folder.
func List(dir string) ([]Entry, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pattern, _, _ := strings.Cut(temporary, "*")
	var list []Entry
	for _, e := range found {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() { // another program has removed it
			continue
		}
		if left := strings.HasPrefix(e.Name(), pattern) && time.Since(info.ModTime()) > used; left || strings.HasSuffix(e.Name(), suffix) {
			list = append(list, Entry{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(x, y Entry) int { return cmp.Or(x.Used.Compare(y.Used), strings.Compare(x.Name, y.Name)) })
	return list, nil
}

// Clean removes all entries of a folder, and the folder if nothing else is in it.
func Clean(dir string) error {
	if err := trim(dir, 0); err != nil {
		return err
	}
	_ = os.Remove(dir) // it may hold other files
	return nil
}

// trim removes entries until a folder is smaller than limit by some margin.
func trim(dir string, limit int64) error {
	list, err := List(dir)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, e := range list {
		total += e.Bytes
	}
	if limit > 0 && total <= limit {
		return nil
	}
	for _, e := range list {
		if total <= limit/10*9 && limit > 0 {
			break
		}
		if err := os.Remove(e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= e.Bytes
	}
	return nil
}

// Key makes a key of parts.
func Key(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return string(b)
}
