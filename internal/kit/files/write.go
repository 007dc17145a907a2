package files

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Write writes a file completely or not at all: into a temporary file beside it that
// finally takes its name. A link stays a link, an existing file keeps its permissions,
// and what is no file (a device, a pipe) is written to directly. Errors name the file.
func Write(ctx context.Context, name string, write func(io.Writer) error) error {
	target, mode := name, fs.FileMode(0)
	sweep(system(ctx), filepath.Dir(name), "."+filepath.Base(name)+temporary)
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a folder", name)
	case err == nil && !info.Mode().IsRegular():
		err = writeThrough(system(ctx), name, write)
	case err == nil:
		mode = info.Mode().Perm()
		if target, err = filepath.EvalSymlinks(name); err == nil {
			err = replace(system(ctx), target, mode, write)
		}
	default:
		if _, linked := os.Readlink(name); linked == nil { // a link to a missing file
			err = writeThrough(system(ctx), name, write)
		} else {
			err = replace(system(ctx), target, mode, write)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// New writes a file that must not exist yet (else errors.Is reports fs.ErrExist),
// completely or not at all. A perm of 0 stands for the user's default for new files.
func New(ctx context.Context, name string, perm fs.FileMode, write func(io.Writer) error) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("write %s: %w", name, fs.ErrExist)
	}
	if err := replace(system(ctx), name, perm, write); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// replace renames a new file over target. A mode of 0 stands for the user's
// default permissions.
func replace(s System, target string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, base := filepath.Dir(target), filepath.Base(target)
	name := filepath.Join(dir, "."+base+temporary+random())
	tmp, err := s.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return cause(err)
	}
	err = finish(tmp, func(w io.Writer) error {
		err := write(w)
		if err == nil && mode != 0 {
			err = tmp.Chmod(mode)
		}
		return err
	})
	if err == nil {
		err = cause(s.Rename(name, target))
	}
	if err != nil {
		_ = s.Remove(name) // the first error is reported
		return err
	}
	return cause(syncFolder(s, dir))
}

// finish writes a file, syncs its content to the disk and closes it.
func finish(f File, write func(io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = cause(f.Sync())
	}
	return errors.Join(err, cause(f.Close()))
}

// writeThrough writes to the device, pipe or link with a name without replacing it.
func writeThrough(s System, name string, write func(io.Writer) error) error {
	w, err := s.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return cause(err)
	}
	return errors.Join(write(w), cause(w.Close()))
}

// temporary is in the names of files and folders that are not complete.
const temporary = ".sim-new-"

// random returns what makes the name of a temporary file its own: the machine and the process that write it, and a number.
func random() string { return fmt.Sprintf("%s%08x%08x", machine(), os.Getpid(), rand.Uint32()) }

// machine returns four digits that tell machines apart which write to one folder.
var machine = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without one, all are taken for one machine
	h := fnv.New32()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("%04x", h.Sum32()&0xffff)
})

// abandoned is the age at which no program is writing a temporary file any more that another machine has begun.
const abandoned = 24 * time.Hour

// sweep removes what a killed program left in a folder under names with a prefix: what a process of this machine began that has ended,
// and what is old.
func sweep(s System, dir, prefix string) {
	entries, _ := os.ReadDir(dir) // a folder that cannot be listed is not ours to clean
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		id, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || len(id) != len(random()) && len(id) != oldRandom {
			continue
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < abandoned && !ended(id) {
			continue
		}
		if e.IsDir() {
			_ = removeTree(s, path) // the next write tries again
		} else if e.Type().IsRegular() {
			_ = s.Remove(path)
		}
	}
}

// oldRandom is how long the names of temporary files were that do not say who writes them.
const oldRandom = 8

// ended reports whether a process of this machine, in the name of a temporary file, has ended.
func ended(id string) bool {
	of, ok := strings.CutPrefix(id, machine())
	if !ok || len(id) != len(random()) {
		return false
	}
	pid, err := strconv.ParseUint(of[:8], 16, 32)
	if err != nil || pid == 0 {
		return false
	}
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return true // Windows has none of this number
	}
	err = errors.Join(p.Signal(syscall.Signal(0)), p.Release())
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// cause returns the system's error for a file without the path, which may be the temporary file's;
// Write names the right one.
func cause(err error) error {
	path, link := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
