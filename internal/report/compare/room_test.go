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
	r := compared(t, Options{Resamples: 100, Level: 0.9}, Input{"old", run(x...)}, Input{"new", run(y...)})
	var b strings.Builder
	if err := Write(&b, "markdown", r, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if size := utf8.RuneCountInString(b.String()); size > 65_536 {
		t.Errorf("%d cells: %d characters, a comment on GitHub has 65,536", n, size)
	}
	return b.String()
}

// A comment that would be too long loses its folded tables, the last first, then
// rows of the overview, and says so.
func TestCommentFits(t *testing.T) {
	const left = "Left out, as a comment has room for 65,000 characters: "
	few := commentOf(t, 3)
	if strings.Contains(few, left) || strings.Count(few, "<details>") != 3 {
		t.Errorf("three cells:\n%s", few)
	}
	some := commentOf(t, 60)
	kept := strings.Count(some, "<details>")
	if kept < 10 || kept >= 60 || !strings.Contains(some, fmt.Sprintf("%s%d tables (cell-%04d, ", left, 60-kept, kept)) {
		t.Errorf("60 cells, %d tables:\n%s", kept, some[len(some)-2000:])
	}
	// One table more is one too many.
	table := some[strings.Index(some, "<details>"):]
	table = table[:strings.Index(table, "</details>")]
	if size := utf8.RuneCountInString(some) + utf8.RuneCountInString(table); size <= 65_000 {
		t.Errorf("room for another table: %d characters with it", size)
	}
	if strings.Count(some, "| cell-") != 60 || !strings.Contains(some, "<summary>cell-0000</summary>") {
		t.Errorf("the overview of 60 cells has %d", strings.Count(some, "| cell-"))
	}
	many := commentOf(t, 800)
	rows := strings.Count(many, "| cell-")
	if strings.Contains(many, "<details>") || rows < 100 || !strings.Contains(many, fmt.Sprintf("\nand %d rows more.\n", 800-rows)) {
		t.Errorf("800 cells, %d in the overview:\n%s", rows, many[len(many)-2000:])
	}
}
