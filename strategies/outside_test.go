package strategies

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block returns the n-th block of a language in a document.
func block(t *testing.T, document, language string, n int) string {
	t.Helper()
	parts := strings.Split(document, "\n```"+language+"\n")
	if len(parts) <= n+1 {
		t.Fatalf("the document has no block %d of %q", n, language)
	}
	text, _, _ := strings.Cut(parts[n+1], "\n```\n")
	return text + "\n"
}

// The program of docs/write-a-strategy.md runs in a module of its own, in at most 60 lines
// behind its imports, and prints what the document says; the strategy of parts is valid.
func TestStrategyFromOutside(t *testing.T) {
	text, err := os.ReadFile("../docs/write-a-strategy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	r := builtin(t)
	if err := r.AddPreset([]byte(block(t, page, "yaml", 0)), "mine.yaml"); err != nil {
		t.Error(err)
	}
	mine, _ := r.Strategy("mine")
	if odd := mine.Odd(&Reading{Window: 200_000, MaxOutput: 32_000}); len(odd) > 0 {
		t.Errorf("odd: %q", odd)
	}
	program := block(t, page, "go", 0)
	_, after, _ := strings.Cut(program, ")\n\n")
	if n := strings.Count(after, "\n"); n > 60 {
		t.Errorf("%d lines behind the imports", n)
	}
	if testing.Short() {
		return
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(module), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	for name, content := range map[string]string{
		"go.mod": "module example.com/mine\ngo " + version + "\n", "main.go": program,
		// In a workspace the packages are those that the tests have compiled: nothing but the program is compiled anew.
		"go.work": "go " + version + "\nuse (\n.\n" + root + "\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=")
	out, err := cmd.CombinedOutput()
	if want := block(t, page, "text", 0); err != nil || string(out) != want {
		t.Errorf("%v, it prints\n%swant\n%s", err, out, want)
	}
}

// What is odd in a strategy is told.
func TestOdd(t *testing.T) {
	for layer, want := range map[string]string{
		"full-compact: {trigger: {fixed: 90000}, keep: {tokens: 20000}}":                          "",
		"full-compact: {trigger: {fixed: 90000}, keep: {tokens: 90000}}":                          "keep.tokens keeps 90000",
		"full-compact: {trigger: {fixed: 90000}, keep: {window: 0.5}}":                            "keep.window keeps 100000",
		"full-compact: {trigger: {measure: messages, fixed: 20}, keep: {first: 4, messages: 16}}": "keep.messages keeps 20",
		"distil: {trigger: {measure: prompts, fixed: 2}, keep: {prompts: 2}}":                     "keep.prompts keeps 2",
		"clear: {trigger: {fixed: 1000}, when: {all: [{fixed: 250000}]}}":                         "when.all[0] asks for 250000",
		"truncate-oldest: {trigger: {fixed: 1000}, keep: {tokens: 2000}}":                         "keep.tokens keeps 2000",
		"truncate-oldest: {enabled: false, trigger: {fixed: 1000}}":                               "no layer is on",
	} {
		r := builtin(t)
		if err := r.AddPreset([]byte("name: test\nlayers:\n  - "+layer+"\n"), "test.yaml"); err != nil {
			t.Fatal(err)
		}
		s, _ := r.Strategy("test")
		if got := strings.Join(s.Odd(&Reading{Window: 200_000, MaxOutput: 32_000}), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", layer, got, want)
		}
	}
}
