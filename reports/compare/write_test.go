package compare

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pipes is before and after under names that Markdown would take for markup,
// with a cell in which nothing differs, one that costs 1 USD a session more, and
// figures that are drawn.
func pipes(t testing.TB, metrics ...string) *Report {
	x, y := before(), after()
	for i, r := range []*results.Run{x, y} {
		for j := range r.Cells[0].Rows.Len() {
			r.Cells[0].Rows.Edit(j, func(r *results.Row) { r.Figures[measures.AddedLatency] = float64(j) * float64(1+i) })
		}
		r.Cells = append(r.Cells, named("a|b <c>", "a", nil, "abcdefgh", 2), named("z", "z", nil, "abcdefgh", float64(3+i)))
		r.Sum()
		r.ModelError = results.ModelError{BilledUSD: 100, RecordedUSD: 93, Sessions: 8, Low: -0.1, High: -0.04, Gross: 0.08, Spread: 0.1}
	}
	y.Provenance.Prices = "2026-02-02"
	return compared(t, Options{Metrics: metrics}, Input{"o|d", x}, Input{"new", y})
}

// TestGolden holds the formats against files that were read through by a person.
// The figures of cost, hit ratio and peak are as in the comment on before.
func TestGolden(t *testing.T) {
	single := compared(t, Options{Cells: []string{"x"}}, Input{"old", before()}, Input{"new", after()})
	for _, tc := range []struct {
		file, format string
		report       *Report
	}{
		{"table.txt", "table", pipes(t)},
		{"several.md", "markdown", pipes(t)},
		{"single.md", "markdown", single},
		{"one-differs.md", "markdown", compared(t, Options{Cells: []string{"x", "a|b <c>"}}, pipes(t).Inputs...)},
		{"compare.csv", "csv", pipes(t, "cost_usd", "cache_hit_ratio")},
		{"compare.json", "json", pipes(t, "cost_usd", "cache_hit_ratio", "added_latency_seconds")},
	} {
		t.Run(tc.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := Write(&got, tc.format, tc.report); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", tc.file)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
			}
		})
	}
}

// A table has the metrics of the run table, with or without a difference, and the one class of the cost that
// differs; CSV has all.
func TestShown(t *testing.T) {
	r := compared(t, Options{}, Input{"x", before()}, Input{"y", after()})
	want := []string{"cost_usd", "cache_hit_ratio", "misses", "compactions", "added_latency_seconds", "cost_usd_read"}
	var got []string
	for _, f := range r.selectFigures(&r.Comparisons[0]) {
		got = append(got, f.Metric.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics shown: %s", diff)
	}
	if all := r.data(); len(all.Rows) < 2*len(got) {
		t.Errorf("%d lines of all metrics, %d in the table", len(all.Rows), len(got))
	}
}

// A comment links nothing and pings nobody, whatever runs and sessions are called.
func TestMarkdownIsInert(t *testing.T) {
	for _, name := range []string{"@octocat", "fix #12", "a/b#1", "gh-3", "GH-3", "https://x.example/y", "www.x.example", "me@x.example"} {
		x, y := run(named(name, "c", nil, "abcdefg", 1), named("d", "d", nil, "abcdefg", 2)), run(named(name, "c", nil, "abcdef", 2), named("d", "d", nil, "abcdefg", 3))
		x.Cells[0].Rows.Edit(6, func(r *results.Row) { r.Session = name })
		for _, o := range []Options{{}, {Cells: []string{name}}} {
			var b strings.Builder
			if err := Write(&b, "markdown", compared(t, o, Input{name, x}, Input{"new", y})); err != nil {
				t.Fatal(err)
			}
			if found := regexp.MustCompile(`(?i)@\w|#\d|\bgh-\d|www\.\w|://`).FindString(b.String()); found != "" {
				t.Errorf("%s leaves %q:\n%s", name, found, b.String())
			}
			if !strings.Contains(b.String(), "\u200b") {
				t.Errorf("%s is not there", name)
			}
		}
	}
}

// The legend says how many comparisons there are, and of few sessions that intervals are
// too narrow.
func TestLegend(t *testing.T) {
	one := Comparison{Sessions: 40, Figures: []Figure{{Verdict: Chance}}}
	r := &Report{Level: 0.95, Resamples: 1000, Comparisons: []Comparison{one}}
	has := func(text string) bool { return strings.Contains(strings.Join(r.legend(), "\n"), text) }
	const boot, several, few = "paired bootstrap", "2 comparisons", "fewer than 30 sessions"
	if !has(boot) || has(several) || has(few) {
		t.Errorf("%q", r.legend())
	}
	one.Sessions = 29
	if r.Comparisons = append(r.Comparisons, one); !has(boot) || !has(several) || !has(few) {
		t.Errorf("of few sessions: %q", r.legend())
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := Write(io.Discard, "xml", pipes(t)); err == nil || !strings.Contains(err.Error(), "markdown") {
		t.Errorf("error %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

// No format reports success when the writer failed.
func TestWriteErrors(t *testing.T) {
	for _, format := range Formats() {
		if err := Write(fullDisk{}, format, pipes(t)); err == nil {
			t.Errorf("%s: the error of the writer was lost", format)
		}
	}
}
