package charts

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden holds every output of the bill of two sessions against a file that
// was read through by a person. The figures in them are worked out in the comment on
// bill. SVG has a golden file, PNG has none: its bytes can differ between
// architectures.
func TestGolden(t *testing.T) {
	split, sessions := Options{Split: true}, Options{PerSession: true}
	for _, test := range []struct {
		file  string
		write func(io.Writer, *results.Run) error
	}{
		{"table.txt", func(w io.Writer, r *results.Run) error { return Run(r, Options{}).Write(w, "table") }},
		{"split.txt", func(w io.Writer, r *results.Run) error { return Run(r, split).Write(w, "table") }},
		{"split.md", func(w io.Writer, r *results.Run) error { return Run(r, split).Write(w, "markdown") }},
		{"cells.csv", func(w io.Writer, r *results.Run) error { return Run(r, Options{}).Write(w, "csv") }},
		{"sessions.csv", func(w io.Writer, r *results.Run) error { return Run(r, sessions).Write(w, "csv") }},
		{"run.json", func(w io.Writer, r *results.Run) error { return Run(r, Options{}).Write(w, "json") }},
		{"cost.svg", func(w io.Writer, r *results.Run) error { return Chart(r).Draw(w, "svg") }},
	} {
		t.Run(test.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := test.write(&got, bill()); err != nil {
				t.Fatal(err)
			}
			golden(t, test.file, got.Bytes())
		})
	}
}

// golden holds an output against a file of testdata.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// TestSameBytes: the order in which sessions finished does not show.
func TestSameBytes(t *testing.T) {
	shuffled := bill()
	for i := range shuffled.Cells {
		rows := &shuffled.Cells[i].Rows
		*rows = results.Rows{}.With(rows.At(1), rows.At(0))
	}
	shuffled.Sum()
	for _, format := range document.Formats() {
		var a, b bytes.Buffer
		if err := Run(bill(), Options{Split: true, PerSession: true}).Write(&a, format); err != nil {
			t.Fatal(err)
		}
		if err := Run(shuffled, Options{Split: true, PerSession: true}).Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a.String(), b.String()); diff != "" {
			t.Errorf("%s depends on the order of rows:\n%s", format, diff)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := Run(bill(), Options{}).Write(io.Discard, "xml"); err == nil {
		t.Error("format xml was accepted")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestWriteErrors: no output reports success when the writer failed.
func TestWriteErrors(t *testing.T) {
	for _, format := range document.Formats() {
		if err := Run(bill(), Options{}).Write(fullDisk{}, format); err == nil {
			t.Errorf("%s: the error of the writer was lost", format)
		}
	}
	for _, format := range ChartFormats() {
		if err := Chart(bill()).Draw(fullDisk{}, format); err == nil {
			t.Errorf("%s: the error of the writer was lost", format)
		}
	}
}
