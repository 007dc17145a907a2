package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/facts"
)

// filtering has a row for every verb that chooses among sessions: what it is called with besides a folder and the
// filter. FILE stands for a strategy file, SESSION for a session that every filter of the test leaves.
var filtering = map[string][]string{
	"ablate":           {"--strategy", "truncate-oldest"},
	"advise":           {},
	"audit":            {"--all"},
	"calibrate":        {},
	"explain":          {"SESSION"},
	"rank":             {"--strategy", "auto-compact/167k,truncate-oldest", "--window", "200000"},
	"report":           {},
	"run":              {"--strategy", "recorded,none"},
	"strategies check": {"FILE"},
	"traces fit":       {},
	"traces ls":        {"--format", "csv"},
	"tune":             {"--strategy", "auto-compact/167k", "--set", "full-compact.trigger.fixed=[60000,167000]"},
	"validate":         {},
	"view":             {"--no-open"},
}

// filters are the ways to choose among two sessions: one of Claude Code in project left with calls on 1 June, and one
// of Codex in project right with calls on 20 June. Every filter leaves the first.
var filters = [][]string{
	{"--since", "2026-05-31"},
	{"--until", "2026-06-10"},
	{"--since", "2026-06-01", "--until", "2026-06-01"},
	{"--project", "left"},
	{"--model", "claude-opus-*"},
	{"--agent", facts.ClaudeCode},
}

// Every verb takes the same sessions whether it reads them from their files, puts them into the store, or finds them
// there, and leaves none out that a filter names.
func TestFiltersOnFiles(t *testing.T) {
	dir := t.TempDir()
	recordings := t.TempDir()
	left, right := agenttest.Sample(facts.ClaudeCode, "left", 1), agenttest.Sample(facts.Codex, "right", 2)
	keep(t, filepath.Join(recordings, "left.jsonl"), []byte(strings.ReplaceAll(left, `"/repo"`, `"/left"`)))
	keep(t, filepath.Join(recordings, "right.jsonl"),
		[]byte(strings.NewReplacer(`"/repo"`, `"/right"`, "2026-06-01T", "2026-06-20T").Replace(right)))
	strategy := filepath.Join(dir, "mine.yaml")
	keep(t, strategy, []byte("name: mine\nlayers:\n  - full-compact: {trigger: {fixed: 60000}}\n"))
	place := strings.NewReplacer("FILE", strategy, "SESSION", "left")

	for _, verb := range verbsWith(newRoot(), "since") {
		more, ok := filtering[verb]
		if !ok {
			t.Errorf("sim %s has filters and no row in the test", verb)
			continue
		}
		for _, filter := range filters {
			args := append(strings.Fields(verb), "--tz", "UTC")
			for _, a := range more {
				args = append(args, place.Replace(a))
			}
			args = append(append(args, filter...), recordings)
			want := answered(t, append(args, "--no-store")...)
			if want.code != exitOK {
				t.Errorf("sim %s %s: exit code %d, %s", verb, filter, want.code, want.stderr)
				continue
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			t.Setenv("HOME", t.TempDir()) // where other systems have the cache folder
			for _, state := range []string{"an empty", "a full"} {
				if got := answered(t, args...); got != want {
					t.Errorf("sim %s %s with %s store: exit code %d, not %d\n%s\n%s\nwant\n%s\n%s", verb, filter, state,
						got.code, want.code, got.stderr, got.stdout, want.stderr, want.stdout)
				}
			}
		}
	}
}

// verbsWith returns the names of the commands under cmd that have a flag, sorted.
func verbsWith(cmd *cobra.Command, flag string) (list []string) {
	for _, c := range cmd.Commands() {
		if c.Flags().Lookup(flag) != nil {
			_, name, _ := strings.Cut(c.CommandPath(), " ")
			list = append(list, name)
		}
		list = append(list, verbsWith(c, flag)...)
	}
	slices.Sort(list)
	return list
}

// said is what a command answers.
type said struct {
	code           int
	stdout, stderr string
}

var address = regexp.MustCompile(`http://\S+`)

// answered runs a command, and one that serves until it is interrupted as far as its address.
func answered(t *testing.T, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, args, strings.NewReader(""), &hearing{&out, cancel}, &hearing{&errs, cancel})
	return said{code, address.ReplaceAllString(out.String(), "ADDRESS"), address.ReplaceAllString(errs.String(), "ADDRESS")}
}

// hearing ends a server when it has written its address.
type hearing struct {
	to  *bytes.Buffer
	end func()
}

func (s *hearing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("http://127.0.0.1")) {
		s.end()
	}
	return s.to.Write(p)
}
