package audit

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// audited is the bill of two sessions of one project, as small as one can be that
// has a line in every part. Each call costs a dollar.
func audited() *Report {
	place := func(line int, usd float64, text string) Place {
		return Place{Call: calls.Name("0123456789", 0, int32(line)), Session: "0123456789", File: "/logs/api/0123456789.jsonl", Line: line, USD: usd, Text: text}
	}
	all := Sum{Calls: 10, Uncached: 20, Read: 900_000, Write5m: 100_000, Output: 5000, Limited: 100_020, USD: 10}
	one := Sum{Calls: 4, Read: 400_000, Write5m: 60_000, Output: 2000, Limited: 60_000, USD: 4}
	two := Sum{Calls: 6, Uncached: 20, Read: 500_000, Write5m: 40_000, Output: 3000, Limited: 40_020, USD: 6}
	r := &Report{
		Schema: Schema, Sessions: 2, From: "2026-02-01", Until: "2026-02-02", Total: all, LoggedOutputUSD: 0.5,
		Splits: []Split{
			{By: "class", Lines: []Line{{Name: "read", Sum: Sum{Calls: 10, Read: 900_000, USD: 7}}, {Name: "output", Sum: Sum{Calls: 10, Output: 5000, USD: 3}}}},
			{By: "model", Lines: []Line{{Name: "claude-opus-4-6", Sum: all}}},
			{By: "project", Lines: []Line{{Name: "/b/api", Sum: two}, {Name: "/a/api", Sum: one}}},
			{By: "session", Lines: []Line{{Name: "fedcba9876", Sum: two}, {Name: "0123456789", Sum: one}}},
			{By: "source", Lines: []Line{{Name: "main", Sum: all}}},
		},
		Findings: []Finding{
			{Name: "pause_over_5m_main", Title: "Pauses outlived the entries", USD: 5, Count: 3, Tokens: 120_000, Notes: []string{"more"},
				Places: []Place{place(20, 3, "100000 of 100000 tokens not read"), place(40, 1, "x"), place(60, 0.5, "x"), place(80, 0.5, "not shown")}},
			{Name: "compactions", Title: "Compactions", USD: 2, Count: 1, Tokens: 50_000,
				Places: []Place{place(50, 2, "")}},
			{Name: "small", Title: "Not in full", USD: 1, Count: 1, Tokens: 5, Places: []Place{}},
		},
		Misses: []Miss{{Cause: calls.CauseShortPause, Calls: 3, Tokens: 120_000, USD: 5}},
		Detector: []Said{{Reason: "none", Calls: 6}, {Reason: "expiry_5m", Calls: 3, Missed: 3, Tokens: 120_000, USD: 5,
			Causes: map[calls.Cause]int{calls.CauseShortPause: 3}}},
		Content: []Content{{Part: "tool results", Tokens: 600_000, Share: 0.6, Final: 60_000, FinalShare: 0.6, USD: 4}},
		Defects: []Defect{{Kind: DefectUnpriced, Text: "calls of models without a price", Count: 3, Names: []string{"nobody-1"}, Kinds: calls.Tally{Calls: 2, Advice: 1}}, {Kind: "single", Text: "sessions of one call", Count: 7, Names: strings.Split("a b c d e f g", " ")}},
	}
	r.Remarks = []string{"filter: project api: 2 of 3 sessions"}
	return r
}

// Every output against a file that a person read through.
func TestAuditGolden(t *testing.T) {
	o := DocumentOptions{Top: 2, Again: " PATH"}
	for _, test := range []struct{ file, format string }{
		{"audit.txt", "table"}, {"audit.md", "markdown"}, {"audit.csv", "csv"}, {"audit.json", "json"},
	} {
		t.Run(test.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := audited().Document(o).Write(&got, test.format); err != nil {
				t.Fatal(err)
			}
			golden(t, test.file, got.Bytes())
		})
	}
}

// A report about nothing is written all the same: no share of zero, no path of
// no file.
func TestAuditOfNothing(t *testing.T) {
	empty := &Report{Findings: []Finding{}, Splits: []Split{{By: "class"}, {By: "model"}}}
	for _, format := range document.Formats() {
		var b bytes.Buffer
		if err := empty.Document(DocumentOptions{}).Write(&b, format); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		text, _, _ := strings.Cut(b.String(), "<script") // which has numbers of its own
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %s", format, b.String())
		}
	}
	if err := empty.Document(DocumentOptions{}).Write(io.Discard, "xml"); err == nil {
		t.Error("no error for an unknown format")
	}
}

// Spreadsheets get as many cells on every line, programs one object; in both
// the sums equal the page's to the cent.
func TestAuditForMachines(t *testing.T) {
	var b bytes.Buffer
	if err := audited().Document(DocumentOptions{}).Write(&b, "csv"); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if lines[1][0] != "total" || lines[1][3] != "10" {
		t.Errorf("the first line is %v", lines[1])
	}
	b.Reset()
	if err := audited().Document(DocumentOptions{}).Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Total struct {
			USD float64 `json:"cost_usd"`
		} `json:"total"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Total.USD != 10 {
		t.Errorf("%v, %v", doc, err)
	}
}

// Text of recordings cannot act on the terminal.
func TestAuditIsPrintable(t *testing.T) {
	r := audited()
	r.Findings[0].Places[0].Text = "\x1b[31mred\a"
	r.Defects[1].Names[0] = "a\x1b]0;title\a"
	r.Splits[2].Lines[0].Name = "/b/\x1b[2J"
	for _, format := range []string{"table", "markdown"} {
		var b bytes.Buffer
		if err := r.Document(DocumentOptions{}).Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\a") {
			t.Errorf("%s lets control characters through", format)
		}
	}
}

// A call is named as sim explain takes it, by as much of the session's id as is needed to tell
// sessions apart.
func TestCallsAreNamed(t *testing.T) {
	p := page{Report: &Report{short: map[string]string{"0123456789": "0123"}}}
	if got := p.at(&Place{Session: "0123456789", Call: "0123456789/2:7"}); got != "0123/2:7" {
		t.Errorf("%q", got)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

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

// The head counts the calls that sim run counts, six of the main conversation and two of a sub-agent, and beside them the summary call of
// the log and the call that no line shows.
func TestHeadCountsSummariesApart(t *testing.T) {
	r := Report{Sessions: 1, Total: Sum{Calls: 10}, Splits: []Split{{By: "source", Lines: []Line{{Name: "main", Sum: Sum{Calls: 6}}, {Name: "agent", Sum: Sum{Calls: 2}},
		{Name: "compact", Sum: Sum{Calls: 1}}, {Name: "other", Sum: Sum{Calls: 1}}}}}}
	if got, want := r.Document(DocumentOptions{}).Head[0], "$0.00 at API prices · 1 session · 8 calls, 1 call that no line shows and 1 summary call"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
