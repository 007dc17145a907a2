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
	for _, head := range regexp.MustCompile(`(?s)<<'HEAD'\n(.*?)\nHEAD\n`).FindAllStringSubmatch(script, -1) {
		for _, line := range pageLines(head[1]) {
			if !slices.Contains(page, line) {
				t.Errorf("docs/ranking.md has no line %q of docs/rank", line)
			}
		}
	}
	// Sessions in which no strategy acts are left out: on the page one acts in each, and here this one does.
	everywhere := filepath.Join(t.TempDir(), "everywhere.yaml")
	keep(t, everywhere, []byte("name: everywhere\nlayers:\n  - truncate-oldest: {trigger: {fixed: 1}, keep: {messages: 2}}\n"))
	names := []string{everywhere, "own"}
	for _, line := range page {
		if cells := strings.Split(line, "|"); len(cells) > 2 && placed.MatchString(cells[1]) && len(names) < 4 {
			names = append(names, strings.TrimSpace(cells[2]))
		}
	}
	code, out, errs := exec(t, "rank", dir, "-q", "--no-store", "--format", "markdown", "--sensitivity", "--strategy", strings.Join(names, ","))
	if code != exitOK {
		t.Fatal(errs)
	}
	held, elsewhere := 0, false
	for _, line := range pageLines(out) {
		if strings.HasPrefix(line, "**") { // there the page ranks the strategies in front alone, which act in fewer sessions
			elsewhere = strings.Contains(strings.ToLower(line), "at another window")
		}
		switch {
		case elsewhere, strings.HasPrefix(line, "window "):
		case strings.HasPrefix(line, "not shown"), strings.HasPrefix(line, "What survives"), strings.HasPrefix(line, "# "), strings.Contains(line, "everywhere"):
		case !slices.ContainsFunc(page, func(shown string) bool { return unplaced(shown) == unplaced(line) }):
			t.Errorf("docs/ranking.md has no line like %q: docs/rank makes it anew", line)
		case strings.HasPrefix(line, "|"):
			held++
		}
	}
	if held < 9 {
		t.Errorf("%d lines of tables are held, of %v", held, names)
	}
}

func pageLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

var (
	bracketed = regexp.MustCompile(` \(\d+\)`)
	placed    = regexp.MustCompile(`^ +\d+(–\d+)? *$`)
	spaces    = regexp.MustCompile(`[ :-]+`)
)

// unplaced returns a line of a table without the places, and without what the widths of other lines make of the rest.
func unplaced(line string) string {
	line = bracketed.ReplaceAllString(line, "")
	if cells := strings.Split(line, "|"); len(cells) > 2 && placed.MatchString(cells[1]) {
		line = strings.Join(cells[2:], "|")
	} else if n := len(cells) - 2; n > 0 && placed.MatchString(cells[n]) { // over all assumptions
		line = strings.Join(cells[:n], "|")
	}
	return spaces.ReplaceAllString(line, " ")
}

// What a ranking and docs/validation.md say of the agent's own strategy is what sim validate finds on the recordings.
func TestFired(t *testing.T) {
	t.Parallel()
	const recordings = "../../../shared/traces/claude-code"
	if _, err := os.Stat(recordings); err != nil {
		t.Skip(err)
	}
	_, out, _ := exec(t, "validate", "-q", "--no-store", "--strategy", "own", "--format", "markdown", recordings)
	found := regexp.MustCompile(`fires at the very call of (\d+ of \d+) automatic compactions`).FindStringSubmatch(out)
	if found == nil {
		t.Fatal(out)
	}
	for page, says := range map[string]string{
		"ranking.md": "finds " + found[1] + " automatic compactions of Claude Code at the very call", "validation.md": "compacts at the very call of " + found[1] + " automatic",
	} {
		if text, err := os.ReadFile(filepath.Join("../../docs", page)); err != nil || !strings.Contains(string(text), says) {
			t.Errorf("docs/%s does not say %q: %v", page, says, err)
		}
	}
}
