package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios/tried"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// What a run says of predictions under another setting is what the page has, line by line.
func TestTriedIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	list := tried.List()
	if len(list) < 4 {
		t.Fatalf("%d agents", len(list))
	}
	for _, x := range list {
		line := fmt.Sprintf("| %s, B from A | %d | %.1f %% (%.1f) | %.1f %% (%.1f) |", agents.Of(x.Agent).Title, x.Pairs, 100*x.Open[0], 100*x.Open[1], 100*x.Closed[0], 100*x.Closed[1])
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/validation.md has no line %q: make experiment writes both", line)
		}
	}
}

// A run names the agents that it has, in the loop that it has, and says nothing without another strategy or of agents that were not tried.
func TestTriedIsOfTheRun(t *testing.T) {
	claude, gemini := &traces.Session{Agent: facts.ClaudeCode}, &traces.Session{Agent: facts.Gemini}
	d := &Design{}
	d.Scenario.Agent.Refetch = sim.RefetchFitted
	run := &results.Run{Cells: []results.Cell{{Strategy: measures.StrategyRecorded}, {Strategy: "none"}}}
	notes := tellTrials(d, []*traces.Session{claude, gemini}, run, "")
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "off what Claude Code 2.1.332 really cost on average, ") || strings.Contains(notes[0].Text, "Gemini") {
		t.Errorf("%+v", notes)
	}
	closed := notes[0].Text
	if strings.Contains(closed, "later") {
		t.Errorf("%q without a session of another version", closed)
	}
	newer := &traces.Session{Agent: facts.ClaudeCode, Versions: []string{"9.9.9"}}
	if notes := tellTrials(d, []*traces.Session{claude, newer}, run, ""); !strings.Contains(notes[0].Text, "nobody has tried the later versions of 1 session") {
		t.Errorf("%q does not say that nobody has tried 9.9.9", notes[0].Text)
	}
	d.Scenario.Agent.Refetch = sim.RefetchNever
	if open := tellTrials(d, []*traces.Session{claude}, run, ""); len(open) != 1 || open[0].Text == closed {
		t.Errorf("the open loop says %+v", open)
	}
	if got := tellTrials(d, []*traces.Session{gemini}, run, ""); got != nil {
		t.Errorf("%+v of an agent that was not tried", got)
	}
	run.Cells = run.Cells[:1]
	if got := tellTrials(d, []*traces.Session{claude}, run, ""); got != nil {
		t.Errorf("%+v of the recorded strategy alone", got)
	}
}
