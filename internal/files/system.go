// Package files reads and writes files so that nothing is lost and nothing blocks: what is
// written is there whole or not at all, also when the disk is full or the program is
// killed; what is read is a regular file.
package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// System is what writing needs of a file system. The functions have the meaning and the
// errors of those of package os.
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

// With returns a context under which files are written to another file system than the
// host's. Tests write to one that fails.
func With(ctx context.Context, s System) context.Context {
	return context.WithValue(ctx, systemKey{}, s)
}

// system returns the file system of a context.
func system(ctx context.Context) System {
	if s, ok := ctx.Value(systemKey{}).(System); ok {
		return s
	}
	return host{}
}

// Unsynced returns a context under which files need not be on the disk when they have taken
// their places: many small ones that can be made again, such as generated sessions.
func Unsynced(ctx context.Context) context.Context { return With(ctx, unsynced{system(ctx)}) }

type unsynced struct{ System }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := u.System.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ File }

func (unsyncedFile) Sync() error { return nil }

// makeFolder makes a folder and those above it, and returns those that it made, the
// outermost first.
func makeFolder(s System, dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	if to, err := os.Readlink(dir); err == nil { // a link to a folder that is not there yet
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

// syncFolder has the entries of a folder written to the disk. Windows has no such call, and
// some file systems refuse it for folders.
func syncFolder(s System, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := s.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, errInvalid) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// removeTree removes a folder of ours and all in it, through s.
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

// gone passes over the error of removing what is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
