package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// samples is the folder of the recordings that come with the program, whatever folder a test works in.
var samples, _ = filepath.Abs("../../traces/synthetic/samples")

// writeCheck writes a file into the current folder.
func writeCheck(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A breach and what cannot be judged exit with 3, a wrong file with 2.
func TestCheckExitCodes(t *testing.T) {
	if apart(t) {
		return
	}
	t.Chdir(t.TempDir())
	writeCheck(t, "readme.txt", "")
	const head = "scenario: {strategies: [none]}\nrules:\n"
	for text, want := range map[string]int{
		head + "- {metric: cost_usd, strategy: none, max: 1000}\n":            exitOK,
		head + "- {metric: cost_usd, strategy: none, max: 1}\n":               exitCheck,
		head + "- {metric: cost_usd, strategy: none, min: 0}\n":               exitCheck,
		head + "- {metric: cost_usd, strategy: none, max_increase: 1%}\n":     exitCheck,
		head + "- {metric: misses, strategy: billed, max: 1}\n":               exitCheck,
		head + "- {metric: cost_usd, strategy: nothing, max: 1000}\n":         exitUsage,
		head + "- {metric: cost, strategy: none, max: 1000}\n":                exitUsage,
		"scenario: {strategies: [nonne]}\nrules: [{metric: calls, max: 1}]\n": exitUsage,
	} {
		writeCheck(t, checkName, text)
		if code, out, errs := exec(t, "check", samples); code != want {
			t.Errorf("%s: exit %d, want %d\n%s%s", text, code, want, out, errs)
		}
	}
	writeCheck(t, checkName, head+"- {metric: cost_usd, strategy: none, max: 1000}\n")
	if code, _, errs := exec(t, "check", "."); code != exitCheck {
		t.Errorf("a folder without sessions: exit %d, want %d: %s", code, exitCheck, errs)
	}
	if code, _, errs := exec(t, "check", "nowhere"); code != exitUsage {
		t.Errorf("a path that is not there: exit %d, want %d: %s", code, exitUsage, errs)
	}
	if code, _, errs := exec(t, "check", "nowhere.yaml"); code != exitUsage {
		t.Errorf("a check that is not there: exit %d, want %d: %s", code, exitUsage, errs)
	}
}

// Nothing that a workflow leaves empty is green: without sessions nothing is checked and nothing written, and a run whose
// cache never worked makes no baseline, the first one either.
func TestCheckFailsClosed(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := exec(t, "traces", "gen", "--profile", "chat", "--sessions", "12", "-o", "week"); code != exitOK {
		t.Fatal(errs)
	}
	names, err := filepath.Glob("week/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	broken(t, names, "broken", func(_ *brokenText, u counts) { u.read(0) })
	writeCheck(t, checkName, string(checkStarter))
	for _, c := range []struct {
		args  []string
		code  int
		words string
	}{
		{nil, exitUsage, "no sessions are named"},
		{[]string{"--update"}, exitUsage, "no sessions are named"},
		{[]string{"--update", "broken"}, exitCheck, "whatever the baseline"},
	} {
		code, out, errs := exec(t, append([]string{"check"}, c.args...)...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), c.words) || outputs.IsThere("sim-baseline.json") {
			t.Errorf("sim check %v: exit %d, want %d and %q, baseline written %t\n%s%s", c.args, code, c.code, c.words, outputs.IsThere("sim-baseline.json"), out, errs)
		}
	}
	if code, out, errs := exec(t, "check", "--update", "week"); code != exitOK {
		t.Fatal(out, errs)
	}
	t.Setenv(anonymizeKeyVariable, "0123456789abcdef")
	_, hidden, _ := exec(t, "check", "--anonymize", "broken") // names the cause, and no session
	if hidden = strings.Join(strings.Fields(hidden), " "); !strings.Contains(hidden, "causes are inferred") || strings.Contains(hidden, "sim explain") {
		t.Errorf("anonymized: %s", hidden)
	}
	writeCheck(t, "made.yaml", "scenario: {strategies: [none], sessions: {generate: {profile: chat, sessions: 1}}}\nrules:\n  - {metric: cost_usd, max: 1000}\n")
	if _, out, _ := exec(t, "check", "made.yaml"); !strings.Contains(out, "no recording was checked") {
		t.Errorf("generated: %s", out)
	}
	dear := broken(t, names, "dear", func(s *brokenText, _ counts) { s.model(dearModel) })
	code, out, _ := exec(t, append([]string{"check"}, dear...)...)
	_, meant, found := strings.Cut(strings.Join(strings.Fields(out), " "), "for all of this, if it is meant: sim ")
	meant, _, _ = strings.Cut(meant, "prices")
	if code != exitCheck || !found || !strings.Contains(out, "FAIL sim-check.yaml") {
		t.Fatalf("other models: exit %d\n%s", code, out)
	}
	if code, out, errs := exec(t, append(strings.Fields(meant), "prices")...); code != exitOK {
		t.Errorf("accepted: exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := exec(t, "check", "dear"); code != exitOK {
		t.Errorf("after it was accepted: exit %d\n%s%s", code, out, errs)
	}
}

// No rows depend on the seed but the rows of cells that are taken to draw.
func TestDrawnCellsAreThoseThatVary(t *testing.T) {
	t.Parallel()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	names, err := registry.Match(strategies.AllStrategies)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(names, ",")
	rows := map[string]string{}
	vary := map[string]bool{}
	for _, seed := range []string{"1", "2"} {
		_, out, errs := exec(t, "run", "-q", "--strategy", all, "--format", "json", "--seed", seed)
		var d struct {
			Cells []struct {
				Strategy string          `json:"strategy"`
				Metrics  json.RawMessage `json:"metrics"`
			} `json:"cells"`
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatalf("%v: %s", err, errs)
		}
		for _, c := range d.Cells {
			before, seen := rows[c.Strategy]
			vary[c.Strategy] = vary[c.Strategy] || seen && before != string(c.Metrics)
			rows[c.Strategy] = string(c.Metrics)
		}
	}
	design := designOf(t, "strategies: ["+all+"]")
	varying := 0
	for i := range design.Cells {
		c := &design.Cells[i]
		if vary[c.Strategy.Name] {
			varying++
			if !c.Draws() {
				t.Errorf("%s varies with the seed and is not taken to draw", c.Name)
			}
		}
	}
	if varying == 0 {
		t.Error("nothing varies with the seed")
	}
	for text, want := range map[string]bool{
		"strategies: [none, keepalive]":                                                   true, // what the recording read again is left out by draw
		"{strategies: [truncate-oldest], needs: false}":                                   false,
		"{strategies: [truncate-oldest], agent: {refetch: always}}":                       false,
		"strategies: [truncate-oldest]":                                                   true,
		"{strategies: [none, keepalive], needs: false}":                                   false,
		"{strategies: [none], server: {evict_per_call: 0.1}}":                             true,
		"{strategies: [none], client: {system: {split: sections, uncached_change: 0.1}}}": true,
		"{strategies: [none], server: {lifetime_5m: 1h}, summarizer: {share: 0}}":         true,
	} {
		for _, c := range designOf(t, text).Cells {
			if c.Draws() != want && c.Strategy.Name != "recorded" {
				t.Errorf("%s: cell %s is drawn: %t, want %t", text, c.Name, !want, want)
			}
		}
	}
}

func designOf(t *testing.T, text string) *scenarios.Design {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenarios.Parse(registry, []byte(text), "scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	design, err := file.Expand()
	if err != nil {
		t.Fatal(err)
	}
	return design
}

// The digest of a scenario is of what moves figures: not of names, sessions, or
// defaults that are written out.
func TestScenarioDigest(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		d, err := scenarioDigest(&scenarios.Plan{Design: designOf(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := digest("strategies: [auto-compact/167k]")
	for text, same := range map[string]bool{
		"{strategies: [recorded, auto-compact/167k], name: x, doc: y}":                     true,
		"{strategies: [auto-compact/167k], sessions: {paths: [a], since: 2026-01-01}}":     true,
		"{strategies: [auto-compact/167k], server: {lookback: 20}, seed: 1}":               true,
		"{strategies: [auto-compact/167k], verify: true}":                                  true,
		"{strategies: [auto-compact/167k], prices: {file: a.yaml}}":                        true,
		"{strategies: [auto-compact/155k]}":                                                false,
		"{strategies: [auto-compact/167k, none]}":                                          false,
		"{strategies: [auto-compact/167k], seed: 2}":                                       false,
		"{strategies: [auto-compact/167k], server: {lookback: 21}}":                        false,
		"{strategies: [auto-compact/167k], profile: none}":                                 false,
		"{strategies: [auto-compact/167k], sessions: {cohort: all}}":                       false,
		"{strategies: [auto-compact/167k], events: [{at: {every: 1}, do: system_change}]}": false,
		"{strategies: [{preset: auto-compact/167k, set: {full-compact.breaker: 1}}]}":      false,
		"{strategies: [auto-compact/167k], prices: {at: 2026-03-01}}":                      false,
	} {
		if got := digest(text) == base; got != same {
			t.Errorf("%s: the same digest: %t, want %t", text, got, same)
		}
	}
}

// The page on CI shows what a breach prints, and a workflow that gives the action
// inputs it has; the action gives sim check flags it has.
func TestDocumentOnCI(t *testing.T) {
	if apart(t) {
		return
	}
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	action, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Inputs map[string]any
		Runs   struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal(action, &a); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllSubmatch(action, -1) {
		if _, ok := a.Inputs[string(m[1])]; !ok {
			t.Errorf("action.yml has no input %s", m[1])
		}
	}
	script := a.Runs.Steps[len(a.Runs.Steps)-1].Run
	check := newCheck()
	given := strings.Join(regexp.MustCompile(`args\+?=\(.*?\)`).FindAllString(script, -1), "\n")
	for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(given, -1) {
		if check.Flags().Lookup(m[1]) == nil {
			t.Errorf("sim check has no flag --%s", m[1])
		}
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(block(t, string(page), "name: cache\n")), &workflow); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, step := range workflow.Jobs["check"].Steps {
		for input := range step.With {
			if _, ok := a.Inputs[input]; strings.HasPrefix(step.Uses, "compactsim/") && !ok {
				t.Errorf("the workflow gives the action %s, which is no input", input)
			}
			used++
		}
	}
	if used == 0 {
		t.Error("the workflow gives no inputs")
	}
	breach(t, string(page))
}

// breach carries out what the page says of a timestamp in the system prompt.
func breach(t *testing.T, page string) {
	t.Helper()
	events := block(t, page, "  events:\n")
	want := digestsAside(block(t, page, "FAIL "))
	t.Chdir(t.TempDir())
	if err := os.CopyFS("sessions", os.DirFS(samples)); err != nil { // a short path, so that lines break as on the page
		t.Fatal(err)
	}
	rule := block(t, page, "  - {metric: cache_hit_ratio, strategy: own")
	gate := strings.Replace(string(checkStarter), "[recorded]", "[own]", 1) + rule
	writeCheck(t, checkName, gate)
	if code, _, errs := exec(t, "check", "--update", "sessions"); code != exitOK {
		t.Fatal(errs)
	}
	writeCheck(t, checkName, strings.Replace(gate, "\n\n", "\n"+events+"\n", 1))
	code, out, _ := exec(t, "check", "sessions")
	if code != exitCheck || !strings.Contains(digestsAside(out), want) {
		t.Errorf("exit %d, docs/ci.md shows\n%s\nsim check prints\n%s", code, want, out)
	}
	writeCheck(t, checkName, gate)
	if code, out, _ := exec(t, "check", "sessions"); code != exitOK {
		t.Errorf("with the timestamp taken out: exit %d\n%s", code, out)
	}
}

// digestsAside returns text without the digests in it, which change with the presets.
func digestsAside(text string) string {
	return regexp.MustCompile(`digest [0-9a-f]{8}, now [0-9a-f]{8}`).ReplaceAllString(text, "digest …")
}

// block returns the block of a page that begins with a text.
func block(t *testing.T, page, begin string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n"+begin)
	text, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("docs/ci.md: no block that begins with %q", begin)
	}
	return begin + text
}

// The project's own gate holds, and fails when the figures move: with entries
// that live for seconds nothing is read.
func TestGate(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the gate")
	}
	if apart(t) {
		return
	}
	gate := filepath.Join("..", "..", ".ci", "gate")
	if code, out, errs := exec(t, "check", filepath.Join(gate, "check.yaml"), samples); code != exitOK {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(gate)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "scenario.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	writeCheck(t, "scenario.yaml", string(text)+"server: {lifetime_5m: 1s, lifetime_1h: 1s}\n")
	code, out, _ := exec(t, "check", "check.yaml", samples)
	for _, metric := range []string{"cost_usd", "cache_hit_ratio", "misses"} {
		if code != exitCheck || !strings.Contains(out, ": "+metric+" of recorded is ") {
			t.Errorf("entries that live for a second: exit %d, %s of recorded holds\n%s", code, metric, out)
		}
	}
}
