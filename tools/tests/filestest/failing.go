// Package filestest has a file system that fails, for tests of code that writes files.
package filestest

import (
	"io/fs"
	"os"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// Failing is the host's file system, in which operation number At fails with
// Err: opening, writing (half of which is done), syncing, changing the mode,
// closing, renaming, removing, making a folder. It is safe for concurrent use.
type Failing struct {
	At   int   // 1 is the first operation, 0 none
	Err  error // what the operation returns
	Dead bool  // all later operations fail too and do nothing, as after a kill

	mu   sync.Mutex
	ops  int
	last string
}

// Ops returns the number of operations, and the one that failed.
func (s *Failing) Ops() (n int, failed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ops, s.last
}

// fails counts an operation and reports whether it must fail.
func (s *Failing) fails(op, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops++
	if s.ops == s.At {
		s.last = op + " " + name
		return true
	}
	return s.Dead && s.At > 0 && s.ops > s.At
}

func (s *Failing) err(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: s.Err}
}

// Mkdir implements files.System.
func (s *Failing) Mkdir(name string, perm fs.FileMode) error {
	if s.fails("mkdir", name) {
		return s.err("mkdir", name)
	}
	return os.Mkdir(name, perm)
}

// Rename implements files.System.
func (s *Failing) Rename(from, to string) error {
	if s.fails("rename", to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: s.Err}
	}
	return os.Rename(from, to)
}

// Remove implements files.System.
func (s *Failing) Remove(name string) error {
	if s.fails("remove", name) {
		return s.err("remove", name)
	}
	return os.Remove(name)
}

// OpenFile implements files.System.
func (s *Failing) OpenFile(name string, flag int, perm fs.FileMode) (files.File, error) {
	if s.fails("open", name) {
		return nil, s.err("open", name)
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{f, s}, nil
}

type file struct {
	*os.File
	s *Failing
}

func (f *file) Write(p []byte) (int, error) {
	if f.s.fails("write", f.Name()) {
		n := 0
		if f.s.last == "write "+f.Name() { // half of it: the disk is full
			n, _ = f.File.Write(p[:len(p)/2])
		}
		return n, f.s.err("write", f.Name())
	}
	return f.File.Write(p)
}

func (f *file) Sync() error {
	if f.s.fails("sync", f.Name()) {
		return f.s.err("sync", f.Name())
	}
	return f.File.Sync()
}

func (f *file) Chmod(mode fs.FileMode) error {
	if f.s.fails("chmod", f.Name()) {
		return f.s.err("chmod", f.Name())
	}
	return f.File.Chmod(mode)
}

// Close closes the host's file even when it fails, as an operating system does.
func (f *file) Close() error {
	err := f.File.Close()
	if f.s.fails("close", f.Name()) {
		return f.s.err("close", f.Name())
	}
	return err
}
