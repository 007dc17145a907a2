package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/reports/pseudonym"
	"github.com/compactsim/compactsim/sim/results"
)

// secretKey is a key of pseudonyms.
const secretKey = "0123456789abcdef"

// secretSessions writes two recordings, one damaged, whose names, session ids, projects and texts hold "canary",
// and returns their folder and the id of the first.
func secretSessions(t *testing.T) (dir, id string) {
	t.Helper()
	dir, id = filepath.Join(t.TempDir(), "canary sessions"), "canary-a-0000-0000"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(sampleSession(t)), "38c556fc-24e7-4918-be91-000000000000", id)
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		_, rest, ok := strings.Cut(line, `"cwd":"`)
		if old, _, _ := strings.Cut(rest, `"`); ok {
			lines[i] = strings.Replace(line, `"cwd":"`+old+`"`, `"cwd":"/home/canary/canary-project"`, 1)
		}
	}
	write(t, filepath.Join(dir, "canary-a.jsonl"), []byte(strings.Join(lines, "")))
	lines[len(lines)/2] = "{\"type\":\"canary\n"
	other := strings.ReplaceAll(strings.Join(lines[:len(lines)-4], ""), id, "canary-b-0000-0000")
	write(t, filepath.Join(dir, "canary-b.jsonl"), []byte(strings.ReplaceAll(other, "msg_01", "msg_02")))
	return dir, id
}

// Nothing of a run under --anonymize names sessions, projects, files or what a person wrote: not the table, the chart, the
// page or any file of its folder. The figures are the same as in the run without it.
func TestAnonymousRun(t *testing.T) {
	t.Parallel()
	sessions, id := secretSessions(t)
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	write(t, at("key"), []byte(secretKey+"\n"))
	write(t, at("canary-prices.yaml"), []byte("schema: 1\nmodels: {claude-opus-4-6: {prices: {input: 5, output: 25}}}\n"))
	write(t, at("canary.yaml"), []byte(`# canary
schema: 1
name: sweep
doc: the plan of canary
sessions: {project: [canary*]}
prices: {file: canary-prices.yaml}
strategies:
  - {name: the plan of canary, layers: [{full-compact: {trigger: {fixed: 90000}}}]}
  - auto-compact/167k
`))
	line := []string{"run", at("canary.yaml"), sessions, "--set", "full-compact.breaker=[2,3]", "--set", "sessions.project=[canary*]", "--split"}
	code, plain, errs := exec(t, append(line, "--out", at("plain"))...)
	if code != exitOK || !strings.Contains(plain, "canary") {
		t.Fatalf("exit %d, %s\n%s", code, errs, plain)
	}
	hide := append(line, "--anonymize", "--anonymize-key", at("key"))
	for _, format := range []string{"csv --per-session", "json", "markdown"} {
		code, out, errs := exec(t, slices.Concat(hide, []string{"--format"}, strings.Fields(format))...)
		if code != exitOK || out == "" || strings.Contains(out, "canary") {
			t.Errorf("%s: exit %d, %s\n%s", format, code, errs, out)
		}
	}
	code, out, errs := exec(t, append(hide, "--out", at("shared"), "--chart", at("chart.svg"))...)
	if code != exitOK || !strings.Contains(out, "STRATEGY") || strings.Contains(out, "canary") {
		t.Fatalf("exit %d, %s\n%s", code, errs, out)
	}
	page := slices.DeleteFunc(append([]string{"report"}, hide[1:]...), func(arg string) bool { return arg == "--split" })
	if code, _, errs := exec(t, append(page, "-o", at("page.html"))...); code != exitOK {
		t.Fatalf("exit %d, %s", code, errs)
	}
	files := tree(t, at("shared"))
	want := tree(t, at("plain"))
	delete(want, outputs.ProfileFile)
	if delete(want, outputs.ScenarioFile); !slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("files %q, want %q", slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want)))
	}
	for _, name := range []string{"page.html", "chart.svg"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if i := strings.Index(text, "canary"); i >= 0 || strings.Contains(text, secretKey) || len(text) == 0 {
			t.Errorf("%s: …%s…", name, text[max(0, i-80):min(len(text), max(0, i)+80)])
		}
	}
	hidden, err := results.ReadRows("shared", strings.NewReader(files[outputs.RowsFile]))
	if err != nil {
		t.Fatal(err)
	}
	open, err := results.ReadRows("plain", strings.NewReader(want[outputs.RowsFile]))
	if err != nil {
		t.Fatal(err)
	}
	for i := range open.Cells {
		a, b := &open.Cells[i], &hidden.Cells[i]
		if a.Total.CostUSD() != b.Total.CostUSD() || a.Total.Usage() != b.Total.Usage() || a.Sessions != 2 || b.Sessions != 2 {
			t.Errorf("cell %s has %+v, cell %s %+v", a.Cell, a.Total, b.Cell, b.Total)
		}
		known := func(r *results.Row) bool { return r.Session == pseudonym.Of([]byte(secretKey), id) }
		if !slices.ContainsFunc(b.Rows.List(), known) {
			t.Errorf("cell %s: no row has the pseudonym of session %s", b.Cell, id)
		}
	}
}

// Without a key nothing is simulated.
func TestAnonymousRunNeedsAKey(t *testing.T) {
	t.Parallel()
	for says, flags := range map[string][]string{
		"--anonymize needs a key: --anonymize-key FILE or SIM_ANONYMIZE_KEY": {"--anonymize"},
		"a key for pseudonyms needs --anonymize":                             {"--anonymize-key", "key"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		code, _, errs := exec(t, append([]string{"run", "quick", "--out", out}, flags...)...)
		if code != exitUsage || !strings.Contains(errs, says) || outputs.IsThere(out) {
			t.Errorf("%v: exit %d, %s", flags, code, errs)
		}
	}
}

// A key that was made is one that only its owner may read, and another one each time; no output has it.
func TestNewKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(dir, name)
		check := write(t, file+".yaml", []byte("scenario: {strategies: [none]}\nbaseline: "+name+".json\nrules: [{metric: cost_usd, strategy: none, max_increase: 1%}]\n"))
		line := []string{"check", "--update", check, "../../traces/synthetic/samples", "--anonymize"}
		if code, _, errs := exec(t, append(line, "--new-anonymize-key", file+".yaml")...); code != exitUsage || !strings.Contains(errs, "exists") {
			t.Errorf("exit %d, %s", code, errs)
		}
		code, out, errs := exec(t, append(line, "--new-anonymize-key", file)...)
		if code != exitOK {
			t.Fatal(errs)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		key, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keys[string(key)] = true
		baseline, err := os.ReadFile(file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if key = bytes.TrimSpace(key); bytes.Contains(baseline, key) || strings.Contains(out, string(key)) {
			t.Errorf("%s: an output holds the key", name)
		}
		if code, _, errs := exec(t, "check", check, "../../traces/synthetic/samples", "--anonymize", "--anonymize-key", file); code != exitOK {
			t.Errorf("under the key that was made: exit %d, %s", code, errs)
		}
	}
	if len(keys) != 2 {
		t.Errorf("%d keys", len(keys))
	}
}
