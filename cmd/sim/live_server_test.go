package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// asked is what a server was asked beside the content of a request.
type asked struct {
	betas      string
	Model      string         `json:"model"`
	Management jsontext.Value `json:"context_management"`
	Compaction jsontext.Value `json:"compaction"`
	Thinking   jsontext.Value `json:"thinking"`
	Output     jsontext.Value `json:"output_config"`
	Reasoning  string         `json:"reasoning_effort"`
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

// What a strategy says of the server stands in its requests with no further flag:
// compaction on demand, edits with the parameters as they are set, and the betas
// that these need, to which live.betas adds.
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
		if string(a.Compaction) != `{"type":"summarize"}` || len(a.Management) > 0 || a.betas != "mine,compact-2026-09-04" {
			t.Errorf("asked %+v", a)
		}
	}
	list, out, _ := l.run(t, "--strategy", "claude-code/2026-03", "--set", "api-context.enabled=true", "--set", "api-context.clear_results.keep=7",
		"--set", "api-context.clear_results.input_tokens=30000", "--set", "api-context.clear_results.clear_at_least=500", "--set", "api-context.clear_results.tools=[]",
		"--set", "api-context.clear_results.exclude_tools=[Task]", "--set", "api-context.clear_uses.enabled=false")
	const clear = `{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":30000},"keep":{"type":"tool_uses","value":7},` +
		`"clear_at_least":{"type":"input_tokens","value":500},"exclude_tools":["Task"]}]}`
	thinking := 0
	for _, a := range list {
		want := `{"edits":[` + clear
		if len(a.Thinking) > 0 {
			thinking++
			want = `{"edits":[{"type":"clear_thinking_20251015","keep":"all"},` + clear
		}
		if string(a.Management) != want || a.betas != "context-management-2025-06-27" || len(a.Compaction) > 0 {
			t.Errorf("asked %+v, want %s", a, want)
		}
	}
	if thinking == 0 || thinking == len(list) {
		t.Errorf("%d of %d calls think: the samples have conversations with and without", thinking, len(list))
	}
	if !strings.Contains(out, "declared edits to the server") {
		t.Errorf("the notes do not tell of edits:\n%s", out)
	}
	if list, _, _ = l.run(t, "--strategy", "auto-compact/small-model"); slices.ContainsFunc(list, func(a asked) bool {
		return a.betas != "" || len(a.Management)+len(a.Compaction)+len(a.Thinking)+len(a.Output) > 0
	}) {
		t.Errorf("a strategy that says nothing of it asks %+v", list)
	}
}

// Flags say what strategies do not: thinking and effort.
func TestFlagsOfTheServer(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	list, _, _ := l.run(t, "--strategy", "claude-code/2026-10", "--set", "live.thinking=off", "--set", "live.effort=low", "--live-model", "dev-model")
	for _, a := range list {
		if len(a.Thinking) > 0 || string(a.Output) != `{"effort":"low"}` || a.Model != "dev-model" {
			t.Errorf("asked %+v", a)
		}
	}
	for value, want := range map[string]string{"adaptive": `{"type":"adaptive"}`, "disabled": `{"type":"disabled"}`} {
		list, _, _ := l.run(t, "--strategy", "auto-compact/small-model", "--set", "full-compact.small_model.model=dev-model", "--set", "live.thinking="+value)
		for _, a := range list {
			if string(a.Thinking) != want {
				t.Errorf("thinking %s: asked %s", value, a.Thinking)
			}
		}
	}
	// The samples are compacted where tools have just answered: no call can have a
	// budget, as the thinking that led there is not sent.
	list, out, _ := l.run(t, "--strategy", "auto-compact/small-model", "--set", "full-compact.small_model.model=dev-model", "--set", "live.thinking=4000")
	if slices.ContainsFunc(list, func(a asked) bool { return len(a.Thinking) > 0 }) || !strings.Contains(out, "4 real calls went without thinking") {
		t.Errorf("asked %+v\n%s", list, out)
	}
}

// A call on the prefix of a conversation that thinks does so too, and stored calls
// of another thinking are missed by name.
func TestThinkingOfARun(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	list, _, _ := l.run(t, "--strategy", "auto-compact/167k", "--set", "live.thinking=off")
	if slices.ContainsFunc(list, func(a asked) bool { return len(a.Thinking) > 0 }) {
		t.Errorf("thinking off: asked %+v", list)
	}
	code, _, errs := simRun(t, "run", "--summarizer", "replay", "--strategy", "auto-compact/167k")
	if code != exitRuntime || !strings.Contains(strings.Join(strings.Fields(errs), " "), "thinking (stored without, now ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if list, _, _ = l.run(t, "--strategy", "auto-compact/167k"); !slices.ContainsFunc(list, func(a asked) bool { return len(a.Thinking) > 0 }) {
		t.Error("no call of a conversation that thinks does")
	}
	if code, _, errs := simRun(t, "run", "--summarizer", "replay", "--strategy", "auto-compact/167k", "--set", "live.thinking=off"); code != exitOK {
		t.Errorf("the calls without thinking are gone: exit %d: %s", code, errs)
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

// Every layer that is asked about the server is told from its parameters; a layer
// that is off declares nothing.
func TestDeclares(t *testing.T) {
	t.Parallel()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"api-context":         "asks the server to clear tool results by 2 edits and to clear thinking where a call thinks (beta context-management-2025-06-27)",
		"claude-code/2026-03": "",
		"claude-code/2026-10": "asks the server to compact on demand (beta compact-2026-09-04)",
		"auto-compact/167k":   "",
		"recorded":            "",
	} {
		s, err := registry.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := declaredText(s); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s, err := registry.Strategy("api-context")
	if err != nil {
		t.Fatal(err)
	}
	c := declares(s)
	if c.SkipAgents || c.Thinking == nil || c.Thinking.Keep != 0 || len(c.Tools) != 2 {
		t.Fatalf("declared %+v", c)
	}
	if e := c.Tools[1]; e.InputTokens != 180_000 || e.AtLeast != 140_000 || e.Keep != 3 || !e.Inputs || strings.Join(e.Only, " ") != "Edit Write NotebookEdit" {
		t.Errorf("declared %+v", e)
	}
}
