package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/compactsim/compactsim/traces/synthetic"
)

func TestMain(m *testing.M) {
	testscript.Main(homeless{m}, map[string]func(){"sim": main})
}

// homeless runs tests in an environment without the sessions of who runs them: with
// an empty home folder, and no agent's own variable.
type homeless struct{ tests *testing.M }

func (h homeless) Run() int {
	home, err := os.MkdirTemp("", "sim-home-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	for name, value := range map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_CACHE_HOME": ""} {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	debug.SetGCPercent(400) // hundreds of thousands of small readings: a sixth of the processor time was collection
	return h.tests.Run()
}

// TestScripts runs the transcripts of testdata/script; each may read the
// samples in $SAMPLES.
func TestScripts(t *testing.T) {
	t.Parallel()
	samples := t.TempDir()
	if err := os.CopyFS(samples, synthetic.Samples()); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"damage": damage},
		Setup: func(e *testscript.Env) error {
			e.Setenv("SAMPLES", samples)
			return nil
		},
	})
}

// damage changes a byte in the middle of every file of a folder.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	names, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*"))
	ts.Check(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		ts.Check(err)
		text[len(text)/2] ^= 1
		ts.Check(os.WriteFile(name, text, 0o600))
	}
}

func exec(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The exit codes of the command, and a message that says what to do.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := filepath.Dir(write("notes/readme.txt", "no sessions here"))
	broken := write("broken.jsonl", "{\"type\":\"user\"\n")
	prices := write("prices.yaml", "schema: 1\nmodels:\n  - nmae: x\n")
	call := func(model, input string) string {
		return write(model+"/s.jsonl", fmt.Sprintf(`{"type":"assistant","sessionId":"s","uuid":"1","message":{"id":"m","model":%q,"content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":%s,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}}`, model, input))
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"run", exitOK, ""},
		{"--version", exitOK, ""},
		{"frobnicate", exitUsage, `unknown command "frobnicate"`},
		{"traces frobnicate", exitUsage, `unknown command "frobnicate"`},
		{"run --frobnicate", exitUsage, "unknown flag --frobnicate"},
		{"run --set full-compact.trigger.fixed=-100", exitUsage, "fixed -100 must not be negative"},
		{"run --strategy=", exitUsage, "names none"},
		{"explain 38c5 0", exitUsage, "calls count from 1"},
		{"help foo", exitUsage, `unknown command "foo"; see sim --help`},
		{"help traces lint", exitUsage, `did you mean "fit"?`},
		{"run --strategy recored", exitUsage, `did you mean "recorded"?`},
		{"run --strategy nnone,truncate", exitUsage, `unknown strategy "truncate"`},
		{"run --format tabel", exitUsage, `did you mean "table"?`},
		{"run --chart cost.gif", exitUsage, "gif"},
		{"run --prices-at yesterday", exitUsage, "want call or a date"},
		{"run --price-as nonsense", exitUsage, "A=B"},
		{"run --price-as a=claude-opus-9", exitUsage, "claude-opus"},
		{"run --prices " + prices, exitUsage, "prices.yaml:3"},
		{"run --window -1", exitUsage, "must not be negative"},
		{"run --workers -1", exitUsage, "must not be negative"},
		{"run --quiet --verbose", exitUsage, "--quiet and --verbose exclude each other"},
		{"run " + filepath.Join(dir, "nowhere"), exitUsage, "nowhere"},
		{"run " + notes, exitUsage, "no sessions"},
		{"run " + broken, exitUsage, "no sessions"},
		{"run --strict " + broken, exitUsage, "broken.jsonl:1"},
		{"audit --strict " + broken, exitUsage, "broken.jsonl:1"},
		{"run --strict " + call("acme-9", "12"), exitUsage, `no price for model "acme-9"`},
		{"audit --strict " + call("acme-9", "12"), exitUsage, `no price for model "acme-9"`},
		{"advise --strict " + call("acme-9", "12"), exitUsage, `no price for model "acme-9"`},
		{"run --strict " + call("claude-opus-4-6", "null"), exitUsage, "session s: 1 of 1 call has missing, unreadable, contradictory or unfinished token counts"},
		{"explain", exitUsage, "sim traces ls"},
		{"explain zzz", exitUsage, "no session zzz"},
		{"traces ls", exitOK, ""},
	} {
		code, _, stderr := exec(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("sim %s: exit %d, %q; want %d and %q", tc.args, code, stderr, tc.code, tc.says)
		}
	}
}

// Several problems of one command line are reported at once.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	code, _, stderr := exec(t, "run", "--strategy", "nnone,truncate", "--window", "-3")
	for _, want := range []string{`"nnone"`, `"truncate"`, "-3"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%s is not reported in %q", want, stderr)
		}
	}
	if code != exitUsage {
		t.Errorf("exit %d, want %d", code, exitUsage)
	}
}

// An interrupted run exits with 130.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(ctx, []string{"run"}, strings.NewReader(""), &out, &errs); code != exitInterrupted {
		t.Errorf("exit %d (%s), want %d", code, errs.String(), exitInterrupted)
	}
}

// Results do not depend on workers, nor on the order of paths.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	samples := t.TempDir()
	if err := os.CopyFS(samples, synthetic.Samples()); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, name := range []string{"short-fix", "long-refactor", "exploration", "fan-out", "overnight"} {
		paths = append(paths, filepath.Join(samples, name))
	}
	args := []string{"run", "--format", "csv", "--per-session", "--verify"}
	_, want, _ := exec(t, append(append(args, "--workers", "1"), paths...)...)
	if strings.Count(want, "\n") < 6*5 {
		t.Fatalf("too few rows:\n%s", want)
	}
	for i, j := 0, len(paths)-1; i < j; i, j = i+1, j-1 {
		paths[i], paths[j] = paths[j], paths[i]
	}
	if _, got, _ := exec(t, append(append(args, "--workers", "7"), paths...)...); got != want {
		t.Error("other workers and another order of paths give other rows")
	}
}

// The README shows what `sim run` prints, to the letter.
func TestReadmeShowsTheRun(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, out, _ := exec(t, "run")
	if !strings.Contains(string(readme), "```\n"+out+"```\n") {
		t.Errorf("README.md does not show this output of sim run:\n%s", out)
	}
}
