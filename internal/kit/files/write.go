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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/compactsim/compactsim/internal/kit/parallel"
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

// replace renames a new file over target. A mode of 0 stands for the user's default permissions.
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

// finish writes a file, syncs its content to the disk and closes it. The error is the first one.
func finish(f File, write func(io.Writer) error) error {
	err := write(unnamed{f})
	if err == nil {
		err = cause(f.Sync())
	}
	if closed := cause(f.Close()); err == nil {
		err = closed
	}
	return err
}

// unnamed is a file whose errors do not name it, as nobody has asked for a file of a temporary name.
type unnamed struct{ io.Writer }

func (u unnamed) Write(p []byte) (int, error) {
	n, err := u.Writer.Write(p)
	return n, cause(err)
}

// writeThrough writes to the device, pipe or link with a name without replacing it.
func writeThrough(s System, name string, write func(io.Writer) error) error {
	w, err := s.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return cause(err)
	}
	err = write(unnamed{w})
	if closed := cause(w.Close()); err == nil {
		err = closed
	}
	return err
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

// Member is one of several files that are written together.
type Member struct {
	Name  string                // below the folder
	Write func(io.Writer) error // called while others are
}

// journal is the folder of complete files that are to be moved to their places. A folder of new files becomes the
// journal by one rename: until then the old files are valid, from then on the new ones.
const journal = ".sim-journal"

// planFile says in a journal what is left to do besides renaming: the name that
// comes last, followed by the names to remove, one per line.
const planFile = ".plan"

// WriteAll writes files into a folder, which it makes if missing. Whatever happens, including a kill at any moment,
// readers that use Open see either all new files or all previous ones. The last member is moved last, and then the old
// files are removed. Everything else in the folder stays.
func WriteAll(ctx context.Context, dir string, members []Member, old []string) error {
	return WriteIf(ctx, dir, members, old, func() error { return nil })
}

// WriteIf is WriteAll unless allowed returns an error. No other process writes into the folder between the two.
func WriteIf(ctx context.Context, dir string, members []Member, old []string, allowed func() error) error {
	if len(members) == 0 {
		return nil
	}
	s := system(ctx)
	made, err := makeFolder(s, dir)
	release := func() {}
	if err == nil {
		release, err = Lock(ctx, dir)
	}
	if err == nil {
		defer release()
		err = allowed()
	}
	if err == nil {
		err = Recover(ctx, dir)
	}
	if err == nil {
		err = writeAll(s, dir, members, old)
	}
	if err != nil {
		for _, dir := range slices.Backward(made) {
			_ = s.Remove(dir) // fails unless it is empty
		}
		return fmt.Errorf("write into %s: %w", dir, err)
	}
	return nil
}

func writeAll(s System, dir string, members []Member, old []string) error {
	sweep(s, dir, temporary)
	staged := filepath.Join(dir, temporary+random())
	if err := s.Mkdir(staged, 0o755); err != nil {
		return cause(err)
	}
	plan := strings.Join(append([]string{members[len(members)-1].Name}, old...), "\n") + "\n"
	err := stage(s, dir, staged, append(slices.Clone(members), Member{planFile, func(w io.Writer) error {
		_, err := io.WriteString(w, plan)
		return err
	}}))
	if err == nil {
		err = cause(s.Rename(staged, filepath.Join(dir, journal)))
	}
	if err != nil {
		_ = removeTree(s, staged) // the first error is reported
		return err
	}
	return errors.Join(cause(syncFolder(s, dir)), settle(s, dir))
}

// stage writes the members into a separate folder and syncs them, several at once: most of the time is the disk's.
func stage(s System, dir, staged string, members []Member) error {
	folders := []string{staged}
	for _, m := range members {
		if info, err := os.Stat(filepath.Join(dir, m.Name)); err == nil && info.IsDir() {
			return fmt.Errorf("%s: it is a folder", m.Name)
		}
		made, err := makeFolder(s, filepath.Dir(filepath.Join(staged, m.Name)))
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, cause(err))
		}
		folders = append(folders, made...)
	}
	err := parallel.Do(context.Background(), maxOpen, len(members), func(i int) error {
		w, err := s.OpenFile(filepath.Join(staged, members[i].Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			err = finish(w, members[i].Write)
		}
		switch {
		case err == nil:
			return nil
		case members[i].Name == planFile: // nobody has asked for it
			return cause(err)
		}
		return fmt.Errorf("%s: %w", members[i].Name, cause(err))
	})
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := syncFolder(s, folder); err != nil {
			return cause(err)
		}
	}
	return nil
}

// maxOpen is how many members are written at once: some wait for the disk while others are made.
const maxOpen = 8

// Recover finishes a WriteAll of a killed program.
func Recover(ctx context.Context, dir string) error { return settle(system(ctx), dir) }

// settle moves the files of a journal to their places. It may be called repeatedly and by
// several programs at once: files that are already moved are skipped.
func settle(s System, dir string) error {
	from := filepath.Join(dir, journal)
	plan, err := os.ReadFile(filepath.Join(from, planFile))
	if errors.Is(err, fs.ErrNotExist) {
		return removeTree(s, from) // everything is moved
	}
	if err != nil {
		return err
	}
	last, old, _ := strings.Cut(strings.TrimSuffix(string(plan), "\n"), "\n")
	names, err := journaled(from)
	if err != nil {
		return err
	}
	if i := slices.Index(names, last); i >= 0 {
		names = append(slices.Delete(names, i, i+1), last)
	}
	for _, name := range names {
		to := filepath.Join(dir, name)
		if _, err := makeFolder(s, filepath.Dir(to)); err != nil {
			return err
		}
		if err := gone(s.Rename(filepath.Join(from, name), to)); err != nil {
			return err
		}
	}
	if err := syncFolder(s, dir); err != nil {
		return err
	}
	for _, name := range strings.Split(old, "\n") {
		if !filepath.IsLocal(name) {
			continue
		}
		if err := gone(s.Remove(filepath.Join(dir, name))); err != nil {
			return err
		}
	}
	if err := gone(s.Remove(filepath.Join(from, planFile))); err != nil {
		return err
	}
	return removeTree(s, from)
}

// journaled returns the names of the files in a journal, in order.
func journaled(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		if rel, err := filepath.Rel(dir, path); err == nil && rel != planFile {
			names = append(names, rel)
		}
		return nil
	})
	return names, err
}

// Path returns where to read a file: under its name, or in the journal of a program that was killed before moving it.
func Path(name string) string {
	waiting := filepath.Join(filepath.Dir(name), journal, filepath.Base(name))
	if _, err := os.Lstat(waiting); err == nil {
		return waiting
	}
	return name
}

// Ours reports whether a name in a folder is one that a killed program may leave.
func Ours(name string) bool { return name == journal || strings.HasPrefix(name, temporary) }

// Writable returns an error if no file can be written into a folder, or into the one in
// which it would have to be made, so that this is known before the work.
func Writable(dir string) error {
	for {
		_, err := os.Lstat(dir)
		if err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, temporary+random()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	var failed *fs.PathError
	if errors.As(err, &failed) { // it names a temporary file
		return fmt.Errorf("nothing can be written into %s: %w", dir, failed.Err)
	}
	if err != nil {
		return fmt.Errorf("nothing can be written into %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
