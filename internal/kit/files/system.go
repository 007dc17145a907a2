// Package files reads and writes files so that nothing is lost and nothing
// blocks: a file is written completely or not at all, even if the disk is full
// or the program is killed, and only regular files are read.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// System is the part of a file system that writing needs. The functions mean what their namesakes
// in package os mean, with the same errors.
type System interface {
	Mkdir(name string, perm fs.FileMode) error
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
}

// File is an open file, or a folder that is opened to be synced.
type File interface {
	io.WriteCloser
	Chmod(mode fs.FileMode) error
	Sync() error
}

// host is the file system of the operating system.
type host struct{}

func (host) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (host) Rename(from, to string) error              { return os.Rename(from, to) }
func (host) Remove(name string) error                  { return os.Remove(name) }
func (host) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	return os.OpenFile(name, flag, perm)
}

type systemKey struct{}

// With returns a context under which files are written to a file system other
// than the host's, for instance one that fails, for tests.
func With(ctx context.Context, s System) context.Context {
	return context.WithValue(ctx, systemKey{}, s)
}

func system(ctx context.Context) System {
	if s, ok := ctx.Value(systemKey{}).(System); ok {
		return s
	}
	return host{}
}

// Unsynced returns a context under which files need not be on the disk when they are in
// place, for many small ones that can be made again, such as generated sessions.
func Unsynced(ctx context.Context) context.Context { return With(ctx, unsynced{system(ctx)}) }

type unsynced struct{ System }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := u.System.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ File }

func (unsyncedFile) Sync() error { return nil }

// makeFolder makes a folder and its missing parents, and returns those that it
// made, the outermost first.
func makeFolder(s System, dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	if to, err := os.Readlink(dir); err == nil { // a link to a missing folder
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(dir), to)
		}
		return makeFolder(s, to)
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = makeFolder(s, parent); err != nil {
			return made, err
		}
	}
	if err := s.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return append(made, dir), nil
}

// syncFolder writes the entries of a folder to the disk. Windows has no such
// call, and some file systems refuse it for folders.
func syncFolder(s System, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := s.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// removeTree removes one of our folders with its content, through s.
func removeTree(s System, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() {
			errs = append(errs, removeTree(s, path))
		} else {
			errs = append(errs, gone(s.Remove(path)))
		}
	}
	return errors.Join(append(errs, gone(s.Remove(dir)))...)
}

// gone ignores the error of removing what does not exist.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ErrNoFile is wrapped by the error of a name that is no regular file: a FIFO, a device, a socket,
// or a link to one. Opening one may block for ever, and reading one may never end.
var ErrNoFile = errors.New("only regular files are read")

// Open opens a regular file, without blocking. A file that WriteAll left in a
// journal is found under its own name.
func Open(name string) (*os.File, error) {
	path := Path(name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	if err := Regular(name, info); err != nil {
		return nil, err
	}
	// Between the check and the opening another file may have taken the name.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Regular(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Regular returns an error that wraps ErrNoFile unless info describes a regular file.
func Regular(name string, info fs.FileInfo) error {
	var kind string
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	default:
		kind = "special file"
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is a %s: %w", kind, ErrNoFile)}
}

// maxText is the largest file that is read as a whole, bytes: settings, prices,
// profiles and keys are far smaller.
const maxText = 64 << 20

// Read returns the content of a regular file of at most 64 MiB.
func Read(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d MiB", maxText>>20)}
	}
	return text, err
}
