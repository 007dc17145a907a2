package compactsim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The worked examples of CONTRIBUTING.md are changes of the program as it is, and what they
// add passes its test. Files are laid over the tree's files, which stay as they are.
func TestWorkedExamples(t *testing.T) {
	builds(t)
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range strings.Split(string(text), "\n## Worked example: ")[1:] {
		name, rest, _ := strings.Cut(example, "\n")
		t.Run(name, func(t *testing.T) {
			_, rest, _ = strings.Cut(rest, "```diff\n")
			diff, _, found := strings.Cut(rest, "```")
			if !found {
				t.Fatal("no diff")
			}
			overlay, tests := laidOver(t, diff)
			for _, dir := range tests {
				// Vet would look for the folder of an added package on disk.
				out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run", testsIn(diff), "./"+dir).CombinedOutput()
				if err != nil || strings.Contains(string(out), "no tests to run") {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}

// laidOver writes the files that a change leads to and returns the list that go takes
// for -overlay, and the folders of the tests that it adds.
func laidOver(t *testing.T, diff string) (overlay string, tests []string) {
	dir := t.TempDir()
	replace := map[string]string{}
	for _, change := range strings.Split("\n"+diff, "\n--- ")[1:] {
		head, hunks, _ := strings.Cut(change, "\n@@\n")
		from, to, _ := strings.Cut(head, "\n+++ b/")
		var file string
		if from != "/dev/null" {
			b, err := os.ReadFile(strings.TrimPrefix(from, "a/"))
			if err != nil {
				t.Fatal(err)
			}
			file = string(b)
		}
		for hunk := range strings.SplitSeq(hunks, "\n@@\n") {
			was, is := sides(hunk)
			if from != "/dev/null" && strings.Count(file, was) != 1 {
				t.Fatalf("%s has this %d times:\n%s", to, strings.Count(file, was), was)
			}
			file = strings.Replace(file, was, is, 1)
		}
		path, err := filepath.Abs(to)
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = filepath.Join(dir, strings.ReplaceAll(to, "/", "_"))
		if err := os.WriteFile(replace[path], []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(to, "_test.go") {
			tests = append(tests, filepath.ToSlash(filepath.Dir(to)))
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay, tests
}

// sides returns the lines of a hunk before and after the change.
func sides(hunk string) (was, is string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(hunk, "\n"), "\n") {
		text := line[min(1, len(line)):] + "\n"
		if !strings.HasPrefix(line, "+") {
			was += text
		}
		if !strings.HasPrefix(line, "-") {
			is += text
		}
	}
	return was, is
}

// testsIn returns the pattern of the tests that a change adds.
func testsIn(diff string) string {
	var names []string
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+func Test"); ok {
			name, _, _ = strings.Cut(name, "(")
			names = append(names, "Test"+name)
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
