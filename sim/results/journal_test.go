package results

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameRows compares what is exported of cells.
var sameRows = cmpopts.IgnoreUnexported(Cell{})

// Rows in a journal, whatever their order, give the file, the totals and the model error that rows in
// memory give.
func TestJournal(t *testing.T) {
	j, err := NewJournal()
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want, got := full(), full()
	for i := range got.Cells {
		c := &got.Cells[i]
		rows := slices.Clone(c.Rows)
		c.Rows = nil
		for k := range slices.Backward(rows) {
			if err := c.Keep(j, rows[k]); err != nil {
				t.Fatal(err)
			}
		}
	}
	want.ModelError, got.ModelError = ModelError{}, ModelError{}
	text := [2]bytes.Buffer{}
	for i, r := range []*Run{want, got} {
		if err := r.Sum(); err != nil {
			t.Fatal(err)
		}
		if err := WriteRows(&text[i], r); err != nil {
			t.Fatal(err)
		}
	}
	if text[0].Len() == 0 || text[0].String() != text[1].String() {
		t.Errorf("from a journal\n%s\nwant\n%s", text[1].String(), text[0].String())
	}
	for i := range got.Cells {
		c, w := &got.Cells[i], &want.Cells[i]
		if c.Rows != nil || c.NumRows() != len(w.Rows) || !c.Covers(w) {
			t.Errorf("cell %s: %d rows, want %d in the journal", c.Cell, c.NumRows(), len(w.Rows))
		}
		if diff := cmp.Diff(w.Total, c.Total); diff != "" {
			t.Error(diff)
		}
		a, okA := want.VsRecorded(w)
		b, okB := got.VsRecorded(c)
		if a != b || okA != okB {
			t.Errorf("cell %s: %v against recorded, want %v", c.Cell, b, a)
		}
		first := w.Rows[0].Session
		if c.Drop(func(session string) bool { return session == first }); c.NumRows() != len(w.Rows)-1 {
			t.Errorf("%d rows without one of %d", c.NumRows(), len(w.Rows))
		}
	}
	if got.ModelError != want.ModelError {
		t.Errorf("model error %v, want %v", got.ModelError, want.ModelError)
	}
}

// A row that no file of rows may have is refused when it is kept.
func TestJournalRefuses(t *testing.T) {
	j, err := NewJournal()
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := Cell{Cell: "none", Strategy: "none"}
	for _, r := range []Row{{Strategy: "none"}, {Strategy: "other", Session: "s"}, {Strategy: "none", Session: "s", Calls: -1}} {
		if err := c.Keep(j, &r); err == nil || c.NumRows() != 0 {
			t.Errorf("row %+v is kept", r.Session)
		}
	}
}
