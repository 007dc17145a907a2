package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
)

// sweep is a command line that takes many seconds, without its output folder. It warns of a setting that changes nothing
// when it has its sessions, just ahead of the simulations.
var sweep = []string{"run", "thresholds", "--set", "sessions.generate.profile=long-refactor", "--set", "sessions.generate.sessions=400",
	"--set", "full-compact.idle.share=0.5", "--workers", "1", "--force"}

// firstWrite closes begun when something is written.
type firstWrite struct {
	text  strings.Builder
	begun chan struct{}
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.text.Len() == 0 {
		close(w.begun)
	}
	return w.text.Write(p) //nolint:wrapcheck // never fails
}

// Ctrl-C during a run prints the table of what was simulated so far, and leaves the output folder and the file of a chart as they were:
// with the earlier run, or none.
func TestInterruptedRunWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := filepath.Join(dir, "before")
	if code, _, text := exec(t, "run", "-q", "--strategy", "none", "--out", before); code != exitOK {
		t.Fatal(text)
	}
	was := tree(t, dir)
	for _, name := range []string{"before", "fresh"} {
		out := filepath.Join(dir, name)
		for wait := time.Duration(0); ; wait += 200 * time.Millisecond {
			cmd, _ := process(t, append(sweep, "--out", out, "--chart", filepath.Join(dir, "c.svg"))...)
			var stdout bytes.Buffer
			stderr := &firstWrite{begun: make(chan struct{})}
			cmd.Stdout, cmd.Stderr = &stdout, stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-stderr.begun // whoever handles the signal is there
			time.Sleep(wait)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(cmd.Wait()); code != exitInterrupted {
				t.Fatalf("%s: exit %d after %v, want %d: %s", name, code, wait, exitInterrupted, stderr.text.String())
			}
			if now := tree(t, dir); !maps.Equal(now, was) {
				t.Fatalf("%s: the folder has changed: %d files, want %d", name, len(now), len(was))
			}
			if stdout.Len() == 0 { // before the first session was simulated
				continue
			}
			if text := stdout.String(); !strings.Contains(text, "STRATEGY") || !strings.Contains(text, "interrupted: ") {
				t.Errorf("%s: no table of what was simulated:\n%s", name, text)
			}
			if want := "nothing is written into " + out; !strings.Contains(stderr.text.String(), want) {
				t.Errorf("%s: %q, want %q", name, stderr.text.String(), want)
			}
			break
		}
		if outputs.IsThere(filepath.Join(dir, "fresh")) {
			t.Errorf("%s: an interrupted run leaves a folder", name)
		}
	}
}

// A run that is killed at any moment leaves what was there or its own files, whole.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	more, long := budget(6)
	dir := t.TempDir()
	run := func(place string, kill time.Duration, args ...string) int {
		cmd, _ := process(t, append(args, "-q", "--force", "--out", filepath.Join(dir, place, "run"))...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kill > 0 {
			time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		}
		return exitCode(cmd.Wait())
	}
	if code := run("old", 0, "run", "--strategy", "none"); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	begun := time.Now()
	if code := run("fresh", 0, "run", "quick"); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	took := time.Since(begun)
	fresh := tree(t, filepath.Join(dir, "fresh"))
	r := rand.New(rand.NewPCG(seedOf(t, long), 1))
	for n := 0; more(n); n++ {
		place := filepath.Join(dir, "killed")
		if err := os.RemoveAll(place); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			if err := os.CopyFS(place, os.DirFS(filepath.Join(dir, "old"))); err != nil {
				t.Fatal(err)
			}
		}
		before, kill := tree(t, place), time.Duration(r.Int64N(int64(took)))
		code := run("killed", kill, "run", "quick")
		checkWhole(t, fmt.Sprintf("killed after %v", kill), tree(t, place), before, fresh, code, "")
	}
}
