package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The size of what will be written is known before it is, in both formats.
func TestGeneratedSizeIsExpected(t *testing.T) {
	for _, format := range []string{genJSONL, genGzip} {
		f := genFlags{profile: "short-fix", sessions: 70, seed: 3, format: format, out: t.TempDir()}
		w, g, err := f.generator()
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.expected(w, g)
		if err != nil {
			t.Fatal(err)
		}
		written, err := f.writeSessions(context.Background(), w, g)
		if err != nil {
			t.Fatal(err)
		}
		if x := size / float64(written.bytes); x < 0.5 || x > 2 {
			t.Errorf("%s: %.0f bytes are expected, %d written", format, size, written.bytes)
		}
		var bytes int64
		files, err := filepath.Glob(filepath.Join(f.out, "*."+format))
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				bytes += info.Size()
			}
		}
		if err != nil || len(files) != 70 || written.sessions != 70 || written.files != 70 || written.bytes != bytes {
			t.Errorf("%s: %d files of %d bytes, error %v; told are %+v", format, len(files), bytes, err, written)
		}
	}
}

// Ctrl-C leaves sessions that are complete, and says how many of how many; a
// corpus that fills a disk was announced.
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
	if !strings.Contains(errs.String(), "GB of transcripts are to be written") {
		t.Errorf("the size was not announced:\n%s", &errs)
	}
}
