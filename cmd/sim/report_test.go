package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
)

// A page is made of a run that is whole, or not at all; what stands at its place stays then, and is replaced else.
func TestReportOfBadRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, stderr := exec(t, "run", "-q", "--strategy", "none", "--out", filepath.Join(dir, "kept")); code != 0 {
		t.Fatal(stderr)
	}
	rows, err := os.ReadFile(filepath.Join(dir, "kept", outputs.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile(filepath.Join(dir, "kept", outputs.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page := write("page.html", "of before")
	number := regexp.MustCompile(`"output":\d+\.\d+`)
	for name, tc := range map[string]struct{ rows, says string }{
		"schema": {strings.Replace(string(rows), `"schema":2,`, `"schema":99,`, 1), "rows.jsonl:1: schema 99, this version reads schema 2"},
		"nan":    {number.ReplaceAllString(string(rows), `"output":NaN`), "rows.jsonl:2: "},
		"empty":  {"", "rows.jsonl:1: empty file"},
		"none":   {strings.SplitAfter(string(rows), "\n")[0], "the file was cut short"},
	} {
		write(name+"/"+outputs.RowsFile, tc.rows)
		write(name+"/"+outputs.SummaryFile, string(summary)) // tells a run from sessions
		code, _, stderr := exec(t, "report", "-q", filepath.Join(dir, name), "-o", page)
		if code != 2 || !strings.Contains(stderr, tc.says) {
			t.Errorf("%s: exit code %d, %q; want 2 and %q", name, code, stderr, tc.says)
		}
	}
	read := func() string {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := read(); text != "of before" {
		t.Errorf("a run that cannot be read left %.40q", text)
	}
	if code, _, stderr := exec(t, "report", "-q", filepath.Join(dir, "kept"), "-o", page); code != 0 || !strings.HasPrefix(read(), "<!doctype html>") {
		t.Errorf("exit code %d, %s: the page has %.40q", code, stderr, read())
	}
	if code, _, stderr := exec(t, "report", "-q", write("none/empty.jsonl", ""), "-o", page); code == 0 {
		t.Errorf("a page of no sessions was written: %s", stderr)
	}
}
