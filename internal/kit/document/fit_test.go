package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is the same in all rows stands above a table that is too wide, long texts
// are wrapped.
func TestFittedTable(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 30))
	s := &Table{
		Columns: []Column{{Title: "NAME"}, {Title: "SAME"}, {Title: "EMPTY"}, {Title: "LONG"}, {Title: "N", Right: true}},
		Rows:    [][]any{{"a", "all", "", words, 1}, {"b", "all", "", "short", 22}, {"c", "all", "", "", 3}},
	}
	want := `in all rows: SAME all, EMPTY –

NAME  LONG                                                                    N
a     word word word word word word word word word word word word word word   1
      word word word word word word word word word word word word word word
      word word
b     short                                                                  22
c                                                                             3
`
	if diff := cmp.Diff(want, textOf(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Rows = s.Rows[:1] // of one row all is the same, and nothing stands above
	if got := textOf(t, s); !strings.HasPrefix(got, "NAME  SAME  EMPTY  LONG") {
		t.Errorf("one row:\n%s", got)
	}
}

// Columns of figures are not wrapped: the last ones are left out, and a note names
// them. A table that fits is left as it is, with what is the same too.
func TestColumnsWithoutRoom(t *testing.T) {
	s := &Table{Columns: []Column{{Title: "NAME"}}, Rows: [][]any{{"one"}, {"two"}}}
	for i := range 5 {
		s.Columns = append(s.Columns, Column{Title: strings.Repeat(string(rune('A'+i)), 18), Right: true})
		s.Rows[0], s.Rows[1] = append(s.Rows[0], i), append(s.Rows[1], i+1)
	}
	s.Columns[1].Spare, s.Columns[5].Spare = 1, -1 // the first to go, and one that stays
	want := `NAME  BBBBBBBBBBBBBBBBBB  CCCCCCCCCCCCCCCCCC  EEEEEEEEEEEEEEEEEE
one                    1                   2                   4
two                    2                   3                   5

No room for DDDDDDDDDDDDDDDDDD, AAAAAAAAAAAAAAAAAA: a wider terminal shows more,
--format json all.
`
	if diff := cmp.Diff(want, textOf(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Columns, s.Rows = s.Columns[:3], [][]any{{"one", 1, 1}, {"two", 1, 1}, {"three", 1, 1}}
	if got := textOf(t, s); strings.Contains(got, "in all rows") {
		t.Errorf("a table that fits:\n%s", got)
	}
}

// On a screen the document has the screen's width; headings are bold and heads of tables
// coloured where it shows any, and the words are the same.
func TestScreen(t *testing.T) {
	d := &Document{Head: []string{"a b"}, Sections: []Section{{Title: "Bill", Blocks: []Block{
		&Table{Columns: []Column{{Title: "X"}}, Rows: [][]any{{"1"}}},
	}}}}
	for styled, want := range map[bool]string{
		true:  "a\nb\n\n\x1b[1mBILL\x1b[0m\n\x1b[36mX\x1b[0m\n1\n",
		false: "a\nb\n\nBILL\nX\n1\n",
	} {
		var b strings.Builder
		if err := d.Write(&Screen{Writer: &b, Columns: 2, Styled: styled}, "table"); err != nil || b.String() != want {
			t.Errorf("styled %v: %q, %v", styled, b.String(), err)
		}
	}
}

// Paragraphs of a text are filled; what is indented stays.
func TestFlowed(t *testing.T) {
	if got, want := Flowed("one two\nthree\n\n  four five six\nseven", 8), "one two\nthree\n\n  four five six\nseven"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := Flowed("one two\nthree", 14), "one two three"; got != want {
		t.Errorf("%q", got)
	}
}

func textOf(t *testing.T, s *Table) string {
	t.Helper()
	var b strings.Builder
	if err := s.Write(&Screen{Writer: &b, Columns: 80}, "table"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
