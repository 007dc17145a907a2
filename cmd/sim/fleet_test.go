package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// An interrupted fleet exits with 130 and prints no figures: a clock that has
// stopped half-way has none.
func TestFleetInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(ctx, []string{"fleet", "run"}, strings.NewReader(""), &out, &errs); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit %d (%s), %q; want %d", code, errs.String(), out.String(), exitInterrupted)
	}
	if want := "sim: interrupted while drawing people and sessions: "; !strings.HasPrefix(errs.String(), want) {
		t.Errorf("%q, want %q", errs.String(), want)
	}
}

// Names, flags and files that are wrong are the caller's fault.
func TestFleetExitCodes(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"fleet frobnicate", "fleet show zzz", "fleet run zzz", "fleet run zzz.yaml", "fleet run --set days=x",
		"fleet run --format xml", "fleet run --prices nowhere.yaml", "fleet ls --format xml",
	} {
		if code, _, stderr := exec(t, strings.Fields(args)...); code != exitUsage {
			t.Errorf("sim %s: exit %d, %q; want %d", args, code, stderr, exitUsage)
		}
	}
}

// What a flag and --set both set is told, not settled by their order.
func TestFleetSetTwice(t *testing.T) {
	t.Parallel()
	code, _, stderr := exec(t, "fleet", "run", "office", "--days", "3", "--set", "days=2")
	if want := "--set days=2: --days sets it too; give one of them"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %q; want %d and %q", code, stderr, exitUsage, want)
	}
}
