package reports

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/audit"
)

// audited is the bill of two sessions of one project, as small as one can be that
// has a line in every part. Each call costs a dollar.
func audited() *audit.Report {
	saves, off, short, little := 4.0, 0.25, -0.025, 0.1
	place := func(line int, usd float64, text string) audit.Place {
		return audit.Place{Session: "0123456789", File: "/logs/api/0123456789.jsonl", Line: line, USD: usd, Text: text}
	}
	all := audit.Sum{Calls: 10, Uncached: 20, Read: 900_000, Write5m: 100_000, Output: 5000, Limited: 100_020, USD: 10}
	one := audit.Sum{Calls: 4, Read: 400_000, Write5m: 60_000, Output: 2000, Limited: 60_000, USD: 4}
	two := audit.Sum{Calls: 6, Uncached: 20, Read: 500_000, Write5m: 40_000, Output: 3000, Limited: 40_020, USD: 6}
	r := &audit.Report{
		Schema: audit.Schema, Sessions: 2, From: "2026-02-01", Until: "2026-02-02", Total: all, LoggedOutputUSD: 0.5,
		Splits: []audit.Split{
			{By: "class", Lines: []audit.Line{{Name: "read", Sum: audit.Sum{Calls: 10, Read: 900_000, USD: 7}}, {Name: "output", Sum: audit.Sum{Calls: 10, Output: 5000, USD: 3}}}},
			{By: "model", Lines: []audit.Line{{Name: "claude-opus-4-6", Sum: all}}},
			{By: "project", Lines: []audit.Line{{Name: "/b/api", Sum: two}, {Name: "/a/api", Sum: one}}},
			{By: "session", Lines: []audit.Line{{Name: "fedcba9876", Sum: two}, {Name: "0123456789", Sum: one}}},
		},
		Findings: []audit.Finding{
			{Name: "pause_over_5m_main", Title: "Pauses outlived the entries", USD: 5, Count: 3, Tokens: 120_000, Saves: &saves, Error: &off,
				Advice: []audit.Advice{
					{Setting: "ENABLE_PROMPT_CACHING_1H=1", From: "2.1.108", Text: "environment: entries live an hour", Saves: &saves, Error: &off},
					{Setting: "FORCE_SOMETHING=1", Text: "environment: moves other calls as well", Saves: &little, Error: &off},
				},
				Notes: []string{"arithmetic"}, Oldest: "2.1.20", Newest: "2.1.120",
				Places: []audit.Place{place(20, 3, "100000 of 100000 tokens not read"), place(40, 1, "x"), place(60, 0.5, "x"), place(80, 0.5, "not shown")}},
			{Name: "compactions", Title: "Compactions", USD: 2, Count: 1, Tokens: 50_000, Agents: []audit.Share{{Agent: "codex", USD: 1.5}, {Agent: "claude-code", USD: 0.5}},
				Advice: []audit.Advice{{Text: "for any agent"}, {Agent: "codex", USD: 1.5, Setting: "limit = 1", Text: "config.toml"}, {Agent: "claude-code", USD: 0.5, Text: "no setting"}},
				Places: []audit.Place{place(50, 2, "")}},
			{Name: "small", Title: "Smaller than its error", USD: 1, Count: 1, Tokens: 5, Saves: &little, Error: &off, Advice: []audit.Advice{}, Places: []audit.Place{}},
		},
		Misses: []audit.Miss{{Cause: audit.CauseShortPause, Calls: 3, Tokens: 120_000, USD: 5}},
		Detector: []audit.Said{{Reason: "none", Calls: 6}, {Reason: "expiry_5m", Calls: 3, Missed: 3, Tokens: 120_000, USD: 5,
			Causes: map[audit.Cause]int{audit.CauseShortPause: 3}}},
		Lifetimes: []audit.Lifetime{{Source: "main", Tier: "5m", Calls: 10, Billed: 10, Recorded: 9.75, Error: &short, All5m: 9.75, All1h: 5.75, Paused5m: 3}},
		Compactions: []audit.Compaction{
			{Place: place(50, 0, ""), Before: 167_000, After: 50_000, Removed: 117_000, Calls: 3, CallWarm: 0.1, CallCold: 1, Rewrite: 0.2, Gain: 0.15, Measured: true},
			{Place: place(99, 0, ""), Manual: true, Before: 90_000},
		},
		Unread:     []audit.Unread{{Where: audit.UnreadLast, Calls: 2, Tokens: 3000, USD: 0.01}},
		Content:    []audit.Content{{Part: "tool results", Tokens: 600_000, Share: 0.6, Final: 60_000, FinalShare: 0.6, USD: 4}},
		Results:    []audit.Carried{{Place: place(30, 2, "Read /b/api/main.go"), Tool: "Read", Object: "/b/api/main.go", Tokens: 20_000, Bytes: 60_000, Calls: 8, USD: 2}},
		Duplicates: []audit.Carried{{Place: place(35, 1, "Read /b/api/main.go"), Tool: "Read", Object: "/b/api/main.go", Tokens: 20_000, Calls: 4, USD: 1, First: 30}},
		Defects:    []audit.Defect{{Kind: audit.DefectUnpriced, Text: "calls of models without a price", Count: 3, Names: []string{"nobody-1"}}, {Kind: "single", Text: "sessions of one call", Count: 7, Names: strings.Split("a b c d e f g", " ")}},
	}
	r.Reconciled = &audit.Reconciled{File: "usage.csv", Kind: audit.ExportUsage, From: "2026-02-01", Until: "2026-02-02", Outside: 1, Lines: []audit.Compared{
		{Day: "2026-02-01", Model: "claude-opus-4-6", Ours: audit.Amounts{Read: 900_000, Output: 5000, USD: 10}, Theirs: audit.Amounts{Read: 900_000, Output: 6500}, Difference: audit.Amounts{Output: -1500}},
	}}
	r.Reconciled.Total = r.Reconciled.Lines[0]
	r.Reconciled.Total.Day, r.Reconciled.Total.Model = "", ""
	return r
}

// Every output against a file that a person read through.
func TestAuditGolden(t *testing.T) {
	o := AuditOptions{Top: 2, Remarks: []string{"filter: project api: 2 of 3 sessions"}}
	for _, test := range []struct{ file, format string }{
		{"audit.txt", "table"}, {"audit.md", "markdown"}, {"audit.csv", "csv"}, {"audit.json", "json"},
	} {
		t.Run(test.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := Audit(&got, test.format, audited(), o); err != nil {
				t.Fatal(err)
			}
			golden(t, test.file, got.Bytes())
		})
	}
}

// A report about nothing is written all the same: no share of zero, no path of
// no file.
func TestAuditOfNothing(t *testing.T) {
	empty := &audit.Report{Findings: []audit.Finding{}, Splits: []audit.Split{{By: "class"}, {By: "model"}}}
	for _, format := range Formats() {
		var b bytes.Buffer
		if err := Audit(&b, format, empty, AuditOptions{}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%s: %s", format, b.String())
		}
	}
	if err := Audit(io.Discard, "xml", empty, AuditOptions{}); err == nil {
		t.Error("no error for an unknown format")
	}
}

// Spreadsheets get as many cells on every line, programs one object; in both
// the sums are to the cent those of the page.
func TestAuditForMachines(t *testing.T) {
	var b bytes.Buffer
	if err := Audit(&b, "csv", audited(), AuditOptions{}); err != nil {
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
	if err := Audit(&b, "json", audited(), AuditOptions{}); err != nil {
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
	r.Results[0].Tool = "Re\x1bad"
	for _, format := range []string{"table", "markdown"} {
		var b bytes.Buffer
		if err := Audit(&b, format, r, AuditOptions{}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\a") {
			t.Errorf("%s lets control characters through", format)
		}
	}
}

// Files are named from the folder they share; a long name keeps its end.
func TestPaths(t *testing.T) {
	r := &audit.Report{Compactions: []audit.Compaction{
		{Place: audit.Place{File: "/logs/api/one.jsonl", Line: 3}}, {Place: audit.Place{File: "/logs/web/two.jsonl"}},
	}}
	p := newPaths(r)
	if p.folder != "/logs/" {
		t.Errorf("the common folder is %q", p.folder)
	}
	if got := p.at(&r.Compactions[0].Place); got != "api/one.jsonl:3" {
		t.Errorf("%q", got)
	}
	long := audit.Place{File: "/logs/" + strings.Repeat("x", 100) + "/three.jsonl", Line: 7}
	if got := p.at(&long); !strings.HasSuffix(got, "/three.jsonl:7") || len([]rune(got)) > maxPath+2 {
		t.Errorf("%q", got)
	}
	r.Compactions = append(r.Compactions, audit.Compaction{Place: audit.Place{File: "other.jsonl"}})
	if p := newPaths(r); p.folder != "" {
		t.Errorf("%q is no common folder", p.folder)
	}
}
