package pseudonym_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/report/pseudonym"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// designOf returns the cells of a scenario.
func designOf(t *testing.T, text []byte, name string) *scenarios.Design {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenarios.Parse(registry, text, name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := file.Expand()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Scenarios without anything of a person's have the same cells when they are anonymous.
func TestAnonymousScenariosRun(t *testing.T) {
	all, err := scenarios.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		d := designOf(t, b.Text, b.Name)
		resolved, err := d.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		text, err := pseudonym.Scenario(resolved, key)
		if err != nil {
			t.Fatal(err)
		}
		got := designOf(t, text, b.Name+", anonymous")
		again, err := got.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		anew, err := pseudonym.Scenario(again, key)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(got.Cells, d.Cells, func(x, y scenarios.Cell) bool { return x.Name == y.Name })
		if !same || string(anew) != string(text) && !d.Scenario.Users.Any() { // whose names have other pseudonyms then
			t.Errorf("%s: %d cells, want %d, of\n%s", b.Name, len(got.Cells), len(d.Cells), text)
		}
	}
}

// What a person has put into a scenario leaves it, wherever it stands; names and settings stay.
func TestScenarioLeavesNothing(t *testing.T) {
	const given = `# canary of acme
schema: 1
name: sweep # canary
doc: the canary project
sessions:
  paths: [/home/canary/sessions, canary.jsonl]
  project: [canary]
  since: 2026-03-01
  generate: {profile: sub/canary.yaml}
prices: {file: canary.yaml, as: {claude-opus-4-6: claude-haiku-4-5, arn:aws:bedrock/canary/x: claude-haiku-4-5}}
profile: canary-profile.yaml
live: {model: canary, system: canary.txt}
strategies:
  - {name: my-plan, doc: for canary, layers: []}
  - {name: plan of canary, layers: []}
  - none
users: {organisations: {canary inc: {users: 1, sessions: {profiles: {canary.yaml: 1}}}, canary.org: {users: 2, sessions: {profiles: {chat: 1}}}}}
client: {version: 2.1.62, env: {USER_TYPE: canary@example.com}}
`
	text, err := pseudonym.Scenario([]byte(given), key)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "canary") {
		t.Errorf("it still names something:\n%s", text)
	}
	for _, want := range []string{"name: sweep\n", "since: 2026-03-01", "claude-opus-4-6: claude-haiku-4-5", "name: my-plan", "- none",
		"version: 2.1.62", "chat: 1", pseudonym.Of(key, "canary inc") + ":", "name: " + pseudonym.Of(key, "plan of canary")} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := pseudonym.Scenario([]byte("a: [\n"), key); err == nil {
		t.Error("what is no YAML is no error")
	}
}
