package main

import (
	"os"
	shell "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/public/fetch takes files by their content: from repositories though they are in no branch any more, and from folders under
// any name, packed or not. A file that nobody has is named, and the rest is there, whatever else cannot be unpacked.
func TestFetchPublic(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "git", "awk", "gzip"} {
		if _, err := shell.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	run := func(in, name string, args ...string) (string, error) {
		cmd := shell.Command(name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GIT_BASE=file://"+dir+"/hub", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	file := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		keep(t, path, []byte(text))
	}
	hub := filepath.Join(dir, "hub", "someone", "work")
	file(filepath.Join(hub, "00", "full.jsonl"), "{\"a\":1}\n")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "a"}, {"rm", "-q", "00/full.jsonl"}, {"commit", "-qm", "b"},
		{"config", "uploadpack.allowAnySHA1InWant", "true"}, {"config", "uploadpack.allowFilter", "true"},
	} {
		if out, err := run(hub, "git", args...); err != nil {
			t.Fatal(out)
		}
	}
	script, err := os.ReadFile("../../docs/public/fetch")
	if err != nil {
		t.Fatal(err)
	}
	// The blobs of {"a":1} and {"b":2}, each with a newline, as git hash-object names them. Nobody has the second.
	const first, other = "0187f3b09d66cef7911083ad49f890f5a6589589", "8d21d7b55b5a365a1b50e45f751361e3a0895c2d"
	file(filepath.Join(dir, "docs", "sessions.tsv"), "repository\tpath\tlicence\tblob\n"+
		"someone/work\t00/full.jsonl\tMIT\t"+first+"\nsomeone/work\t01/full.jsonl\tMIT\t"+other+"\n")
	file(filepath.Join(dir, "docs", "fetch"), string(script))
	file(filepath.Join(dir, "copies", "any name.jsonl"), "{\"a\":1}\n")
	file(filepath.Join(dir, "copies", "cut short.jsonl.gz"), "\x1f\x8b")
	for _, args := range [][]string{{"git"}, {"folder", "copies"}} {
		out, err := run(dir, "bash", append([]string{"docs/fetch", "sessions"}, args...)...)
		if err == nil || !strings.Contains(out, "missing: someone__work/01/full.jsonl\n") || !strings.Contains(out, "1 of 2 files in "+args[0]) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if b, err := os.ReadFile(filepath.Join(dir, args[0], "someone__work", "00", "full.jsonl")); string(b) != "{\"a\":1}\n" {
			t.Errorf("%v: %q, %v", args, b, err)
		}
	}
}

// The list of the public workload has a repository, a path, a licence that lets others use the file, and a blob in each line.
func TestPublicSessions(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/public/sessions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[\w.-]+/[\w.-]+\t[\w./-]+\.jsonl\tMIT\t[0-9a-f]{40}$`)
	seen := map[string]bool{}
	for i, text := range pageLines(string(b)) {
		if i > 0 && (!line.MatchString(text) || seen[text]) {
			t.Errorf("line %d: %s", i+1, text)
		}
		seen[text] = true
	}
}
