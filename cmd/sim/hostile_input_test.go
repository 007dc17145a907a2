package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// sampleSession returns a session of the samples, of some hundred lines.
func sampleSession(t *testing.T) []byte {
	t.Helper()
	f, err := synthetic.Samples().Open("long-refactor/38c556fc-24e7-4918-be91-000000000000.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func samplesIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, synthetic.Samples()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func gzipped(t *testing.T, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, text := range parts {
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// remarksOf returns what stands above the figures of sim run -q --format json.
func remarksOf(t *testing.T, path string) string {
	t.Helper()
	code, out, errs := exec(t, "run", "-q", "--strategy", "recorded", "--format", "json", path)
	var d struct {
		Provenance struct {
			Workload struct{ Remarks []string }
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitOK {
		t.Fatalf("exit %d: %v: %s", code, err, errs)
	}
	return strings.Join(d.Provenance.Workload.Remarks, "\n")
}

// A compressed recording that is damaged half way says how much is unread, one that is cut
// off that nobody knows, in the report, whatever -q.
func TestTornFilesAreLosses(t *testing.T) {
	t.Parallel()
	whole := gzipped(t, sampleSession(t))
	cut := write(t, filepath.Join(t.TempDir(), "cut.jsonl.gz"), whole[:len(whole)/2])
	if got := remarksOf(t, cut); !strings.Contains(got, "1 file could not be read to the end") ||
		!strings.Contains(got, "how much is missing is unknown") {
		t.Errorf("cut off: %q", got)
	}
	damaged := append(whole, bytes.Repeat([]byte("damage"), 1<<18)...)
	if got := remarksOf(t, write(t, filepath.Join(t.TempDir(), "bad.jsonl.gz"), damaged)); !strings.Contains(got, "bytes (8") ||
		!strings.Contains(got, "%) are unread") {
		t.Errorf("damaged: %q", got)
	}
}

// highWater returns the most memory that a process has taken so far, bytes; 0 where that is not told.
func highWater(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib << 10
}

// runHighWater runs sim and returns the most memory that it took, bytes.
func runHighWater(t *testing.T, args ...string) (code int, errs string, peak int64) {
	t.Helper()
	cmd, _ := process(t, args...)
	var b bytes.Buffer
	cmd.Stderr = &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	seen := make(chan int64)
	go func() {
		high := int64(0)
		for {
			high = max(high, highWater(cmd.Process.Pid))
			select {
			case <-done:
				seen <- high
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	code = exitCode(cmd.Wait())
	close(done)
	return code, b.String(), <-seen
}

// Ten thousand short sessions under five strategies take 1 GiB at most, files included; docs/performance.md has the figures.
func TestRunMemoryIsBounded(t *testing.T) {
	if torture() == 0 {
		t.Skip("a long test: the sessions take time to generate")
	}
	t.Parallel()
	code, errs, peak := runHighWater(t, "run", "-q", "--set", "sessions.generate.profile=short-fix", "--set", "sessions.generate.sessions=10000",
		"--strategy", "none,auto-compact/167k,auto-compact/155k,own,recorded", "--out", filepath.Join(t.TempDir(), "out"))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if peak > 1<<30 {
		t.Errorf("10,000 sessions took %d MiB", peak>>20)
	}
	t.Logf("10,000 sessions took %d MiB", peak>>20)
}

// Whatever the length of lines, memory stays below what --max-memory allows: lines of more than a
// quarter of that limit are skipped by name, and recordings that take more end reading, with what to do.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz"} { // several at once
		// In pieces: runs of other tests are refused where this process holds much.
		long := [][]byte{[]byte(`{"type":"user","x":"`)}
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for i := 0; i < len(chunk); i += 100 { // no bomb: 101 MiB of such lines are about 1.5 MB, compressed
			chunk[i] = byte('a' + i*i/977%26)
		}
		for len(long) <= 100 {
			long = append(long, chunk)
		}
		call := strings.ReplaceAll(oneCall, `"s"`, `"`+name+`"`)
		write(t, filepath.Join(dir, name), gzipped(t, append(long, []byte("\"}\n"+call))...))
	}
	run := func(memory string) (code int, errs string, peak int64) {
		return runHighWater(t, "run", "-v", "--workers", "3", "--strategy", "recorded", "--max-memory", memory, dir)
	}
	limits := []int64{256}
	if torture() > 0 {
		limits = append(limits, 700)
	}
	for _, memory := range limits {
		code, errs, peak := run(fmt.Sprint(memory))
		if skipped := strings.Contains(errs, "a.jsonl.gz:1: line is longer than"); code != exitOK || skipped != (memory == 256) {
			t.Errorf("%d MiB: exit %d: %s", memory, code, errs)
		}
		if peak > memory<<20 {
			t.Errorf("%d MiB: took %d", memory, peak>>20)
		}
	}
	code, errs, _ := run("1")
	if code != exitRuntime || !strings.Contains(errs, "too much memory") || !strings.Contains(errs, "--max-memory allows more") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The first interrupt ends the listing of a folder and the look at its files.
func TestInterruptWhileListing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(ctx, []string{"traces", "ls", samplesIn(t)}, strings.NewReader(""), &out, &errs); code != exitInterrupted {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

// Checking the invariants takes time in proportion to the calls: a session of 10,000 that is never
// compacted took 20 times as long with --verify when every call checked all that was sent.
func TestVerifyIsLinear(t *testing.T) {
	if torture() == 0 {
		t.Skip("compares times: only under TORTURE")
	}
	var b bytes.Buffer
	parent := "null"
	for i := range 10_000 {
		at := time.Date(2026, 3, 1, 10, 0, 10*i, 0, time.UTC)
		content := `"go on"`
		if i > 0 {
			content = fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"t%d","content":"x"}]`, i-1)
		}
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.62","cwd":"/p",`+
			`"timestamp":%q,"message":{"role":"user","content":%s}}`+"\n", i, parent, at.Format(time.RFC3339), content)
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%d","parentUuid":"u%[1]d","sessionId":"s","version":"2.1.62","cwd":"/p",`+
			`"timestamp":%q,"message":{"id":"m%[1]d","role":"assistant","model":"claude-opus-4-6","stop_reason":"tool_use",`+
			`"content":[{"type":"tool_use","id":"t%[1]d","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,`+
			`"cache_read_input_tokens":%[3]d,"cache_creation_input_tokens":4,"output_tokens":2}}}`+"\n",
			i, at.Add(5*time.Second).Format(time.RFC3339), 9000+6*i)
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	name := write(t, filepath.Join(t.TempDir(), "long.jsonl"), b.Bytes())
	took := func(args ...string) time.Duration {
		start := time.Now()
		args = append([]string{"run", "-q", "--strategy", "none", "--window", "10000000", name}, args...)
		if code, _, errs := exec(t, args...); code != exitOK {
			t.Fatal(errs)
		}
		return time.Since(start)
	}
	if plain, verified := took(), took("--verify"); verified > 5*plain+time.Second {
		t.Errorf("%v with --verify, %v without", verified, plain)
	}
}
