package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Three of twelve other sessions read nothing in any call: the check fails by these, though twelve sessions are too few for an interval, and
// neither adds the run to the window nor begins a baseline with it. Accepted by name it is added.
func TestFewSessionsWithoutReads(t *testing.T) {
	names := generated(t, "long-refactor")
	slices.SortFunc(names, func(a, b string) int { return len(plainText(t, b)) - len(plainText(t, a)) })
	var was, now []string
	for i, name := range names[:24] {
		if i%2 == 0 {
			was = append(was, name)
		} else {
			now = append(now, name)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, checkName)
	writeCheck(t, file, string(checkStarter))
	run := func(flags []string, paths []string) (code int, out string) {
		t.Helper()
		code, out, errs := exec(t, append(append([]string{"check", "--file", file}, flags...), paths...)...)
		return code, strings.Join(strings.Fields(out+errs), " ")
	}
	if code, out := run([]string{"--update"}, was); code != exitOK {
		t.Fatal(out)
	}
	if code, out := run(nil, now); code != exitOK {
		t.Errorf("healthy sessions: exit code %d\n%s", code, out)
	}
	edited := append(broken(t, now[:3], t.TempDir(), func(_ *brokenText, u counts) { u.read(0) }), now[3:]...)
	before := plainText(t, filepath.Join(dir, "sim-baseline.json"))
	const withheld = "this run is not added to the runs that later runs are held against: billed_to_predicted is beyond the bar; if it is meant:"
	code, out := run([]string{"--update"}, edited)
	if code != exitCheck || !strings.Contains(out, "in 3 sessions of ") || !strings.Contains(out, withheld) ||
		string(plainText(t, filepath.Join(dir, "sim-baseline.json"))) != string(before) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := run([]string{"--update", "--accept", "baseline"}, edited); code != exitCheck || !strings.Contains(out, withheld) {
		t.Errorf("begun anew: exit code %d\n%s", code, out)
	}
	if code, out := run([]string{"--update", "--accept", "billed_to_predicted"}, edited); code != exitOK || !strings.Contains(out, "sim-baseline.json: ") {
		t.Errorf("accepted: exit code %d\n%s", code, out)
	}
}

// Four checks that add their runs at the same time lose none: the baseline has the three sessions of each.
func TestUpdatesAtOnce(t *testing.T) {
	names := generated(t, "chat")
	file := filepath.Join(t.TempDir(), checkName)
	writeCheck(t, file, string(checkStarter))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if code, out, errs := exec(t, append([]string{"check", "--update", "--file", file}, names[3*i:3*i+3]...)...); code != exitOK {
				t.Error(out, errs)
			}
		})
	}
	all.Wait()
	text := plainText(t, filepath.Join(filepath.Dir(file), "sim-baseline.json"))
	if n := bytes.Count(text, []byte(`"input_usd"`)); n != 12 {
		t.Error(fmt.Sprint(n, " sessions in the baseline, want 12"))
	}
}
