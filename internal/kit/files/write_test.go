package files_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/files"
)

func words(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(name), got, err, want)
	}
}

// A link stays a link to a file that keeps its permissions; a link to nothing
// makes the file it names.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link, ahead := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "ahead")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{link: "file", ahead: "later"} {
		if err := os.Symlink(to, at); err != nil {
			t.Skipf("no links here: %v", err)
		}
		if err := files.Write(t.Context(), at, words(to)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", filepath.Base(at), err)
		}
		wantFile(t, filepath.Join(dir, to), to)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("permissions %v, %v; want -rw-------", info.Mode(), err)
	}
}

// What could not be written whole leaves what was there, and nothing beside it.
func TestWriteWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := files.Write(t.Context(), file, words("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := files.Write(t.Context(), file, func(w io.Writer) error { return errors.Join(words("ne")(w), broken) })
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "write "+file+": ") {
		t.Errorf("error %v", err)
	}
	wantFile(t, file, "old")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	missing, file := filepath.Join(dir, "none", "file"), filepath.Join(dir, "file")
	for _, tc := range []struct{ name, want string }{
		{missing, "write " + missing + ": " + notThere(t, missing).Error()},
		{dir, "write " + dir + ": it is a folder"},
	} {
		if err := files.Write(t.Context(), tc.name, words("")); err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
	err := files.Write(t.Context(), file, func(io.Writer) error {
		return fmt.Errorf("prices: %w", &fs.PathError{Op: "open", Path: "p.yaml", Err: fs.ErrNotExist})
	})
	if want := "write " + file + ": prices: open p.yaml: file does not exist"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// notThere returns the system's own words for a file in a folder that is missing.
func notThere(t *testing.T, name string) error {
	t.Helper()
	_, err := os.Open(name)
	path := (*fs.PathError)(nil)
	if !errors.As(err, &path) {
		t.Fatalf("open %s: %v", name, err)
	}
	return path.Err
}

// A pipe is written to and not replaced by a file.
func TestWriteToPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := "/dev/fd/" + strconv.FormatUint(uint64(w.Fd()), 10)
	if _, err := os.Stat(name); err != nil {
		t.Skipf("descriptors have no names here: %v", err)
	}
	if err := files.Write(t.Context(), name, words("through")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "through" {
		t.Errorf("read %q, %v", got, err)
	}
}
