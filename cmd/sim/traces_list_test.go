package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces"
)

// Lists have room on a terminal, whatever ids and models look like.
func TestListsFit(t *testing.T) {
	t.Parallel()
	widest := func(args ...string) int {
		code, out, errs := exec(t, args...)
		if code != exitOK {
			t.Fatalf("sim %v: exit %d: %s", args, code, errs)
		}
		return widestLine(out)
	}
	for _, args := range []string{"traces ls", "scenarios ls", "strategies ls"} {
		if n := widest(strings.Fields(args)...); n > document.Width {
			t.Errorf("sim %s: a line of %d characters", args, n)
		}
	}
	corpus := &traces.Corpus{}
	for _, id := range []string{"0123456789-a", "0123456789-b"} {
		corpus.Sessions = append(corpus.Sessions, &traces.Session{ID: id, Models: []string{strings.Repeat("provider/", 12) + id}})
	}
	table, err := priceTable("", nil)
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := sessionSheet(corpus, table, false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := sheet.Write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\n0123456789-b  ") {
		t.Errorf("ids do not tell the sessions apart:\n%s", out.String())
	}
}

func widestLine(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return n
}

// What is shown of an id finds the session it stands for and no other.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ ids, want []string }{
		{[]string{"ac3a36ad-13f8", "d2f6fb73-0fa1"}, []string{"ac3a36ad", "d2f6fb73"}},
		{[]string{"019f53c2-435e", "019f5ccd-3d12", "019f53c2-4401"}, []string{"019f53c2-43", "019f5ccd", "019f53c2-44"}},
		{[]string{"session-1", "session-10", "s", "session-2"}, []string{"session-1", "session-10", "s", "session-2"}},
		{[]string{"äöüäöüäöüä", "äöüäöüäöüö"}, []string{"äöüäöüäöüä", "äöüäöüäöüö"}},
		{nil, []string{}},
	} {
		got := document.Beginnings(tc.ids)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.ids, got, tc.want)
		}
		corpus := &traces.Corpus{}
		for _, id := range tc.ids {
			corpus.Sessions = append(corpus.Sessions, &traces.Session{ID: id})
		}
		for i, shown := range got {
			if s, err := findSession(corpus, shown); err != nil || s.ID != tc.ids[i] {
				t.Errorf("%q stands for %q and finds %v (%v)", shown, tc.ids[i], s, err)
			}
		}
	}
}
