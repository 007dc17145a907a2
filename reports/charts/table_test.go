package charts

import (
	"bytes"
	"encoding/csv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func text(t *testing.T, format string, run *results.Run, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Run(run, o).Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// line returns the first line of s that begins with a name.
func line(t *testing.T, s, name string) string {
	t.Helper()
	for l := range strings.Lines(s) {
		if strings.HasPrefix(l, name) {
			return strings.TrimRight(l, "\n")
		}
	}
	t.Fatalf("no line %q in\n%s", name, s)
	return ""
}

// TestTrustLine: recorded $1,010 less a summary call of $5 that no log shows,
// against billed $1,000, is +0.5 %, the whole difference in one session of two, of which little is known. Two sessions say
// nothing of others, whatever they show: sim compare has the same mark for them.
func TestTrustLine(t *testing.T) {
	s := text(t, "table", bill(), Options{})
	for name, want := range map[string]string{
		"model error":  "+0.5 % net (95 % interval −10.9 % … +11.9 %), 0.5 % gross by session; ?: fewer",
		"auto-compact": "?−0.5 %",
		"none":         "?+25.0 %",
		"drop|oldest":  " ?−50.0 %",
		"recorded":     "  –  ",
	} {
		if got := line(t, s, name); !strings.Contains(got, want) {
			t.Errorf("line %q does not contain %q", got, want)
		}
	}
}

// Lines of text are wrapped: none is wider than document.Width.
func TestTextIsWrapped(t *testing.T) {
	run := bill()
	run.Workload.Remarks = []string{strings.Repeat("a remark of many words ", 20)}
	run.Notes = append(run.Notes, results.Note{Text: strings.Repeat("a note of many words ", 20)})
	for l := range strings.Lines(text(t, "table", run, Options{})) {
		if n := len([]rune(strings.TrimRight(l, "\n"))); n > document.Width {
			t.Errorf("%d characters: %s", n, l)
		}
	}
}

// TestTrustLineUnknown: without a bill the line says so.
func TestTrustLineUnknown(t *testing.T) {
	run := bill()
	run.Cells = run.Cells[1:]
	run.ModelError = results.ModelError{}
	s := text(t, "table", run, Options{})
	if got := line(t, s, "model error"); !strings.Contains(got, "unknown") {
		t.Errorf("trust line %q", got)
	}
}

// TestFootnotes: every mark has its note and figures stay below each other.
func TestFootnotes(t *testing.T) {
	s := text(t, "table", bill(), Options{})
	for name, want := range map[string]string{
		"billed":      "$1,000.00 ¹",
		"none":        "none ²",    // overflows have no column: the mark stands with the name
		"drop|oldest": "$505.00 ⁴", // calls without a price
		"¹":           "¹ includes $200.00 estimated for outputs that the logs cut short",
		"²":           "² 1 session passes the window",
		"³":           "³ as the client | counts",
		"⁴":           "⁴ the cost leaves out 3 calls of models without a price",
	} {
		if got := line(t, s, name); !strings.Contains(got, want) {
			t.Errorf("line %q does not contain %q", got, want)
		}
	}
	column := func(name, figure string) int {
		before, _, _ := strings.Cut(line(t, s, name), figure)
		return len([]rune(before)) + len([]rune(figure))
	}
	if a, b := column("billed", "$1,000.00"), column("drop|oldest", "$505.00"); a != b {
		t.Errorf("costs end at columns %d and %d", a, b)
	}
}

// TestRecordedOnceInASweep: one row tells what the recording did, unless a swept parameter changes it.
func TestRecordedOnceInASweep(t *testing.T) {
	for last, want := range map[float64]int{1010: 1, 1011: 2} {
		run := sweepRun()
		run.Cells = run.Cells[:1]
		for value, usd := range map[string]float64{"20": 1010, "40": last} {
			params := map[string]string{"lookback": value}
			addCell(run, "recorded lookback="+value, "recorded", params, total("recorded", usd, 0.961, 30))
			addCell(run, "none lookback="+value, "none", params, total("none", 900, 0.961, 0))
		}
		table := text(t, "table", run, Options{})
		rows := regexp.MustCompile(`(?m)^recorded .*`).FindAllString(table, -1)
		if len(rows) != want || strings.Contains(rows[0], "0  $") == (want == 1) || strings.Count(table, "\nnone ") != 2 {
			t.Errorf("recorded costs $1,010 and $%.0f in a sweep: want %d rows of it in\n%s", last, want, table)
		}
	}
}

// TestNotesWithoutCell: a note on a metric marks the head of its column, a note
// on nothing stands unnumbered, equal texts share a number.
func TestNotesWithoutCell(t *testing.T) {
	run := bill()
	run.Notes = []results.Note{
		{Metric: "misses", Text: "first calls are not counted"},
		{Text: "sessions end before 2026-04"},
		{Cell: "recorded", Metric: "cost_usd", Text: "batch prices"},
		{Cell: "billed", Metric: "cost_usd", Text: "batch prices"},
	}
	s := text(t, "table", run, Options{})
	for name, want := range map[string]string{
		"STRATEGY":     "MISSES ¹",
		"billed":       "$1,000.00 ² ³",
		"recorded":     "$1,010.00 ³",
		"¹":            "¹ first calls are not counted",
		"sessions end": "sessions end before 2026-04",
	} {
		if got := line(t, s, name); !strings.Contains(got, want) {
			t.Errorf("line %q does not contain %q", got, want)
		}
	}
}

// TestHostileNames: what recordings and configurations call things neither
// moves the cursor nor breaks a table.
func TestHostileNames(t *testing.T) {
	run := bill()
	run.Cells[3].Cell = "a|b\nc\x1b[2J`<x>`"
	run.Workload.Models = []string{"m\r\x00"}
	s := text(t, "table", run, Options{})
	if strings.ContainsAny(s, "\x1b\r\x00") {
		t.Errorf("control characters in %q", s)
	}
	md := text(t, "markdown", run, Options{})
	if got, want := line(t, md, `| a\|b c`), "| a\\|b c�\\[2J\\`&lt;x>\\` "; !strings.HasPrefix(got, want) {
		t.Errorf("Markdown row %q, want it to begin %q", got, want)
	}
	unescaped := func(row string) int { return strings.Count(row, "|") - strings.Count(row, `\|`) }
	if got, want := unescaped(line(t, md, `| a\|b c`)), unescaped(line(t, md, "| billed")); got != want {
		t.Errorf("%d column separators in a row, want %d", got, want)
	}
}

// TestSplitAddsUp: in the CSV of the hand-made run the parts of a metric add up
// to it, storage being the remainder of cost.
func TestSplitAddsUp(t *testing.T) {
	run := bill()
	run.Cells[4].Rows.Edit(0, func(r *results.Row) { r.Figures[measures.StorageUSD] = 0.25 })
	run.Sum()
	lines, err := csv.NewReader(strings.NewReader(text(t, "csv", run, Options{PerSession: true}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(lines), 1+5*2; got != want {
		t.Fatalf("%d lines, want a head and 5 cells × 2 sessions = %d", got, want)
	}
	value := func(line []string, name string) float64 {
		s := line[slices.Index(lines[0], name)]
		if s == "" {
			return 0
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, l := range lines[1:] {
		for _, by := range []string{measures.ByClass, measures.BySource} {
			sum := value(l, "storage_usd")
			for _, name := range partsOf("cost_usd", by) {
				sum += value(l, name)
			}
			if total := value(l, "cost_usd"); math.Abs(sum-total) > 1e-9 {
				t.Errorf("%s, session %s: by %s $%v, total $%v", l[0], l[4], by, sum, total)
			}
		}
	}
}

// TestEmptyRun: a run without cells is a head and a trust line, not an error.
func TestEmptyRun(t *testing.T) {
	s := text(t, "table", &results.Run{}, Options{Split: true})
	if !strings.HasPrefix(s, "0 sessions · 0 calls\n") || !strings.Contains(s, "model error on these sessions: unknown") {
		t.Errorf("empty run gives\n%s", s)
	}
}

// The head of a table says when agents fetch nothing again; one closed row makes the loop closed.
func TestHeadOfAnOpenLoop(t *testing.T) {
	run := bill()
	for loop, want := range map[measures.Loop]string{measures.LoopOpen: "COST, OPEN LOOP ", measures.LoopClosed: "COST "} {
		for i := range run.Cells[2:] {
			rows := &run.Cells[2+i].Rows
			for k := range rows.Len() {
				rows.Edit(k, func(r *results.Row) { r.Loop = loop })
			}
		}
		if got := line(t, text(t, "table", run, Options{}), "STRATEGY"); !strings.Contains(got, want) {
			t.Errorf("a head %q, want %q", got, want)
		}
	}
}
