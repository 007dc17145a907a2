package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recordedRun returns the folder of a run of the samples, kept by --out: one for all
// tests that read it.
func recordedRun(t *testing.T) string {
	t.Helper()
	dir, err := keptRun()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// keptRun makes the folder of recordedRun in the home folder of the tests, with which
// it goes.
var keptRun = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.Getenv("HOME"), "recorded")
	var out, errs bytes.Buffer
	args := []string{"run", "--strategy", "recorded", "--out", dir}
	if code := execute(context.Background(), args, strings.NewReader(""), &out, &errs); code != exitOK {
		return "", fmt.Errorf("exit %d: %s", code, errs.String())
	}
	return dir, nil
})

// The exit codes of sim export: 2 for what was asked wrongly or is no run, 1
// for what cannot be written.
func TestExportExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := recordedRun(t)
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
		{[]string{"-o", at("a.csv"), run}, exitOK, ""},
		{[]string{"-o", at("a.csv"), run}, exitUsage, "exists"},
		{[]string{"-o", at("a.xls"), run}, exitUsage, "unknown extension"},
		{[]string{"-o", at("b.csv")}, exitUsage, "no run"},
		{[]string{"-o", at("b.csv"), at("nowhere")}, exitUsage, "nowhere"},
		{[]string{"-o", at("b.csv"), run, run}, exitUsage, "--label"},
		{[]string{"-o", at("b.csv"), run, "--anonymize"}, exitUsage, "needs a key"},
		{[]string{"-o", at("nowhere/b.csv"), run}, exitUsage, "there is no folder"},
		{[]string{"-o", at("c.csv"), run, "--anonymize", "--new-anonymize-key", at("nowhere/key")}, exitRuntime, "write the key"},
		{[]string{"-o", at("c.csv"), run, "--anonymize", "--anonymize-key", at("key")}, exitOK, ""},
		{[]string{"-o", at("d.csv"), run, "--anonymize", "--new-anonymize-key", at("d.csv")}, exitUsage, "cannot be one file"},
		{[]string{"-o", at("d.csv"), run, "--anonymize", "--new-anonymize-key", at("x/../d.csv.meta.json")}, exitUsage, "cannot be one file"},
		{[]string{"-o", at("key.csv"), run, "--force", "--anonymize", "--anonymize-key", at("key.csv")}, exitUsage, "cannot be one file"},
		{[]string{"-o", filepath.Join(run, "rows.jsonl"), run, "--force"}, exitUsage, "the run itself"},
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
	t.Parallel()
	dir := t.TempDir()
	run, out := recordedRun(t), filepath.Join(dir, "rows.parquet")
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

// The commands of docs/analysis.md that are not of sim print what stands below
// them, and its Go code is that of the example.
func TestAnalysisDocument(t *testing.T) {
	if apart(t) {
		return
	}
	file, err := filepath.Abs("../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../internal/export/example_test.go")
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
