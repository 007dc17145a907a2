package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/sim/results"
)

// asked is what a server was asked beside the content of a request.
type asked struct {
	betas      string
	Model      string         `json:"model"`
	Management jsontext.Value `json:"context_management"`
	Compaction jsontext.Value `json:"compaction"`
	Thinking   jsontext.Value `json:"thinking"`
	Output     jsontext.Value `json:"output_config"`
}

// listening serves real calls on loopback as liveServer does, and keeps what was
// asked.
type listening struct {
	mu   sync.Mutex
	list []asked
}

func listen(t *testing.T) *listening {
	t.Helper()
	liveServer(t, devserver.Options{})
	server, err := devserver.New(devserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a := asked{betas: r.Header.Get("Anthropic-Beta")}
		if err != nil || json.Unmarshal(body, &a, json.RejectUnknownMembers(false)) != nil {
			t.Errorf("a request cannot be read: %v", err)
		}
		l.mu.Lock()
		l.list = append(l.list, a)
		l.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Setenv("ANTHROPIC_BASE_URL", web.URL)
	return l
}

// run runs the samples with real calls and returns what was asked.
func (l *listening) run(t *testing.T, args ...string) (list []asked, out, errs string) {
	t.Helper()
	l.list = nil
	code, out, errs := simRun(t, append([]string{"run", "--summarizer", "live", "--yes"}, args...)...)
	if code != exitOK || len(l.list) == 0 {
		t.Fatalf("%v: exit %d, %d requests\n%s\n%s", args, code, len(l.list), out, errs)
	}
	return l.list, out, errs
}

// What a strategy has the server do stands in its requests with no further flag: compaction on demand, and the beta that
// it needs, to which live.betas adds. Edits, thinking and effort stand in none.
func TestRequestsSayWhatStrategiesSay(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	list, _, errs := l.run(t, "--strategy", "claude-code/2026-10", "--set", "live.betas=[mine]")
	if !strings.Contains(errs, "claude-code/2026-10 asks the server to compact on demand (beta compact-2026-09-04)") {
		t.Errorf("standard error does not announce it:\n%s", errs)
	}
	for _, a := range list {
		if string(a.Compaction) != `{"type":"summarize"}` || a.betas != "mine,compact-2026-09-04" {
			t.Errorf("asked %+v", a)
		}
	}
	for _, args := range [][]string{{"--strategy", "auto-compact/small-model"}, {"--strategy", "claude-code/2026-03", "--set", "api-context.enabled=true"}} {
		list, _, errs := l.run(t, args...)
		for _, a := range list {
			if a.betas != "" || len(a.Compaction)+len(a.Management)+len(a.Thinking)+len(a.Output) > 0 {
				t.Errorf("%v: asked %+v", args, a)
			}
		}
		if strings.Contains(errs, "asks the server") {
			t.Errorf("%v: %s", args, errs)
		}
	}
}

// Cells that send the same share the calls: they are made once, and told apart
// from those that are replayed.
func TestCellsShareCalls(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	args := []string{"--strategy", "auto-compact/167k", "--set", "full-compact.breaker=[3,4]", "--out"}
	list, out, _ := l.run(t, append(args, "made")...)
	if len(list) != 4 || !strings.Contains(out, "4 real calls made for $") || !strings.Contains(out, ", 4 calls shared within the run") || strings.Contains(out, "replayed") {
		t.Errorf("%d requests\n%s", len(list), out)
	}
	code, out, errs := simRun(t, append(append([]string{"run", "--summarizer", "replay"}, args...), "replayed")...)
	if code != exitOK || !strings.Contains(out, "4 calls replayed that cost $") || !strings.Contains(out, ", 4 calls shared within the run") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if n := strings.Count(storedFiles(t, "replayed")["live.json"], `"shared": true`); n != 4 {
		t.Errorf("live.json names %d calls shared, want 4", n)
	}
}

// A damaged cassette stops the run with its name and the way on.
func TestBrokenCassettesStopTheRun(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	l.run(t, "--strategy", "auto-compact/167k")
	var broken string
	for name := range storedFiles(t, "cassettes") {
		broken = max(broken, name)
	}
	path := filepath.Join("cassettes", broken)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	l.list = nil
	args := []string{"run", "--strategy", "auto-compact/167k", "--summarizer", "record-missing", "--yes"}
	code, _, errs := simRun(t, args...)
	if code != exitRuntime || !strings.Contains(errs, path+": it is cut off: delete it and record the call again") || len(l.list) > 0 {
		t.Fatalf("exit %d, %d requests: %s", code, len(l.list), errs)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	code, out, errs := simRun(t, args...)
	if code != exitOK || len(l.list) != 1 || !strings.Contains(out, "1 real call made for $") || !strings.Contains(out, "3 calls replayed") {
		t.Errorf("exit %d, %d requests\n%s\n%s", code, len(l.list), out, errs)
	}
}

// A row that waited less than nothing is explained once, and no other run has the
// note.
func TestWaitBelowZero(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	const note = "below zero: first tokens came earlier"
	_, out, _ := l.run(t, "--strategy", "auto-compact/167k,claude-code/2026-03")
	if strings.Count(out, note) != 1 || !strings.Contains(out, "WAIT ¹") {
		t.Errorf("the waits below zero are not explained once:\n%s", out)
	}
	for _, c := range []results.Cell{{Total: results.Row{AddedLatency: 3}}, {Total: results.Row{AddedLatency: -3}, Unmeasured: []string{"added_latency_seconds"}}} {
		if _, ok := earlier(&results.Run{Cells: []results.Cell{c}}); ok {
			t.Errorf("a note on %g seconds, unmeasured %v", c.Total.AddedLatency, c.Unmeasured)
		}
	}
}
