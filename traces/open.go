package traces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/endings"
)

// ErrNoSessions is wrapped by the error of paths that hold no session.
var ErrNoSessions = errors.New("no sessions")

// ErrNoCalls is the error of a corpus without calls. It wraps ErrNoSessions.
var ErrNoCalls = fmt.Errorf("%w with calls", ErrNoSessions)

// Input is one recording: a file, or standard input spooled to one.
type Input struct {
	Name string // as shown to people: the path given and what was found below it, "-" for standard input
	// Maybe says that the file was found in a folder by an ending such as .json: it is no
	// Problem if it turns out to be no recording.
	Maybe bool
	path  string
	fsys  fs.FS    // nil for the file system of the host
	spool *os.File // standard input, without a name in any folder
}

// Path returns where the file lies on the host, "" if it is no file of the host.
func (in Input) Path() string {
	if in.fsys != nil || in.spool != nil {
		return ""
	}
	return in.path
}

// Stamp identifies the content of a file without reading the whole file: by its path, size, times of change, and both ends. Where the system knows
// only the time of the content, an edit between the ends that keeps size and time is not seen.
type Stamp struct {
	Path       string // absolute; "" when it is no file of the host or cannot be read
	Size       int64
	Time       int64 // of the last change, unix ns
	Head, Tail prompt.Digest
}

// stamped is how much of both ends of a file is in its stamp, bytes.
const stamped = 4 << 10

// Stamp returns the stamp of the file.
func (in Input) Stamp() Stamp {
	if in.fsys != nil || in.spool != nil {
		return Stamp{}
	}
	f, err := files.Open(in.path)
	if err != nil {
		return Stamp{}
	}
	defer f.Close()
	info, err := f.Stat()
	path, absErr := filepath.Abs(in.path)
	if err != nil || absErr != nil {
		return Stamp{}
	}
	s := Stamp{Path: path, Size: info.Size(), Time: info.ModTime().UnixNano()}
	var ends [2]prompt.Digest
	buf := make([]byte, min(stamped, info.Size()))
	for i, at := range [...]int64{0, info.Size() - int64(len(buf))} {
		if n, _ := f.ReadAt(buf, at); n < len(buf) {
			return Stamp{}
		}
		ends[i] = prompt.DigestBytes(buf)
	}
	s.Head, s.Tail = ends[0], ends[1].ExtendInt(changed(info))
	if log, err := os.Stat(in.path + "-wal"); err == nil { // of a database: what was written last is there
		s.Tail = s.Tail.ExtendInt(uint64(log.Size())).ExtendInt(uint64(log.ModTime().UnixNano()))
	}
	return s
}

// changed returns when a system last changed a file or its entry, in ns since the epoch: an edit that puts the time of the content back
// changes it. 0 where the system tells none, as on Windows.
func changed(info fs.FileInfo) uint64 {
	known := reflect.Indirect(reflect.ValueOf(info.Sys()))
	for _, name := range []string{"Ctim", "Ctimespec"} { // of Linux and the BSDs, of macOS and FreeBSD
		if known.Kind() != reflect.Struct {
			break
		}
		if at := known.FieldByName(name); at.Kind() == reflect.Struct && at.NumField() > 1 {
			return uint64(at.Field(0).Int()*1e9 + at.Field(1).Int())
		}
	}
	return 0
}

// Inputs are the recordings found under some paths, ordered by name.
type Inputs struct {
	Files    []Input
	Problems []Problem // folders that could not be read, links that could not be followed
	Dangling int       // of these, links: what they stood for is not among the recordings
	// Passed counts files beside recordings by their endings, as ".zip", that may hold
	// recordings in a form that is not read.
	Passed map[string]int
	spool  *os.File
}

// Close removes the spooled standard input, if there is one.
func (in *Inputs) Close() error {
	if in.spool == nil {
		return nil
	}
	f := in.spool
	in.spool = nil
	err := f.Close()
	if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Find lists the recordings under paths: files as they are named, folders
// recursively by suffix, "-" as standard input. Symbolic links are followed,
// each file and folder is visited once. It is an error when a path does not
// exist or is no regular file, or when a folder holds nothing that looks like a recording.
func Find(ctx context.Context, opts Options, paths ...string) (*Inputs, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path given")
	}
	f := finder{ctx: ctx, in: &Inputs{}, dirs: map[string]bool{}, files: map[string]int{}}
	sorted := slices.Sorted(slices.Values(paths))
	for _, p := range slices.Compact(sorted) {
		if err := f.add(opts, p); err != nil {
			f.in.Close()
			return nil, err
		}
	}
	slices.SortFunc(f.in.Files, func(a, b Input) int { return strings.Compare(a.Name, b.Name) })
	return f.in, nil
}

// FindFS lists the recordings in a file system, an embedded one for instance.
func FindFS(fsys fs.FS) (*Inputs, error) {
	in := &Inputs{}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.Problems = append(in.Problems, Problem{File: path, Text: "folder cannot be read: " + reason(err)})
		case d.IsDir():
		case in.pass(d.Name()):
		case endings.Recording(d.Name()):
			in.Files = append(in.Files, Input{Name: path, Maybe: endings.In(path, endings.Documents[:]), path: path, fsys: fsys})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing recordings: %w", err)
	}
	if len(in.Files)+len(in.Problems) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoSessions, endings.LookedFor())
	}
	return in, nil
}

// finder remembers real paths, so that links and overlapping arguments do not
// read a file twice or walk in circles.
type finder struct {
	ctx   context.Context
	in    *Inputs
	dirs  map[string]bool
	files map[string]int
}

// dropName returns the cause of a file error, without the name that precedes it.
func dropName(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func (f *finder) add(opts Options, path string) error {
	if path == "-" {
		return f.spoolStdin(opts.Stdin)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, dropName(err))
	}
	if !info.IsDir() {
		if err := files.Regular(path, info); err != nil {
			return fmt.Errorf("%w, and - for standard input", err)
		}
		f.file(path, realOf(path), false)
		return nil
	}
	found := f.walk(path, realOf(path))
	if err := f.ctx.Err(); err != nil {
		return fmt.Errorf("listing recordings: %w", err)
	}
	if found == 0 {
		why := ""
		if n := len(f.in.Problems); n > 0 {
			why = "; last problem: " + f.in.Problems[n-1].String()
		}
		if text := f.in.PassedText(); text != "" {
			why += "; " + text
		}
		return fmt.Errorf("%s: %w: %s%s", path, ErrNoSessions, endings.LookedFor(), why)
	}
	return nil
}

// realOf returns a path without links, or the path itself when they cannot be followed.
func realOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// walk adds the recordings below dir, whose path without links is real, and returns how
// many lie there, those known already and folders that cannot be read included.
func (f *finder) walk(dir, real string) int {
	found, err := f.readDir(dir, real)
	if err != nil {
		f.in.Problems = append(f.in.Problems, Problem{File: dir, Text: "folder cannot be read: " + reason(err)})
		return 1
	}
	return found
}

func (f *finder) readDir(dir, real string) (int, error) {
	if seen := f.dirs[real]; seen {
		return 1, nil
	}
	f.dirs[real] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	found := 0
	for _, e := range entries {
		if f.ctx.Err() != nil { // add tells
			return found, nil
		}
		path, at := filepath.Join(dir, e.Name()), filepath.Join(real, e.Name())
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				f.in.Problems = append(f.in.Problems, Problem{File: path, Text: "link cannot be followed: " + reason(err)})
				f.in.Dangling++
				continue
			}
			isDir, at = info.IsDir(), realOf(path)
		}
		switch {
		case isDir:
			found += f.walk(path, at)
		case f.in.pass(e.Name()):
		case endings.Recording(e.Name()):
			f.file(path, at, endings.In(path, endings.Documents[:]))
			found++
		}
	}
	return found, nil
}

// pass counts a file that is not read and reports whether it did.
func (in *Inputs) pass(name string) bool {
	kind := endings.PassedOver(name)
	if kind == "" || endings.Recording(name) && !strings.HasSuffix(name, ".tar.zst") {
		return false
	}
	if in.Passed == nil {
		in.Passed = map[string]int{}
	}
	in.Passed[kind]++
	return true
}

// PassedText says which files beside recordings are not read, "" for none.
func (in *Inputs) PassedText() string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(in.Passed)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", in.Passed[kind], kind))
	}
	if len(kinds) == 0 {
		return ""
	}
	return "files not read: " + strings.Join(kinds, ", ") + "; unpack them, or name files of JSON lines .jsonl"
}

// file adds a file once, by its path without links. Of several spellings the first in
// order is kept, so that the order of arguments does not show. Names have slashes on every system, as readers take them apart.
func (f *finder) file(path, real string, maybe bool) {
	if i, ok := f.files[real]; ok {
		known := &f.in.Files[i]
		known.Name, known.Maybe = min(known.Name, filepath.ToSlash(path)), known.Maybe && maybe
		return
	}
	f.files[real] = len(f.in.Files)
	f.in.Files = append(f.in.Files, Input{Name: filepath.ToSlash(path), Maybe: maybe, path: path})
}

func (f *finder) spoolStdin(r io.Reader) error {
	if r == nil {
		return errors.New("standard input is not available")
	}
	tmp, err := os.CreateTemp("", "sim-stdin-*.jsonl")
	if err != nil {
		return fmt.Errorf("spooling standard input: %w", err)
	}
	f.in.spool = tmp
	// Without a name, nothing of a conversation stays behind when the program is killed. Where a
	// file that is open keeps its name, Close removes it.
	_ = os.Remove(tmp.Name())
	if _, err = io.Copy(tmp, r); err != nil {
		return fmt.Errorf("spooling standard input: %w", err)
	}
	f.in.Files = append(f.in.Files, Input{Name: "-", spool: tmp})
	return nil
}

// reason is the cause of a file error without the path, which is shown anyway.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
