package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/tools/tests/filestest"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// run returns the files of a run, all with one text, charts of a name, and the summary last.
func run(content, chart string) []files.Member {
	var members []files.Member
	for _, name := range []string{"rows.jsonl", "report.txt", "charts/" + chart + ".svg", "run.json"} {
		members = append(members, files.Member{name, text(strings.Repeat(name+" "+content+"\n", 100))})
	}
	return members
}

// holds returns what a reader finds of a folder: files by name, through a journal.
func holds(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"rows.jsonl", "report.txt", "charts/a.svg", "charts/b.svg", "run.json", "notes.txt"} {
		path := filepath.Join(dir, ".sim-journal", name)
		if _, err := os.Lstat(path); err != nil {
			path = filepath.Join(dir, name)
		}
		b, err := os.ReadFile(path)
		if err == nil {
			found[name] = string(b)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return found
}

func contents(members []files.Member) map[string]string {
	found := map[string]string{"notes.txt": "mine"}
	for _, m := range members {
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			panic(err)
		}
		found[m.Name] = b.String()
	}
	return found
}

func equal(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// remains returns names of ours in a folder.
func remains(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files.Ours(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// aged makes what is in a folder older than any write takes.
func aged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	was := time.Now().Add(-25 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), was, was); err != nil {
			t.Fatal(err)
		}
	}
}

// Every operation fails in turn, once alone and once with all that follow, as after a kill. The
// folder holds the old files or the new ones, whole; what is behind the last failure, a write
// finds and finishes or, a day later, takes away.
func TestWriteAllUnderFailure(t *testing.T) {
	old, fresh := run("old", "a"), run("new", "b")
	gone := []string{"charts/a.svg"}
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO, syscall.EINTR} {
		for _, dead := range []bool{false, true} {
			for n := 1; ; n++ {
				dir := filepath.Join(t.TempDir(), "out")
				if err := files.WriteAll(t.Context(), dir, old, nil); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o644); err != nil {
					t.Fatal(err)
				}
				disk := &filestest.Failing{At: n, Err: cause, Dead: dead}
				err := files.WriteAll(files.With(t.Context(), disk), dir, fresh, gone)
				ops, failed := disk.Ops()
				if ops < n {
					if err != nil || !equal(holds(t, dir), contents(fresh)) {
						t.Fatalf("without a failure: %v, %v", err, holds(t, dir))
					}
					break
				}
				found := holds(t, dir)
				delete(found, "charts/a.svg") // of the old run, goes behind the new one's commit
				was := contents(old)
				delete(was, "charts/a.svg")
				isOld, isNew := equal(found, was), equal(found, contents(fresh))
				if !isOld && !isNew || err == nil && !isNew {
					t.Fatalf("operation %d (%s) fails with %v, dead %t: error %v, found %v", n, failed, cause, dead, err, found)
				}
				if !dead && isOld && len(remains(t, dir)) > 0 {
					t.Errorf("operation %d (%s) fails with %v: left %v", n, failed, cause, remains(t, dir))
				}
				aged(t, dir)
				if err := files.WriteAll(t.Context(), dir, fresh, gone); err != nil || !equal(holds(t, dir), contents(fresh)) {
					t.Fatalf("after operation %d: %v, %v", n, err, holds(t, dir))
				}
				if left := remains(t, dir); left != nil {
					t.Errorf("after operation %d and another write: left %v", n, left)
				}
			}
		}
	}
}

// One file, every operation of whose writing fails in turn, is the old one or the new one.
func TestWriteUnderFailure(t *testing.T) {
	for _, dead := range []bool{false, true} {
		for n := 1; ; n++ {
			dir := t.TempDir()
			name := filepath.Join(dir, "file")
			if err := files.Write(t.Context(), name, text("old")); err != nil {
				t.Fatal(err)
			}
			disk := &filestest.Failing{At: n, Err: syscall.ENOSPC, Dead: dead}
			err := files.Write(files.With(t.Context(), disk), name, text("new"))
			if ops, _ := disk.Ops(); ops < n {
				wantFile(t, name, "new")
				break
			}
			if got, _ := os.ReadFile(name); string(got) != "new" && string(got) != "old" || err == nil {
				t.Fatalf("operation %d: %v, found %q", n, err, got)
			}
			aged(t, dir)
			if err := files.Write(t.Context(), name, text("again")); err != nil {
				t.Fatal(err)
			}
			wantFile(t, name, "again")
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("operation %d: left %v, %v", n, entries, err)
			}
		}
	}
}

// A full disk is told once, with the name that was asked for: the temporary file is nobody's.
func TestFullDiskNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	// Of what is written side by side anything may be the first to fail: also the plan of the folder, which has no name to tell.
	members := []files.Member{{"page.html", text("new")}}
	for _, c := range []struct {
		write func(ctx context.Context) error
		want  string
	}{
		{func(ctx context.Context) error { return files.Write(ctx, name, text("new")) }, "write " + name + ": no space left on device"},
		{func(ctx context.Context) error { return files.New(ctx, name, 0, text("new")) }, "write " + name + ": no space left on device"},
		{func(ctx context.Context) error { return files.WriteAll(ctx, dir, members, nil) }, "write into " + dir + ": page.html: no space left on device"},
	} {
		told := false
		for n := 1; n < 1000 && !told; n++ { // what is done side by side may come in another order the next time: go round
			disk := &filestest.Failing{At: 1 + n%50, Err: syscall.ENOSPC, Dead: true}
			err := c.write(files.With(t.Context(), disk))
			_, failed := disk.Ops()
			if told = strings.HasPrefix(failed, "write") && strings.Contains(failed, "page.html"); told && fmt.Sprint(err) != c.want && fmt.Sprint(err) != "write into "+dir+": no space left on device" {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		}
		if !told {
			t.Error("no write fails")
		}
	}
}
