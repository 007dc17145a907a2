package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// The gate that --init writes holds over another week's sessions of the same profile,
// and fails when every second recorded call has lost its reads, with a hint that is of
// the bill. Weeks that pass make the window; the one that breaks it is not added.
func TestStarterOverWeeks(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed, week := range []string{"", "first", "second", "third"} {
		if week == "" {
			continue
		}
		code, _, errs := exec(t, "traces", "gen", "--profile", "chat", "--sessions", "12",
			"--seed", string(rune('0'+seed)), "-o", week)
		if code != exitOK {
			t.Fatal(errs)
		}
	}
	names, err := filepath.Glob("third/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	broken(t, names, "broken", gateBreaks()[0].edit)
	for _, step := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"--init"}, exitOK, nil},
		{[]string{"--update", "first"}, exitOK, []string{"5 of 5 comparisons ok"}},
		{[]string{"--update", "second"}, exitOK, []string{
			"1 figure is compared with other sessions'", "2 of 3 comparisons ok, 1 too few to tell"}},
		{[]string{"--update", "broken"}, exitCheck, []string{
			"FAIL sim-check.yaml:32: billed_to_predicted of billed of agent claude-code is ", "12 sessions against 24",
			"look: calls within the lifetime did not read what was cached, and no line of the log says for sure why (", "): sim explain ",
			"this run is not added"}},
		{[]string{"third", "--chart", "change.svg", "--chart", "change=paper.pdf"}, exitOK, []string{"3 of 3 comparisons ok"}},
	} {
		code, out, errs := exec(t, append([]string{"check"}, step.args...)...)
		out = strings.Join(strings.Fields(out), " ")
		if code != step.code {
			t.Errorf("sim check %v: exit %d, want %d\n%s%s", step.args, code, step.code, out, errs)
		}
		for _, words := range step.words {
			if !strings.Contains(out, words) {
				t.Errorf("sim check %v: no %q in %s", step.args, words, out)
			}
		}
	}
	data, err := os.ReadFile("change-data.csv")
	if err != nil || !strings.Contains(string(data), ",work,") {
		t.Errorf("the data of the chart: %s, %v", data, err)
	}
	if _, err := os.Stat("paper.pdf"); err != nil {
		t.Error(err)
	}
}

// A client that asks for five minutes where it asked for an hour is told by that fact, with what
// today's sessions would have cost with an hour; a pinned lifetime fails. Nothing is wrong with
// the cache. (overnight generates sessions that write for an hour alone.)
func TestStarterTellsAnotherLifetime(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed, week := range map[string]string{"1": "first", "2": "second"} {
		if code, _, errs := exec(t, "traces", "gen", "--profile", "overnight", "--sessions", "5", "--seed", seed, "-o", week); code != exitOK {
			t.Fatal(errs)
		}
	}
	names, err := filepath.Glob("second/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	hour := regexp.MustCompile(`"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":(\d+)`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !hour.Match(text) {
			t.Fatal("no writes for an hour in ", name)
		}
		text = hour.ReplaceAll(text, []byte(`"ephemeral_5m_input_tokens":$1,"ephemeral_1h_input_tokens":0`))
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "--init"}, {"check", "--update", "first"}} {
		if code, out, errs := exec(t, args...); code != exitOK {
			t.Fatal(out, errs)
		}
	}
	const told = "the client changed: writes for an hour, conversations: 100.0 % → 0.0 % (with what was: $"
	text, err := os.ReadFile(checkName)
	if err != nil {
		t.Fatal(err)
	}
	for held, code := range map[string]int{"keep": exitCheck, "any": exitOK, "1h": exitCheck} {
		writeCheck(t, checkName, strings.Replace(string(text), "lifetime: keep", "lifetime: "+held, 1))
		got, out, _ := exec(t, "check", "second")
		out = strings.Join(strings.Fields(out), " ")
		if got != code || !strings.Contains(out, told) || strings.Contains(out, "FAIL sim-check.yaml:32") || // the cache
			strings.Contains(out, "FAIL sim-check.yaml:18: "+told) != (code == exitCheck) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", held, got, code, told, out)
		}
	}
}

// The task of a session is the folder of its recording, or what an expression finds in the path.
func TestTaskOf(t *testing.T) {
	s := &traces.Session{Files: []string{filepath.Join("runs", "after", "fix-login", "1.jsonl")}}
	for task, want := range map[string]string{"": "", "folder": "fix-login", "runs/([^/]+)/": "after", "other/(.*)": "", "runs": ""} {
		if got := taskOf(s, regexp.MustCompile(task)); got != want {
			t.Errorf("%q: %q, want %q", task, got, want)
		}
	}
}

// Tries of tasks are compared within tasks, per task in the first line; the same recordings with other counts fail by
// themselves, and one line says that a baseline is of an old form.
func TestStarterOverTasks(t *testing.T) {
	t.Chdir(t.TempDir())
	for task, profile := range map[string]string{"one": "chat", "two": "short-fix"} {
		for seed, side := range map[string]string{"1": "before", "2": "after"} {
			if code, _, errs := exec(t, "traces", "gen", "--profile", profile, "--sessions", "3", "--seed", seed, "-o", filepath.Join(side, task)); code != exitOK {
				t.Fatal(errs)
			}
		}
	}
	names, err := filepath.Glob("before/*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	broken(t, names, "counted", gateBreaks()[5].edit)
	writeCheck(t, checkName, strings.Replace(string(checkStarter), "strategies: [recorded]", "strategies: [recorded]\n  sessions: {task: folder}", 1))
	for _, step := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"--update", "before"}, exitOK, nil},
		{[]string{"after"}, exitOK, []string{" per task: work ", "2 tasks"}},
		{[]string{"counted"}, exitCheck, []string{"+5 % per call: work +5", "look: the same calls count 5.0 % more tokens than before"}},
	} {
		code, out, errs := exec(t, append([]string{"check"}, step.args...)...)
		out = strings.Join(strings.Fields(out), " ")
		if code != step.code {
			t.Errorf("sim check %v: exit %d, want %d\n%s%s", step.args, code, step.code, out, errs)
		}
		for _, words := range step.words {
			if !strings.Contains(out, words) {
				t.Errorf("sim check %v: no %q in %s", step.args, words, out)
			}
		}
	}
	text, err := os.ReadFile("sim-baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	writeCheck(t, "sim-baseline.json", strings.Replace(string(text), `"schema":4`, `"schema":2`, 1))
	if code, out, _ := exec(t, "check", "before"); code != exitCheck || strings.Count(out, "FAIL ") != 1 || !strings.Contains(out, "a baseline of schema 2") {
		t.Errorf("an old baseline: exit %d\n%s", code, out)
	}
	if code, out, errs := exec(t, "check", "--update", "before"); code != exitOK {
		t.Errorf("an old baseline is not made anew: %s%s", out, errs)
	}
}
