package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// first are examples of other commands and files that some examples need: a run to report, a strategy of one's own, a session.
var first = []string{"sim run ~/.claude/projects --out before"}

// blocked are examples that serve until they are stopped or need more time than a test has, what follows them, and placeholders.
var blocked = []string{"sim view", "sim record", "sim rank", "sim audit requests", "sim run ~/.claude/projects --out before", "SESSION"}

// empty is what an example may end with where the samples have no session for it: they end in March 2026.
var empty = regexp.MustCompile(`no session passes the filter`)

// Every example of every command's help runs, for somebody who types it with his own sessions in their usual places.
func TestExamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of processor time")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Chdir(t.TempDir())
	for _, dir := range []string{".claude/projects", ".codex/sessions"} {
		if err := os.CopyFS(filepath.Join(home, dir), synthetic.Samples()); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, filepath.Join(home, "sim.key"), []byte(strings.Repeat("key ", 8)))
	keep(t, "mine.yaml", []byte("name: mine\nlayers:\n  - full-compact: {trigger: {fixed: 100000}}\n"))
	if code, _, errs := exec(t, "traces", "gen", "--profile", "chat", "--sessions", "1", "-o", "one"); code != exitOK {
		t.Fatal(errs)
	}
	one, err := filepath.Glob("one/*.jsonl")
	if err != nil || len(one) == 0 {
		t.Fatalf("%v, %d files", err, len(one))
	}
	if err := os.Rename(one[0], "session.jsonl"); err != nil {
		t.Fatal(err)
	}
	lines := slices.Clone(first)
	for _, c := range everyVerb(newRoot()) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "sim ") && !slices.Contains(lines, line) && !slices.ContainsFunc(blocked, func(b string) bool { return strings.Contains(line, b) }) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) < 40 {
		t.Errorf("%d examples, want 40 and more", len(lines))
	}
	for _, line := range lines {
		if code, _, errs := exec(t, words(line, home)...); code != exitOK && !(code == exitUsage && empty.MatchString(errs)) {
			t.Errorf("%s: exit code %d: %s", line, code, errs)
		}
	}
}

// quotedWord is a word of a command line, or one in quotes.
var quotedWord = regexp.MustCompile(`'[^']*'|[^ ']+`)

// words splits a command line, without its program, as a shell does.
func words(line, home string) []string {
	var list []string
	for _, w := range quotedWord.FindAllString(line, -1)[1:] {
		w = strings.Trim(w, "'")
		if strings.HasPrefix(w, "~/") {
			w = filepath.Join(home, w[2:])
		}
		list = append(list, w)
	}
	return list
}
