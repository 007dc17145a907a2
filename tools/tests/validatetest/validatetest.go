// Package validatetest has cells and recordings for the tests of predictions and of fits.
package validatetest

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Cell returns the cell of strategy recorded, which checks itself.
func Cell(t testing.TB) sim.Config {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := registry.Strategy("recorded")
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{
		Strategy: recorded, Summarizer: summarizer.Default(), Prices: prices, Watch: sim.Watch{Verify: true},
		Server: func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
	}
}

// Unverified returns a cell that does not check itself: some recordings are damaged.
func Unverified(t testing.TB) sim.Config {
	c := Cell(t)
	c.Verify = false
	return c
}

// Recordings returns the recorded Claude Code sessions of a set beside the
// module: all of the first, and of others the half that rules and numbers were
// chosen on, whose session ids have a SHA-256 that begins with 0 to 7.
func Recordings(t testing.TB, sets ...string) []*traces.Session {
	t.Helper()
	return recordings(t, "claude-code", sets...)
}

// Rollouts returns the recorded Codex sessions of the first set beside the module.
func Rollouts(t testing.TB) []*traces.Session {
	t.Helper()
	return recordings(t, "codex", "traces")
}

func recordings(t testing.TB, agent string, sets ...string) []*traces.Session {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	name := agent + " " + strings.Join(sets, " ")
	if list := read[name]; list != nil {
		return list
	}
	var files []string
	for _, set := range sets {
		dir := filepath.Join("..", "..", "..", "shared", set, agent)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			id, _, _ := strings.Cut(d.Name(), ".")
			if set == "traces" || sha256.Sum256([]byte(id))[0] < 0x80 {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			t.Skip("no recorded sessions beside the module:", err)
		}
	}
	c, err := agents.Read(context.Background(), traces.Options{}, files...)
	if err != nil {
		t.Fatal(err)
	}
	read[name] = c.Sessions // nothing changes them: they stay open for the other tests
	return c.Sessions
}

// read has the sessions that were read, by agent and sets.
var read = map[string][]*traces.Session{}

// Rollout returns a session of Codex whose calls answer tools: totals of input, what the calls
// read, and seconds of waiting.
func Rollout(model, version string, calls ...[3]int64) *traces.Session {
	s := &traces.Session{ID: version, Agent: facts.Codex, Models: []string{model}, Versions: []string{version}, Project: "/home/a/p"}
	t := traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}
	for _, c := range calls {
		t.Rounds = append(t.Rounds, traces.Round{
			Trigger: traces.TriggerToolResult, Wait: c[2] * 1e9,
			Usage: prompt.Usage{Read: c[1], Uncached: c[0] - c[1], Output: 300},
		})
	}
	s.Threads = []traces.Thread{t}
	return s
}
