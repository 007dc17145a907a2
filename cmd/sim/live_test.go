package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/sim/live"
)

// liveKey is what no file and no message may hold.
const liveKey = "dev-canary-9f3a1c"

// liveServer serves real calls on loopback, with faults, and says so to the
// environment. The test runs in a folder of its own.
func liveServer(t *testing.T, faults ...string) *models {
	t.Helper()
	server := startModels(t, faults...)
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("ANTHROPIC_BASE_URL", server.URL)
	t.Setenv("ANTHROPIC_API_KEY", liveKey)
	return server
}

// simRun runs a command line and returns its exit code and what it prints.
func simRun(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(context.Background(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// files returns the contents of all files of a folder by name.
func storedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// liveRun is a run of the samples with more summary calls than faults.
func liveRun(args ...string) []string {
	return append([]string{"run", "--strategy", "auto-compact/167k,claude-code/2026-03,own/lower"}, args...)
}

// A run with real calls, in which most of what can go wrong does, gives rows, cassettes and
// a report; from the cassettes it gives the same bytes twice, without a server or a
// key, and the rows of the first run. The key stands in nothing that is written.
func TestLiveRunSurvivesFaultsAndIsReplayed(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t, "429@1", "529@2", "500@4", "reset@6", "cut@8", "error-answer@10", "too-long@11", "empty@12", "refusal@13")
	code, out, errs := simRun(t, liveRun("--summarizer", "live", "--yes", "--set", "live.concurrency=1", "--set", "live.attempts=6", "--out", "live")...)
	if code != exitOK || !strings.Contains(out, "summaries by real models: ") || !strings.Contains(out, "gave no summary: prompt too long") {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	requests, answered := server.Count()
	if requests < 13 || answered == 0 {
		t.Errorf("%d requests, %d answered: not every fault was met", requests, answered)
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	for _, name := range []string{"one", "two"} {
		if code, out, errs = simRun(t, liveRun("--summarizer", "replay", "--out", name)...); code != exitOK {
			t.Fatalf("replay: exit %d\n%s\n%s", code, out, errs)
		}
	}
	if after, _ := server.Count(); after != requests {
		t.Errorf("the replays made %d requests", after-requests)
	}
	first, one, two := storedFiles(t, "live"), storedFiles(t, "one"), storedFiles(t, "two")
	for name, text := range one {
		if two[name] != text {
			t.Errorf("%s differs between two replays", name)
		}
	}
	if _, rows, _ := strings.Cut(first[outputs.RowsFile], "\n"); rows == "" || !strings.HasSuffix(one[outputs.RowsFile], rows) {
		t.Error("the rows of the replay are not those of the run that recorded it")
	}
	for name, text := range storedFiles(t, ".") {
		if strings.Contains(text, liveKey) {
			t.Errorf("%s holds the key", name)
		}
	}
	if strings.Contains(out+errs, liveKey) {
		t.Error("the key was printed")
	}
}

// A run that is stopped by its limit of requests keeps what was paid for: the
// rows of finished sessions are printed, and going on makes the rest, nothing
// twice.
func TestLiveRunGoesOn(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t)
	code, out, errs := simRun(t, liveRun("--summarizer", "live", "--yes", "--set", "live.concurrency=1", "--set", "live.max_calls=3")...)
	if code != exitRuntime || !strings.Contains(out, "stopped by an error") || !strings.Contains(errs, "the number of live calls is used up") {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if n, _ := server.Count(); n != 3 {
		t.Errorf("%d requests, want the 3 allowed", n)
	}
	if code, out, errs = simRun(t, liveRun("--summarizer", "live", "--yes")...); code != exitOK || !strings.Contains(out, "3 calls replayed") {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	seen := map[string]bool{}
	for n, r := range server.Requests() {
		if seen[r.Body] {
			t.Errorf("request %d was made before", n+1)
		}
		seen[r.Body] = true
	}
}

// What keeps real calls from being made says what to do, and how it ends.
func TestLiveRunRefused(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t, "404")
	if err := os.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  [2]string
		args []string
		code int
		want string
	}{
		{"no key", [2]string{"ANTHROPIC_API_KEY", ""}, []string{"--summarizer", "live", "--yes"}, exitUsage, "needs a key in the environment's ANTHROPIC_API_KEY"},
		{"http to another machine", [2]string{"ANTHROPIC_BASE_URL", "http://sim.example.org"}, []string{"--summarizer", "live", "--yes"}, exitUsage, "http://sim.example.org is http to another machine"},
		{"an empty key", [2]string{"ANTHROPIC_API_KEY", " \n"}, []string{"--summarizer", "live", "--yes"}, exitUsage, "ANTHROPIC_API_KEY, which is empty"},
		{"a key in two lines", [2]string{"ANTHROPIC_API_KEY", "sk-other-7719\nsk-other-7719"}, []string{"--summarizer", "live", "--yes"}, exitUsage, "copy it anew, in one line (the key is from ANTHROPIC_API_KEY"},
		{"OpenAI without a key", [2]string{"OPENAI_API_KEY", ""}, []string{"--summarizer", "live", "--yes", "--provider", "openai", "--base-url", "https://api.openai.com/v1"}, exitUsage, "OpenAI's own server needs a key"},
		{"a key that is gone", [2]string{}, []string{"--summarizer", "live", "--yes", "--set", "live.thinking=off"}, exitUsage, `unknown parameter "live.thinking"`},
		{"no consent", [2]string{}, []string{"--summarizer", "live"}, exitUsage, "--yes makes them without a question"},
		{"wrong key", [2]string{"ANTHROPIC_API_KEY", "sk-other-7719"}, []string{"--summarizer", "live", "--yes"}, exitUsage, "; check the key in ANTHROPIC_API_KEY"},
		{"unknown model", [2]string{}, []string{"--summarizer", "live", "--yes"}, exitUsage, "; --live-model asks another model"},
		{"no server", [2]string{"ANTHROPIC_BASE_URL", "http://127.0.0.1:1"}, []string{"--summarizer", "live", "--yes", "--set", "live.attempts=1"}, exitRuntime, "connection refused"},
		{"no URL", [2]string{"ANTHROPIC_BASE_URL", "nowhere"}, []string{"--summarizer", "live", "--yes"}, exitUsage, "URL"},
		{"nothing to replay", [2]string{}, []string{"--summarizer", "replay", "--cassettes", "none"}, exitUsage, "there is no folder none to replay"},
		{"a call that is missing", [2]string{}, []string{"--summarizer", "replay", "--cassettes", "empty"}, exitRuntime, "; --summarizer live makes it\n"},
		{"a budget without prices", [2]string{}, []string{"--summarizer", "live", "--yes", "--budget-usd", "1", "--live-model", "dev-unpriced"}, exitUsage, "no price is known for dev-unpriced"},
		{"no output", [2]string{}, []string{"--summarizer", "live", "--yes", "--set", "live.max_output=0"}, exitUsage, "--set live.max_output=0: live.max_output 0 must be at least 1"},
		{"a spent budget", [2]string{}, []string{"--summarizer", "live", "--yes", "--budget-usd", "0.01", "--live-model", "claude-opus-4-6"}, exitRuntime, "the same command goes on from there"},
		{"another summariser", [2]string{}, []string{"--summarizer", "liv"}, exitUsage, "live"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.env[0] != "" {
				t.Setenv(tc.env[0], tc.env[1])
			}
			code, out, errs := simRun(t, liveRun(tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.want) {
				t.Errorf("exit %d, want %d and %q\n%s", code, tc.code, tc.want, errs)
			}
			if all := out + errs; strings.Contains(all, liveKey) || strings.Contains(all, "sk-other-7719") {
				t.Error("a key was printed")
			}
		})
	}
}

// A cassette that was damaged is named, with what to do.
func TestDamagedCassette(t *testing.T) {
	if apart(t) {
		return
	}
	liveServer(t)
	if code, _, errs := simRun(t, liveRun("--summarizer", "live", "--yes")...); code != exitOK {
		t.Fatal(errs)
	}
	for name := range storedFiles(t, "cassettes") {
		if err := os.Truncate(filepath.Join("cassettes", name), 100); err != nil {
			t.Fatal(err)
		}
	}
	code, _, errs := simRun(t, liveRun("--summarizer", "replay")...)
	if code != exitRuntime || !strings.Contains(errs, ".json") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A stored call that failed for the moment is made again, and paid for: nobody is
// passed over who has to be asked.
func TestFailedCallsAreNotMadeWithoutConsent(t *testing.T) {
	if apart(t) {
		return
	}
	server := liveServer(t, "529@2")
	if code, _, errs := simRun(t, liveRun("--summarizer", "live", "--yes", "--set", "live.concurrency=1", "--set", "live.attempts=1")...); code != exitOK {
		t.Fatal(errs)
	}
	before, _ := server.Count()
	code, _, errs := simRun(t, liveRun("--summarizer", "live")...)
	n, _ := server.Count()
	if n -= before; code != exitUsage || n != 0 || !strings.Contains(errs, "--yes makes them without a question") || strings.Contains(errs, ": $0.00") {
		t.Fatalf("exit %d, %d requests\n%s", code, n, errs)
	}
	if code, _, errs = simRun(t, liveRun("--summarizer", "live", "--yes", "--set", "live.concurrency=1")...); code != exitOK {
		t.Fatal(errs)
	}
	before, _ = server.Count()
	// Everything is stored now: there is nothing to ask.
	code, _, errs = simRun(t, liveRun("--summarizer", "live")...)
	if n, _ = server.Count(); code != exitOK || n != before {
		t.Errorf("exit %d, %d requests\n%s", code, n-before, errs)
	}
}

// A budget is refused when one of the models to ask has no price, by its name, although every
// other model has.
func TestBudgetNeedsEveryPrice(t *testing.T) {
	t.Parallel()
	c := &liveCalls{flags: &liveFlags{Settings: live.Settings{Budget: 1}}, priced: func(model string) bool { return model == "claude-opus-4-6" }}
	c.models = map[string]int{"claude-opus-4-6": 2}
	if err := c.checkPrices(); err != nil {
		t.Errorf("refused: %v", err)
	}
	c.models["dev-unpriced"] = 1
	if err := c.checkPrices(); err == nil || !strings.Contains(err.Error(), "no price is known for dev-unpriced (--prices") {
		t.Errorf("%v", err)
	}
	c.flags.Budget = 0
	if err := c.checkPrices(); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// What was paid for attempts that broke off stands in the report, of calls that
// came to their end and of the one that a limit stopped.
func TestReportTellsAllThatWasPaid(t *testing.T) {
	if apart(t) {
		return
	}
	paid := func(requests string, faults ...string) float64 {
		liveServer(t, faults...)
		code, _, errs := simRun(t, liveRun("--summarizer", "live", "--yes", "--set", "live.concurrency=1", "--set", "live.max_calls="+requests, "--out", "live")...)
		if code != exitRuntime {
			t.Fatal(errs)
		}
		var report struct {
			USD float64 `json:"usd"`
		}
		if err := json.Unmarshal([]byte(storedFiles(t, "live")["live.json"]), &report, json.RejectUnknownMembers(false)); err != nil {
			t.Fatal(err)
		}
		return report.USD
	}
	one, two := paid("1"), paid("2")
	if one <= 0 || two <= one {
		t.Fatalf("$%.4f for a request, $%.4f for two", one, two)
	}
	for _, tc := range []struct {
		fault string
		least float64
	}{{"reset@3", two}, {"reset@2,3", one}, {"reset@1,2,3", 0}} {
		if got := paid("3", tc.fault); got <= tc.least+one/100 {
			t.Errorf("%s: $%.4f for three requests, $%.4f for those that were answered", tc.fault, got, tc.least)
		}
	}
}
