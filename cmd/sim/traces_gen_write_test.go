package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Ctrl-C leaves sessions that are complete, and says how many of how many.
func TestInterruptedWhileGenerating(t *testing.T) {
	t.Parallel()
	cmd, tmp := process(t, "traces", "gen", "--profile", "overnight", "--sessions", "1000000", "-o", "nights")
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = tmp, &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	written := func() int {
		files, err := filepath.Glob(filepath.Join(tmp, "nights", "*.jsonl"))
		if err != nil {
			t.Error(err)
		}
		return len(files)
	}
	for deadline := time.Now().Add(time.Minute); written() < 3 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(cmd.Wait()); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	told := regexp.MustCompile(`interrupted: ([0-9,]+) of 1,000,000 sessions are complete in nights`).FindStringSubmatch(errs.String())
	if told == nil {
		t.Fatalf("standard error:\n%s", &errs)
	}
	if n, err := strconv.Atoi(strings.ReplaceAll(told[1], ",", "")); err != nil || n < 3 || n != written() {
		t.Errorf("%s sessions are told, %d stand there", told[1], written())
	}
}
