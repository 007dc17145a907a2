package outputs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// words are a report that says the same in all formats.
type words string

func (t words) Write(w io.Writer, _ string) error { _, err := io.WriteString(w, string(t)); return err }

// Of two runs that begin with one empty folder the first to end stays, and the other one says so.
func TestTwoRunsIntoOneFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	begin := func(force bool, text string) *Folder {
		o, err := OpenFolder(dir, force)
		if err != nil {
			t.Fatal(err)
		}
		o.AddReport(ReportFile, words(text), "table")
		o.SetSummary(words(`{"schema":2,"provenance":{},"cells":[]}`))
		return o
	}
	first, second, third := begin(false, "first"), begin(false, "second"), begin(true, "third")
	if err := first.Save(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := second.Save(context.Background()); err == nil || !strings.Contains(err.Error(), "another run has been written there meanwhile and stays") {
		t.Errorf("%v, want that another run was written", err)
	}
	said := func() string { text, _ := os.ReadFile(filepath.Join(dir, ReportFile)); return string(text) }
	if said() != "first" {
		t.Errorf("%q, want the first run's", said())
	}
	if err := third.Save(context.Background()); err != nil || said() != "third" {
		t.Errorf("%v %q, want the run that replaces", err, said())
	}
}

// Of eight runs that save into one folder at once one is kept, and seven say that another has been written: none is lost without a word.
func TestRunsSavedAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("folders are not locked here")
	}
	for range 20 {
		dir := filepath.Join(t.TempDir(), "out")
		errs := make(chan error)
		var runs []*Folder
		for range 8 { // all begin before one ends
			o, err := OpenFolder(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			o.SetSummary(words(`{"schema":2,"provenance":{},"cells":[]}`))
			runs = append(runs, o)
		}
		for _, o := range runs {
			go func() { errs <- o.Save(context.Background()) }()
		}
		saved := 0
		for range 8 {
			if err := <-errs; err == nil {
				saved++
			} else if !strings.Contains(err.Error(), "another run has been written there meanwhile") {
				t.Error(err)
			}
		}
		if saved != 1 {
			t.Fatalf("%d runs saved, want 1", saved)
		}
	}
}
