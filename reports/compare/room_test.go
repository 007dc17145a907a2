package compare

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/sim/results"
)

// commentOf writes a comparison of n cells, each a USD dearer, as a comment.
func commentOf(t *testing.T, n int) string {
	t.Helper()
	var x, y []results.Cell
	for i := range n {
		name := fmt.Sprintf("cell-%04d", i)
		x, y = append(x, named(name, "c", nil, "abcdefgh", 2)), append(y, named(name, "c", nil, "abcdefgh", 3))
	}
	r := compared(t, Options{}, Input{"old", run(x...)}, Input{"new", run(y...)})
	var b strings.Builder
	if err := Write(&b, "markdown", r); err != nil {
		t.Fatal(err)
	}
	if size := utf8.RuneCountInString(b.String()); size > 65_536 {
		t.Errorf("%d cells: %d characters, a comment on GitHub has 65,536", n, size)
	}
	return b.String()
}

// A comment that would be too long loses its folded tables, the last first, and says so.
func TestCommentFits(t *testing.T) {
	const left = "Left out, as a comment has room for 65,000 characters: "
	few := commentOf(t, 3)
	if strings.Contains(few, left) || strings.Count(few, "<details>") != 3 || !strings.Contains(few, "<summary>cell-0000: new costs 50.0 % more than old</summary>") {
		t.Errorf("three cells:\n%s", few)
	}
	for _, cells := range []int{60, 200} {
		some := commentOf(t, cells)
		kept := strings.Count(some, "<details>")
		if kept < 10 || kept >= cells || !strings.Contains(some, fmt.Sprintf("%s%d tables (cell-%04d: ", left, cells-kept, kept)) {
			t.Errorf("%d cells, %d tables:\n%s", cells, kept, some[len(some)-2000:])
		}
		// One table more is one too many.
		table := some[strings.Index(some, "<details>"):]
		table = table[:strings.Index(table, "</details>")]
		if size := utf8.RuneCountInString(some) + utf8.RuneCountInString(table); size <= 65_000 {
			t.Errorf("room for another table: %d characters with it", size)
		}
	}
}
