package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/sim"
)

// With --force a run is replaced, and no file that another has put there.
func TestForce(t *testing.T) {
	dir, foreign := samples(t), t.TempDir()
	for _, name := range []string{"parts/mine", "mine"} {
		write(t, filepath.Join(foreign, name), nil)
	}
	if err := launchInto(t, foreign, "--force", dir); err == nil || !strings.Contains(err.Error(), "not a run") {
		t.Errorf("a folder without a run: %v", err)
	}
	out, err := launchWith(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := launchInto(t, out, dir); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a run without --force: %v", err)
	}
	for _, name := range []string{"parts/mine", "mine"} {
		write(t, filepath.Join(out, name), nil)
	}
	if err := launchInto(t, out, "--force", "--strategy", "none", "--profile", "none", dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"parts/mine": true, "mine": true, runFile: true,
		fitted: false, "parts/recipe": false, "parts/sessions": false,
	} {
		if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
	if got, want := rowsIn(t, out), alone(t, "--strategy", "none", "--profile", "none", dir); got != want {
		t.Error("rows differ")
	}
}

// An object store has no run replaced.
func TestForceRemote(t *testing.T) {
	const out = "memfs://force/out"
	if err := putValue(t.Context(), at(out, partsFolder, recipeFile), 1); err != nil {
		t.Fatal(err)
	}
	if err := launchInto(t, out, "--force", samples(t)); err == nil || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("%v", err)
	}
}

// A job whose worker found an invariant violated says so to the caller: the engine hands on the text alone.
func TestInvariant(t *testing.T) {
	_, err := launched(nil, fmt.Errorf("stacks, caused by:\nsession s: %w: a sum", sim.ErrInvariant))
	if want := "the job failed: session s: invariant violated: a sum"; !errors.Is(err, sim.ErrInvariant) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err = launched(nil, errors.New("full error: lost")); errors.Is(err, sim.ErrInvariant) || err.Error() != "the job failed: lost" {
		t.Error(err)
	}
}

// Days of a scenario in UTC are such, wherever the program runs.
func TestUTC(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("far", -9*3600)
	t.Cleanup(func() { time.Local = local })
	for set, want := range map[string]string{"true": "2026-03-01T00:00:00Z", "false": "2026-03-01T09:00:00Z"} {
		var o options
		flags := pflag.NewFlagSet("sim-beam", pflag.ContinueOnError)
		o.bind(flags)
		if err := flags.Parse([]string{"--set", "sessions.since=2026-03-01", "--set", "sessions.utc=" + set}); err != nil {
			t.Fatal(err)
		}
		r, err := o.recipe(flags)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(r.Scenario), want) {
			t.Errorf("utc %s: no %s in %s", set, want, r.Scenario)
		}
	}
}

// A link that leads nowhere is named; with --strict it is the end. A path that is there is no glob.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[all]")
	if err := os.Rename(samples(t), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "lost.jsonl")); err != nil {
		t.Skip(err)
	}
	out, err := launchWith(t, "--strategy", "none", dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(out, problemsFile)); err != nil || !strings.Contains(string(text), "lost.jsonl") {
		t.Errorf("problems %q, %v", text, err)
	}
	if _, err := launchWith(t, "--strict", "--strategy", "none", dir); err == nil || !strings.Contains(err.Error(), "lost.jsonl") {
		t.Errorf("strict: %v", err)
	}
}

// Recordings in an object store read as from a folder, whose name leads nowhere else.
func TestRemote(t *testing.T) {
	dir := samples(t)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rest := strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/"), "/", "-")
		return put(t.Context(), "memfs://remote/"+rest, func(w io.Writer) error { _, err := w.Write(text); return err })
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := launchWith(t, "--strategy", "none", "memfs://remote/*")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowsIn(t, out), alone(t, "--strategy", "none", dir); len(got) == 0 || len(got) != len(want) {
		t.Errorf("%d bytes of rows, want %d", len(got), len(want))
	}
	const odd = "memfs://remote/../../escaped"
	x := &reading{}
	t.Cleanup(func() { x.close() })
	if err := putValue(t.Context(), odd, 1); err != nil {
		t.Fatal(err)
	}
	if name, err := x.fetch(t.Context(), odd); err == nil || !strings.Contains(err.Error(), "rename the object") {
		t.Errorf("a copy in %q, %v", name, err)
	}
}
