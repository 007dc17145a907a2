package main

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

func cell(t testing.TB) sim.Config {
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

// unverified is a cell that does not check itself: some recordings are damaged.
func unverified(t testing.TB) sim.Config {
	c := cell(t)
	c.Verify = false
	return c
}

func fitted(t testing.TB) *profile.Profile {
	t.Helper()
	p, err := profile.Default()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recordings returns the recorded Claude Code sessions of a set beside the
// module: all of the first, and of others the half that rules and numbers were
// chosen on, whose session ids have a SHA-256 that begins with 0 to 7.
func recordings(t testing.TB, sets ...string) []*traces.Session {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	name := strings.Join(sets, " ")
	if list := read[name]; list != nil {
		return list
	}
	var files []string
	for _, set := range sets {
		dir := filepath.Join("..", "..", "..", "shared", set, "claude-code")
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

// read has the sessions that recordings and recordedBy have read.
var read = map[string][]*traces.Session{}

func atLeast(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || *got < want {
		t.Errorf("%s: %v, want at least %g", name, deref(got), want)
	}
}

func atMost(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || max(*got, -*got) > want {
		t.Errorf("%s: %v, want at most %g", name, deref(got), want)
	}
}

func deref(x *float64) any {
	if x == nil {
		return "none"
	}
	return *x
}

// rollout returns a session of Codex whose calls answer tools: totals of input, what the calls
// read, and seconds of waiting.
func rollout(model, version string, calls ...[3]int64) *traces.Session {
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

// fitOn returns the profile that sessions give.
func fitOn(t *testing.T, config sim.Config, base *profile.Profile, sessions []*traces.Session) *profile.Profile {
	t.Helper()
	p, _, err := fit(context.Background(), config, base, sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// priced returns a session's call that is not its first, with its input costs, USD.
func priced(session string, predicted, actual float64) validate.Call {
	c := validate.Call{
		Session: session, Agent: facts.ClaudeCode, Version: "2.1.20", Model: "claude-opus-4-5", Class: validate.ClassToolResult, Context: 100,
	}
	c.Priced, c.PredictedUSD, c.ActualUSD = true, predicted, actual
	return c
}
