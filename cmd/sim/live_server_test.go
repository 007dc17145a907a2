package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// asked is what a server was asked.
type asked struct {
	betas   string
	members map[string]any
}

// liveOut runs the samples with real calls and returns what the server was asked.
func liveOut(t *testing.T, server *models, args ...string) (list []asked, out, errs string) {
	t.Helper()
	before := len(server.Requests())
	code, out, errs := simRun(t, append([]string{"run", "--summarizer", "live", "--yes"}, args...)...)
	for _, r := range server.Requests()[before:] {
		a := asked{betas: r.Header.Get("Anthropic-Beta")}
		if err := json.Unmarshal([]byte(r.Body), &a.members); err != nil {
			t.Errorf("a request cannot be read: %v", err)
		}
		list = append(list, a)
	}
	if code != exitOK || len(list) == 0 {
		t.Fatalf("%v: exit %d, %d requests\n%s\n%s", args, code, len(list), out, errs)
	}
	return list, out, errs
}

// No request asks the server for more than an answer: neither tools nor compaction, edits, thinking or a beta.
func TestRequestsAskForAnAnswerAlone(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t)
	for _, args := range [][]string{
		{"--strategy", "claude-code/2026-10"}, {"--strategy", "auto-compact/small-model"},
	} {
		list, _, _ := liveOut(t, server, args...)
		for _, a := range list {
			if members := slices.Sorted(maps.Keys(a.members)); a.betas != "" || !slices.Equal(members, []string{"max_tokens", "messages", "model", "system"}) {
				t.Errorf("%v: asked for %q with %s", args, members, a.betas)
			}
		}
	}
}

// Cells that send the same share the calls: they are made and listed once.
func TestCellsShareCalls(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t)
	args := []string{"--strategy", "auto-compact/167k", "--set", "full-compact.breaker=[3,4]", "--out"}
	list, out, _ := liveOut(t, server, append(args, "made")...)
	if len(list) != 4 || !strings.Contains(out, "4 real calls made for $") || strings.Contains(out, "replayed") {
		t.Errorf("%d requests\n%s", len(list), out)
	}
	code, out, errs := simRun(t, append(append([]string{"run", "--summarizer", "replay"}, args...), "replayed")...)
	if code != exitOK || !strings.Contains(out, "4 calls replayed that cost $") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if n := strings.Count(storedFiles(t, "replayed")["live.json"], `"replayed": true`); n != 4 {
		t.Errorf("live.json names %d calls replayed, want 4", n)
	}
}

// A damaged cassette stops the run with its name and the way on.
func TestBrokenCassettesStopTheRun(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t)
	liveOut(t, server, "--strategy", "auto-compact/167k")
	var broken string
	for name := range storedFiles(t, "cassettes") {
		broken = max(broken, name)
	}
	path := filepath.Join("cassettes", broken)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	before := len(server.Requests())
	args := []string{"run", "--strategy", "auto-compact/167k", "--summarizer", "live", "--yes"}
	code, _, errs := simRun(t, args...)
	if code != exitRuntime || !strings.Contains(errs, path+": it is cut off: delete it and record the call again") || len(server.Requests()) > before {
		t.Fatalf("exit %d, %d requests: %s", code, len(server.Requests())-before, errs)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	code, out, errs := simRun(t, args...)
	if n := len(server.Requests()) - before; code != exitOK || n != 1 || !strings.Contains(out, "1 real call made for $") || !strings.Contains(out, "3 calls replayed") {
		t.Errorf("exit %d, %d requests\n%s\n%s", code, n, out, errs)
	}
}
