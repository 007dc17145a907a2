package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A run that is killed again and again goes on each time with the rows it had, and ends with the bytes of one that
// was not: nothing is lost and nothing doubled.
func TestKilledRunsGoOn(t *testing.T) {
	t.Parallel()
	more, long := budget(6)
	dir := t.TempDir()
	args := []string{"run", "--set", "sessions.generate.profile=short-fix", "--set", "sessions.generate.sessions=600",
		"--strategy", "none,auto-compact/155k,auto-compact/167k", "-q", "--out"}
	run := func(out string, wait time.Duration) bool {
		cmd, _ := process(t, append(args, filepath.Join(dir, out))...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		}
		return cmd.Wait() == nil
	}
	begun := time.Now()
	if !run("whole", 0) {
		t.Fatal("a run fails")
	}
	took := time.Since(begun)
	r := rand.New(rand.NewPCG(seedOf(t, long), 1))
	kills, rows, left, ended := 0, 0, 0, 0
	for ; more(kills); kills++ {
		// A kill may come when all is done but the end of the process.
		if run("killed", time.Duration(r.Int64N(int64(took)))) || isThere(filepath.Join(dir, "killed", documentFile)) &&
			!isThere(filepath.Join(dir, "killed", journalFile)) {
			ended++
			if err := os.RemoveAll(filepath.Join(dir, "killed")); err != nil {
				t.Fatal(err)
			}
			rows = 0
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, "killed", journalFile)); err == nil {
			whole := bytes.LastIndexByte(text, '\n') + 1 // a torn row is simulated again
			if whole < rows {
				t.Fatalf("kill %d: %d bytes of whole rows were there, %d are left", kills, rows, whole)
			}
			rows = whole
			left++
		}
	}
	if !run("killed", 0) {
		t.Fatal("the run does not go on")
	}
	t.Logf("%d kills, %d with rows to go on with, %d runs ended in time", kills-ended, left, ended)
	for _, name := range []string{rowsFile, documentFile, reportFile, scenarioFile} {
		want, err := os.ReadFile(filepath.Join(dir, "whole", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "killed", name)); err != nil || string(got) != string(want) {
			t.Errorf("%s differs from that of a run that was not killed (%v)", name, err)
		}
	}
	if isThere(filepath.Join(dir, "killed", journalFile)) {
		t.Error("a finished run leaves its journal")
	}
}
