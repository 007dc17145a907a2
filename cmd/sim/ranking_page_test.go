package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/ranking.md is what docs/rank makes: the head, the notes, and of some strategies all figures but the places, which
// depend on all other strategies. A strategy that acts in every session has all ranked here too.
func TestRankingPage(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	dir := t.TempDir()
	script := read("rank")
	workloads := regexp.MustCompile(`(?m)^for workload in (.*); do$`).FindStringSubmatch(script)
	sessions := regexp.MustCompile(`--sessions (\d+) `).FindStringSubmatch(script)
	if workloads == nil || sessions == nil {
		t.Fatalf("no workloads in\n%s", script)
	}
	for _, name := range strings.Fields(workloads[1]) {
		if code, _, errs := exec(t, "traces", "gen", "--profile", name, "--sessions", sessions[1], "-o", filepath.Join(dir, name)); code != exitOK {
			t.Fatal(errs)
		}
	}
	page := pageLines(read("ranking.md"))
	// Sessions in which no strategy acts are left out: on the page one acts in each, and here this one does.
	everywhere := filepath.Join(t.TempDir(), "everywhere.yaml")
	keep(t, everywhere, []byte("name: everywhere\nlayers:\n  - truncate-oldest: {trigger: {fixed: 1}, keep: {messages: 2}}\n"))
	names := []string{everywhere, "own"}
	for _, line := range page {
		if cells := strings.Split(line, "|"); len(cells) > 2 && placed.MatchString(cells[1]) && len(names) < 6 {
			names = append(names, strings.TrimSpace(cells[2]))
		}
	}
	code, out, errs := exec(t, "rank", dir, "-q", "--no-store", "--format", "markdown", "--strategy", strings.Join(names, ","))
	if code != exitOK {
		t.Fatal(errs)
	}
	held := 0
	for _, line := range pageLines(out) {
		switch {
		case strings.HasPrefix(line, "not shown"), strings.HasPrefix(line, "What survives"), strings.HasPrefix(line, "# "), strings.Contains(line, "everywhere"):
		case !slices.ContainsFunc(page, func(shown string) bool { return unplaced(shown) == unplaced(line) }):
			t.Errorf("docs/ranking.md has no line like %q: docs/rank makes it anew", line)
		case strings.HasPrefix(line, "|"):
			held++
		}
	}
	if held < 12 {
		t.Errorf("%d lines of tables are held, of %v", held, names)
	}
}

func pageLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

var (
	bracketed = regexp.MustCompile(` \(\d+\)`)
	placed    = regexp.MustCompile(`^ \d+(–\d+)? *$`)
	spaces    = regexp.MustCompile(`[ :-]+`)
)

// unplaced returns a line of a table without the places, and without what the widths of other lines make of the rest.
func unplaced(line string) string {
	line = bracketed.ReplaceAllString(line, "")
	if cells := strings.Split(line, "|"); len(cells) > 2 && placed.MatchString(cells[1]) {
		line = strings.Join(cells[2:], "|")
	}
	return spaces.ReplaceAllString(line, " ")
}
