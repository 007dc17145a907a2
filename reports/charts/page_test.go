package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// pageOf writes a page.
func pageOf(t *testing.T, d *document.Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b, "html"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The first lines of a page are the advice; where none was asked for, they say what won and by how much: of the bill,
// drop|oldest at 505.00 against 1,010.00.
func TestPageBeginsWithVerdict(t *testing.T) {
	t.Parallel()
	run := bill()
	d := Page(run, PageParts{
		Verdict: document.List{{Label: "Codex", Text: "compact at 80000 tokens"}},
		Advice:  &document.Document{},
		Chains:  []studies.Chains{{Cell: "none"}}, // without a compaction
	})
	if d.Sections[0].Title != "In short" {
		t.Fatalf("the page begins with %q", d.Sections[0].Title)
	}
	list := d.Sections[0].Blocks[0].(document.List)
	if len(list) != 1 || list[0].Label != "Codex" {
		t.Fatalf("in short: %v", list)
	}
	list = Page(run, PageParts{}).Sections[0].Blocks[0].(document.List)
	if want := "drop|oldest: $505.00, −50.0 % against what was recorded (not certain for other sessions)."; list[0].Label != "Cheapest strategy" || !strings.HasPrefix(list[0].Text, want) {
		t.Errorf("the verdict is %v, want %q first", list, want)
	}
	// Without it 1,005.00 of auto-compact/167k is the least, 0.5 % below.
	run.Cells = run.Cells[:4]
	list = verdict(run)
	if want := "auto-compact/167k: $1,005.00, −0.5 % against"; !strings.HasPrefix(list[0].Text, want) {
		t.Errorf("the verdict is %q, want %q first", list[0].Text, want)
	}
	// none at 1,262.50 is dearer than what was recorded.
	run.Cells = append(run.Cells[:2], run.Cells[3])
	if list = verdict(run); !strings.HasPrefix(list[0].Label, "No strategy is cheaper") {
		t.Errorf("of a dearer strategy alone the verdict is %v", list)
	}
	if html := pageOf(t, d); !strings.Contains(html, "no compactions: none") {
		t.Error("the page does not say that none did not compact")
	}
}

// An interrupted run names no cheapest cell, because its rows may cover different sessions, and says how many sessions
// the model error is of.
func TestInterruptedRunNamesNoCheapest(t *testing.T) {
	t.Parallel()
	run := lineSweep()
	said := func() string { return strings.Join(Run(run, Options{}).Notes, "\n") }
	if !strings.Contains(said(), "cheapest: ") || verdict(run) == nil {
		t.Fatalf("a whole sweep names no cheapest cell: %s", said())
	}
	run.Workload.Unfinished, run.Workload.Sessions, run.ModelError.Sessions = 3, 48, 45
	if strings.Contains(said(), "cheapest: ") || verdict(run) != nil {
		t.Errorf("an interrupted sweep names the cheapest: %s", said())
	}
	if want := "model error on 45 of 48 sessions: "; !strings.Contains(said(), want) {
		t.Errorf("%s lacks %q", said(), want)
	}
}

// Of 1,000 strategies a page lists the cheapest and the dearest, and stays below 2 MB.
func TestPageOfAThousandStrategies(t *testing.T) {
	t.Parallel()
	run := bill()
	of := run.Cells[2]
	for i := range 1_000 {
		c := of
		c.Cell, c.Params = fmt.Sprintf("auto-compact/167k at=%d", i), map[string]string{"at": fmt.Sprint(i)}
		run.Cells = append(run.Cells, c)
	}
	html := pageOf(t, Page(run, PageParts{}))
	if n := strings.Count(html, "<tr>"); len(html) > 2e6 || n > 30*maxPagedCells {
		t.Errorf("the page has %d bytes and %d rows", len(html), n)
	}
	if want := "dearest of 1003 cells"; !strings.Contains(html, want) {
		t.Errorf("the page does not say that it shows the %s", want)
	}
}
