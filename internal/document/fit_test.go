package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What is the same in all rows stands above a table that is too wide, long texts
// are wrapped, and columns without room come in a further table.
func TestFittedTable(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 30))
	s := &Table{
		Columns: []Column{{Title: "NAME"}, {Title: "SAME"}, {Title: "EMPTY"}, {Title: "LONG"}, {Title: "N", Right: true}},
		Rows:    [][]any{{"a", "all", "", words, 1}, {"b", "all", "", "short", 22}},
		Fitted:  true,
	}
	want := `in all rows: SAME all, EMPTY –

NAME  LONG                                                                                                  N
a     word word word word word word word word word word word word word word word word word word word word   1
      word word word word word word word word word word
b     short                                                                                                22
`
	if diff := cmp.Diff(want, textOf(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Rows = s.Rows[:1] // of one row all is the same, and nothing stands above
	if got := textOf(t, s); !strings.HasPrefix(got, "NAME  SAME  EMPTY  LONG") {
		t.Errorf("one row:\n%s", got)
	}
}

// Columns of figures are not wrapped: those that have no room follow, each table
// with the names. A table that fits is left as it is, with what is the same too.
func TestFittedFigures(t *testing.T) {
	s := &Table{Columns: []Column{{Title: "NAME"}}, Rows: [][]any{{"one"}, {"two"}}, Fitted: true}
	for i := range 8 {
		s.Columns = append(s.Columns, Column{Title: strings.Repeat(string(rune('A'+i)), 18), Right: true})
		s.Rows[0], s.Rows[1] = append(s.Rows[0], i), append(s.Rows[1], i+1)
	}
	got := textOf(t, s)
	var lines int
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%d characters: %s", n, line)
		}
		lines++
	}
	if want := "\n\nNAME  FFFFFFFFFFFFFFFFFF  GGG"; lines != 7 || !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	s.Columns, s.Rows = s.Columns[:3], [][]any{{"one", 1, 1}, {"two", 1, 1}}
	if got := textOf(t, s); strings.Contains(got, "in all rows") {
		t.Errorf("a table that fits:\n%s", got)
	}
}

func textOf(t *testing.T, s *Table) string {
	t.Helper()
	var b strings.Builder
	if err := s.Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
