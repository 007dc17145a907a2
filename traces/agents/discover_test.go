package agents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces/facts"
)

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// The folders are those the agents' own documentation names.
func TestPlaces(t *testing.T) {
	home, data := filepath.FromSlash("/home/me"), "/d"
	if runtime.GOOS == "windows" {
		data = "C:/d" // a path without a drive is relative there
	}
	for _, tc := range []struct {
		name string
		home string
		env  map[string]string
		want []string
	}{
		{"usual", home, nil, []string{
			"claude-code /home/me/.claude/projects", "claude-code /home/me/.config/claude/projects",
			"codex /home/me/.codex/sessions",
			"opencode /home/me/.local/share/opencode/opencode.db", "opencode /home/me/.local/share/kilo/kilo.db", "opencode /home/me/.local/share/opencode/storage/session",
			"pi /home/me/.pi/agent/sessions", "pi /home/me/.omp/agent/sessions", "gemini-cli /home/me/.gemini/tmp", "copilot-cli /home/me/.copilot/session-state", "deepseek-harness /home/me/.dsh/sessions", "cline /home/me/.cline/data/sessions", "kimi-code /home/me/.kimi-code/sessions", "qwen-code /home/me/.qwen/projects", "continue /home/me/.continue/sessions", "mini-swe-agent /home/me/.config/mini-swe-agent", "goose /home/me/.local/share/goose/sessions/sessions.db",
		}},
		{"variables", home, map[string]string{
			"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "PI_CODING_AGENT_DIR": "/p", "XDG_DATA_HOME": data, "XDG_CONFIG_HOME": "/unused",
			"COPILOT_OTEL_FILE_EXPORTER_PATH": "/t/spans.jsonl",
			"GEMINI_CLI_HOME":                 "/g", "COPILOT_HOME": "/h", "DSH_HOME": "/dsh",
		}, []string{
			"claude-code /c/projects", "codex /x/sessions", "opencode " + data + "/opencode/opencode.db", "opencode " + data + "/kilo/kilo.db", "opencode " + data + "/opencode/storage/session", "pi /p/sessions", "pi /home/me/.omp/agent/sessions",
			"gemini-cli /g/.gemini/tmp", "copilot-cli /h/session-state", "deepseek-harness /dsh/sessions", "cline /home/me/.cline/data/sessions", "kimi-code /home/me/.kimi-code/sessions", "qwen-code /home/me/.qwen/projects", "continue /home/me/.continue/sessions", "mini-swe-agent /home/me/.config/mini-swe-agent", "goose " + data + "/goose/sessions/sessions.db", "otel /t/spans.jsonl",
		}},
		{"relative XDG folders are ignored", home, map[string]string{"XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d", "CODEX_HOME": "/x", "PI_CODING_AGENT_DIR": "/p"}, []string{
			"claude-code /home/me/.claude/projects", "claude-code /home/me/.config/claude/projects", "codex /x/sessions",
			"opencode /home/me/.local/share/opencode/opencode.db", "opencode /home/me/.local/share/kilo/kilo.db", "opencode /home/me/.local/share/opencode/storage/session", "pi /p/sessions", "pi /home/me/.omp/agent/sessions",
			"gemini-cli /home/me/.gemini/tmp", "copilot-cli /home/me/.copilot/session-state", "deepseek-harness /home/me/.dsh/sessions", "cline /home/me/.cline/data/sessions", "kimi-code /home/me/.kimi-code/sessions", "qwen-code /home/me/.qwen/projects", "continue /home/me/.continue/sessions", "mini-swe-agent /home/me/.config/mini-swe-agent", "goose /home/me/.local/share/goose/sessions/sessions.db",
		}},
		{"no home", "", map[string]string{"CODEX_HOME": "/x"}, []string{"codex /x/sessions"}},
	} {
		var got []string
		for _, p := range Places(tc.home, environment(tc.env)) {
			got = append(got, p.Agent+" "+filepath.ToSlash(p.Path()))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

// Survey counts what holds sessions by name, and opens nothing: the files are
// not readable.
func TestSurvey(t *testing.T) {
	home := t.TempDir()
	newest := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for name, size := range map[string]int{
		".claude/projects/a/1.jsonl":                   100,
		".claude/projects/a/1/subagents/agent-x.jsonl": 10,
		".claude/projects/b/2.jsonl.gz":                1,
		".claude/projects/b/notes.txt":                 1000,
		".claude/history.jsonl":                        1000,
		".codex/sessions/2026/03/01/rollout-1.jsonl":   20,
		".codex/auth.json":                             1000,
		".local/share/opencode/opencode.db":            30,
		".local/share/opencode/auth.json":              1000,
		".local/share/opencode/snapshot/x/y.db":        1000,
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		write(t, path, make([]byte, size))
		when := newest.Add(-time.Hour)
		if filepath.Base(name) == "2.jsonl.gz" {
			when = newest
		}
		if err := errors.Join(os.Chtimes(path, when, when), os.Chmod(path, 0)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := facts.Survey(t.Context(), Places(home, environment(nil)))
	if err != nil || len(found) != 3 {
		t.Fatalf("%+v, %v; want three places", found, err)
	}
	for i, want := range []facts.Stock{
		{Place: facts.Place{Agent: "claude-code"}, Files: 3, Bytes: 111, Newest: newest},
		{Place: facts.Place{Agent: "codex"}, Files: 1, Bytes: 20, Newest: newest.Add(-time.Hour)},
		{Place: facts.Place{Agent: "opencode"}, Files: 1, Bytes: 30, Newest: newest.Add(-time.Hour)},
	} {
		got := found[i]
		if got.Agent != want.Agent || got.Files != want.Files || got.Bytes != want.Bytes || !got.Newest.Equal(want.Newest) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := facts.Survey(ctx, Places(home, environment(nil))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if found, err := facts.Survey(t.Context(), Places(filepath.Join(home, "nobody"), environment(nil))); len(found) != 0 || err != nil {
		t.Errorf("nobody's home: %+v, %v", found, err)
	}
}

// What a user may not open is a place without files, at the folder that reading names; a folder that is not there is none.
func TestSurveyOfClosedFolders(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root can read everything, and Windows has no such permissions")
	}
	for _, test := range []struct{ closed, want string }{
		{".claude", ".claude"}, {".claude/projects", ".claude/projects"}, {".claude/projects/a", ".claude/projects"}, // as people close them
		{".local/share/opencode", ".local/share/opencode"}, {".local/share", ".local/share"},
	} {
		for _, mode := range []os.FileMode{0, 0o444} { // nothing, and names alone
			home := t.TempDir()
			for _, name := range []string{".claude/projects/a/1.jsonl", ".local/share/opencode/opencode.db"} {
				write(t, filepath.Join(home, filepath.FromSlash(name)), []byte("{}\n"))
			}
			dir := filepath.Join(home, filepath.FromSlash(test.closed))
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // the folder goes with the test
			found, err := facts.Survey(t.Context(), Places(home, environment(nil)))
			if err != nil || !slices.ContainsFunc(found, func(s facts.Stock) bool {
				return s.Files == 0 && s.Path() == filepath.Join(home, filepath.FromSlash(test.want))
			}) {
				t.Errorf("%s of mode %o: %+v, %v; want %s without files", test.closed, mode, found, err, test.want)
			}
		}
	}
}

// Two places that are one folder count once.
func TestSurveyLinked(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude", "projects", "a.jsonl"), []byte("{}\n"))
	if err := os.MkdirAll(filepath.Join(home, ".config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, ".claude"), filepath.Join(home, ".config", "claude")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	found, err := facts.Survey(t.Context(), Places(home, environment(nil)))
	if err != nil || len(found) != 1 || found[0].Files != 1 {
		t.Errorf("%+v, %v; want one file in one place", found, err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}
