package main

import (
	"bytes"
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The exit codes of sim export: 2 for what was asked wrongly or is no run, 1
// for what cannot be written.
func TestExportExitCodes(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if code, _, stderr := exec(t, "run", "--strategy", "recorded", "--out", at("run")); code != exitOK {
		t.Fatal(stderr)
	}
	for _, name := range []string{"key", "key.csv"} {
		if err := os.WriteFile(at(name), []byte("0123456789abcdef"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-o", at("a.csv"), at("run")}, exitOK, ""},
		{[]string{"-o", at("a.csv"), at("run")}, exitUsage, "exists"},
		{[]string{"-o", at("a.xls"), at("run")}, exitUsage, "unknown extension"},
		{[]string{"-o", at("b.csv")}, exitUsage, "no run"},
		{[]string{"-o", at("b.csv"), at("nowhere")}, exitUsage, "nowhere"},
		{[]string{"-o", at("b.csv"), at("run"), at("run")}, exitUsage, "--label"},
		{[]string{"-o", at("b.csv"), at("run"), "--anonymize"}, exitUsage, "needs a key"},
		{[]string{"-o", at("nowhere/b.csv"), at("run")}, exitRuntime, "nowhere"},
		{[]string{"-o", at("c.csv"), at("run"), "--anonymize", "--new-anonymize-key", at("nowhere/key")}, exitRuntime, "write the key"},
		{[]string{"-o", at("c.csv"), at("run"), "--anonymize", "--anonymize-key", at("key")}, exitOK, ""},
		{[]string{"-o", at("d.csv"), at("run"), "--anonymize", "--new-anonymize-key", at("d.csv")}, exitUsage, "cannot be one file"},
		{[]string{"-o", at("d.csv"), at("run"), "--anonymize", "--new-anonymize-key", at("x/../d.csv.meta.json")}, exitUsage, "cannot be one file"},
		{[]string{"-o", at("key.csv"), at("run"), "--force", "--anonymize", "--anonymize-key", at("key.csv")}, exitUsage, "cannot be one file"},
		{[]string{"-o", at("run/rows.jsonl"), at("run"), "--force"}, exitUsage, "the run itself"},
	} {
		code, _, stderr := exec(t, append([]string{"export"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("sim export %s: exit %d, %q; want %d and %q", strings.Join(tc.args, " "), code, stderr, tc.code, tc.says)
		}
	}
	if isThere(at("d.csv")) {
		t.Error("a refused export leaves a file")
	}
}

// An interrupted export exits with 130 and leaves no file.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "rows.parquet")
	if code, _, stderr := exec(t, "run", "--strategy", "recorded", "--out", run); code != exitOK {
		t.Fatal(stderr)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := execute(ctx, []string{"export", run, "-o", out}, strings.NewReader(""), &stdout, &stderr); code != exitInterrupted {
		t.Errorf("exit %d (%s), want %d", code, stderr.String(), exitInterrupted)
	}
	if isThere(out) {
		t.Error("a file is left")
	}
}

// A key that was made is one that only its owner may read, and another one each
// time.
func TestNewKey(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if code, _, stderr := exec(t, "run", "--strategy", "recorded", "--out", run); code != exitOK {
		t.Fatal(stderr)
	}
	keys := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(dir, name)
		if code, _, stderr := exec(t, "export", run, "-o", file+".csv", "--anonymize", "--new-anonymize-key", file); code != exitOK {
			t.Fatal(stderr)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		key, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keys[string(key)] = true
		for _, out := range []string{file + ".csv", file + ".csv.meta.json"} {
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, bytes.TrimSpace(key)) {
				t.Errorf("%s holds the key", out)
			}
		}
	}
	if len(keys) != 2 {
		t.Error("the same key twice")
	}
}

// The commands of docs/analysis.md that are not of sim print what stands below
// them, and its Go code is that of the example.
func TestAnalysisDocument(t *testing.T) {
	file, err := filepath.Abs("../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../reports/export/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if code := fenced(t, string(text), "go"); !strings.Contains(string(example), code) {
		t.Errorf("this is not in example_test.go:\n%s", code)
	}
	if _, err := osexec.LookPath("awk"); err != nil {
		t.Skip("no awk")
	}
	commands := consoles(t, file)
	t.Chdir(t.TempDir())
	for _, c := range commands {
		if code, _, stderr := exec(t, c.args...); code != exitOK {
			t.Fatalf("%s:%d: %s", c.file, c.line, stderr)
		}
	}
	out, err := osexec.CommandContext(context.Background(), "sh", "-c", fenced(t, string(text), "sh")).CombinedOutput()
	if want := fenced(t, string(text), "text"); err != nil || string(out) != want {
		t.Errorf("%v: the command prints\n%s, want\n%s", err, out, want)
	}
}

// fenced returns the only block of a language in a document.
func fenced(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("no block of %s", language)
	}
	return block
}
