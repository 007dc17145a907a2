package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
)

// A dash stands where no call of a period has a price; a period without calls costs $0, and so does a model whose price is zero.
func TestAgentsWithoutAPrice(t *testing.T) {
	group := func(agent string, calls, unpriced int, usd float64) audit.Group {
		g := audit.Group{Names: []string{agent}, Unpriced: unpriced}
		g.Calls, g.USD, g.Uncached = calls, usd, int64(calls)
		return g
	}
	bill := func(groups ...audit.Group) *audit.Breakdown {
		b := &audit.Breakdown{Groups: groups}
		for i := range groups {
			b.Total.Calls, b.Total.Unpriced, b.Total.USD = b.Total.Calls+groups[i].Calls, b.Total.Unpriced+groups[i].Unpriced, b.Total.USD+groups[i].USD
		}
		return b
	}
	table := byAgent(bill(group("a", 5, 0, 2), group("b", 3, 3, 0), group("c", 4, 0, 0), group("d", 2, 1, 1)),
		bill(group("a", 5, 0, 2), group("b", 3, 3, 0), group("c", 4, 0, 0), group("d", 1, 1, 0)), bill(group("d", 1, 0, 1)))
	want := [][]any{ // cost, the last week, the week before; the last line is the sum
		{2.0, 2.0, 0.0}, {document.Dash, document.Dash, 0.0}, {0.0, 0.0, 0.0}, {1.0, document.Dash, 1.0}, {3.0, 2.0, 1.0},
	}
	for i, row := range table.Rows {
		if got := []any{row[1], row[7], row[8]}; !slices.Equal(got, want[i]) {
			t.Errorf("line %d: %v, want %v", i+1, got, want[i])
		}
	}
	if len(table.Rows) != len(want) {
		t.Errorf("%d rows, want %d", len(table.Rows), len(want))
	}
}

// The README shows what sim alone prints on the generated sessions that it names, to the letter, at the end of their four weeks.
func TestReadmeShowsTheBill(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.UTC // days are local ones
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const gen = "sim traces gen --profile long-refactor --sessions 28"
	if !strings.Contains(string(readme), "`"+gen+"`") {
		t.Errorf("README.md does not name %s", gen)
	}
	if code, _, errs := exec(t, append(strings.Fields(gen)[1:], "-o", filepath.Join(home, ".claude", "projects", "ledger"))...); code != exitOK {
		t.Fatal(errs)
	}
	var out bytes.Buffer
	cmd, f := &cobra.Command{Use: "sim"}, new(traceFlags)
	f.bind(cmd)
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	if err := f.begin(cmd, nil, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```\n"+out.String()+"```\n") {
		t.Errorf("README.md does not show this output of sim:\n%s", out.String())
	}
}
