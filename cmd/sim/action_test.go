package main

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// action is what the last step of action.yml does: its script, and the variables that it
// gets from expressions.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Run string
			Env map[string]string
		}
	}
}

// expression is a part of a text that GitHub evaluates.
var expression = regexp.MustCompile(`\$\{\{ [a-z_.-]+ \}\}`)

// environment evaluates the expressions of the step as GitHub does: inputs with their
// defaults, and members of the event, empty where it has none.
func (a *action) environment(t *testing.T, inputs map[string]string, eventFile string) []string {
	t.Helper()
	text, err := os.ReadFile(eventFile)
	if err != nil {
		t.Fatal(err)
	}
	var event map[string]any
	if err := json.Unmarshal(text, &event); err != nil {
		t.Fatal(err)
	}
	value := func(expression string) string {
		path := strings.Split(expression, ".")
		switch {
		case path[0] == "inputs":
			if v, ok := inputs[path[1]]; ok {
				return v
			}
			return a.Inputs[path[1]].Default
		case path[0] == "github" && path[1] == "event":
			var at any = event
			for _, name := range path[2:] {
				members, _ := at.(map[string]any)
				at = members[name]
			}
			if at == nil {
				return ""
			}
			return fmt.Sprint(at)
		}
		t.Fatalf("expression %q", expression)
		return ""
	}
	var list []string
	steps := a.Runs.Steps
	for name, text := range steps[len(steps)-1].Env {
		list = append(list, name+"="+expression.ReplaceAllStringFunc(text, func(x string) string {
			return value(strings.TrimSpace(strings.Trim(x, "${}")))
		}))
	}
	return list
}

// The script of the action runs as a runner runs it, on event files of pull requests of
// the repository and of a fork, and of a push: it keeps the exit code, writes the page of
// the run, and comments on a pull request where the token may.
func TestAction(t *testing.T) {
	if _, err := osexec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	events, err := filepath.Abs("testdata/events")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const gate = "scenario: {strategies: [none]}\nrules:\n  - {metric: cost_usd, strategy: billed, max: %s}\n"
	for _, tc := range []struct {
		event, bar string
		code       int
		comment    string // arguments of gh, "" for no comment
		warning    bool
	}{
		{"pull_request.json", "1000", 0, "pr comment 17 --repo octo/app --body-file ", false},
		{"pull_request.json", "1", exitCheck, "api --method PATCH repos/octo/app/issues/comments/4711 -F body=@", false},
		{"fork.json", "1", exitCheck, "pr comment 18 ", true},
		{"push.json", "1", exitCheck, "", false},
		{"pull_request.json", "x", exitUsage, "pr comment 17 ", false},
	} {
		dir := t.TempDir()
		bin := filepath.Join(dir, "bin")
		write := func(name, text string, mode os.FileMode) {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(dir, "ci", "gate.yaml"), fmt.Sprintf(gate, tc.bar), 0o644)
		write(filepath.Join(dir, "summary.md"), "before\n", 0o644)
		// gh is not there; what stands for it refuses as the server does for a fork.
		last := map[bool]string{true: "echo 4711", false: ":"}[strings.Contains(tc.comment, "4711")] // the comment of this check file
		refuses := map[bool]string{true: "echo 'GraphQL: Resource not accessible by integration' >&2; exit 1\n"}[tc.warning]
		write(filepath.Join(bin, "gh"), "#!/bin/sh\ncase \"$*\" in *--paginate*) "+last+"; exit 0;; esac\necho \"$@\" >> \"$RUNNER_TEMP/gh.txt\"\n"+refuses, 0o755)
		if err := os.Symlink(program, filepath.Join(dir, "sim")); err != nil { // TestMain runs what is called sim
			t.Fatal(err)
		}
		steps := a.Runs.Steps
		cmd := osexec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[len(steps)-1].Run)
		cmd.Dir = dir
		inputs := map[string]string{"file": "ci/gate.yaml", "comment": "true", "token": "secret", "paths": samples}
		cmd.Env = append(append(os.Environ(), a.environment(t, inputs, filepath.Join(events, tc.event))...),
			"PATH="+bin+":"+os.Getenv("PATH"), "RUNNER_TEMP="+dir, "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+dir,
			"GITHUB_REPOSITORY=octo/app", "GITHUB_EVENT_PATH="+filepath.Join(events, tc.event),
			"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tc.code {
			t.Errorf("%s, bar %s: exit %d, want %d\n%s", tc.event, tc.bar, code, tc.code, out)
		}
		said, _ := os.ReadFile(filepath.Join(dir, "gh.txt"))
		if tc.comment == "" && len(said) > 0 || !strings.HasPrefix(string(said), tc.comment) {
			t.Errorf("%s, bar %s: gh %q, want %q", tc.event, tc.bar, said, tc.comment)
		}
		if warned := strings.Contains(string(out), "::warning::sim check could not comment"); warned != tc.warning {
			t.Errorf("%s, bar %s: warned %t\n%s", tc.event, tc.bar, warned, out)
		}
		summary, _ := os.ReadFile(filepath.Join(dir, "summary.md"))
		if judged := strings.Contains(string(summary), "before\n**") && !strings.Contains(string(summary), "did not run (exit 2)"); judged != (tc.code != exitUsage) {
			t.Errorf("%s, bar %s: the summary is %s", tc.event, tc.bar, summary)
		}
		if tc.code == exitCheck && !strings.Contains(string(out), "::error file=ci/gate.yaml,line=3,title=cost_usd::") {
			t.Errorf("%s, bar %s: no annotation in %s", tc.event, tc.bar, out)
		}
	}
}
