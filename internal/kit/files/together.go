package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Member is one of several files that are written together.
type Member struct {
	Name  string                // below the folder
	Write func(io.Writer) error // called while others are
}

// journal is the folder of complete files that are to be moved to their places.
// A folder of new files becomes the journal by one rename: until then the old
// files are valid, from then on the new ones.
const journal = ".sim-journal"

// planFile says in a journal what is left to do besides renaming: the name that
// comes last, followed by the names to remove, one per line.
const planFile = ".plan"

// WriteAll writes files into a folder, which it makes if missing. Whatever
// happens, including a kill at any moment, readers that use Open see either all
// new files or all previous ones. The last member is moved last, and then the
// old files are removed. Everything else in the folder stays.
func WriteAll(ctx context.Context, dir string, members []Member, old []string) error {
	if len(members) == 0 {
		return nil
	}
	s := system(ctx)
	made, err := makeFolder(s, dir)
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
		if err != nil {
			return fmt.Errorf("%s: %w", members[i].Name, cause(err))
		}
		return nil
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

// Path returns where to read a file: under its name, or in the journal of a
// program that was killed before moving it.
func Path(name string) string {
	waiting := filepath.Join(filepath.Dir(name), journal, filepath.Base(name))
	if _, err := os.Lstat(waiting); err == nil {
		return waiting
	}
	return name
}

// Ours reports whether a name in a folder is one that a killed program may
// leave.
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
