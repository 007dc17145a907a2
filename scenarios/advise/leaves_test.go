package advise

import (
	"context"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// A session that a value leaves as it is in every figure is not simulated again for what its calls use: asked in a context in which
// nothing can be simulated, it has the row and the calls that a loop finds that simulates it with the value alone. Of the samples,
// which have windows of 200,000 tokens, a window of 500,000 changes none.
func TestSessionsThatAValueLeaves(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	sessions := scenariostest.Samples(t).WithCalls()
	p, gone := adviserOf(t, 1), 0
	none, cancel := context.WithCancel(t.Context())
	cancel()
	for _, group := range offered(agents.Of(facts.ClaudeCode).Settings, "", nil) {
		last := group[len(group)-1:]
		if _, err := p.costs(t.Context(), sessions, last); err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			if p.end(assigned(last, s), s) != p.end(unchanged, s) {
				continue
			}
			gone++
			one := []*traces.Session{s}
			rows, taken, err := p.measure(none, one, last)
			if err != nil {
				t.Fatalf("%s, %s: %v", s.ID, last[0].setting.Name, err)
			}
			again, fresh, err := adviserOf(t, 1).measure(t.Context(), one, last)
			if err != nil {
				t.Fatal(err)
			}
			calls, classes := taken.sorted()
			want, of := fresh.sorted()
			if rows[0].Figures != again[0].Figures || !reflect.DeepEqual(calls, want) || classes != of {
				t.Errorf("%s under %s = %s: %d calls, simulated %d", s.ID, last[0].setting.Name, last[0].value, len(calls), len(want))
			}
		}
	}
	if gone < len(sessions) {
		t.Errorf("%d times a value leaves a session as it is, want at least %d", gone, len(sessions))
	}
}

// A limit of results that no result of a session reaches changes nothing in it, so the session is not simulated with the limit: it costs
// what it costs in an adviser that has looked at no results and simulates it. No sample calls a tool of MCP, whose three limits so spare
// all five.
func TestResultsWithinALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	sessions := scenariostest.Samples(t).WithCalls()
	var limits []candidate
	for _, group := range offered(agents.Of(facts.ClaudeCode).Settings, "", []string{"mcp__x__y"}) {
		if group[0].setting.Also != nil {
			limits = append(limits, group...)
		}
	}
	blind := adviserOf(t, 1)
	want, err := blind.costs(t.Context(), sessions, limits)
	if err != nil {
		t.Fatal(err)
	}
	p := adviserOf(t, 1)
	for _, s := range sessions {
		p.large[s] = largest(s)
	}
	if _, err := p.costs(t.Context(), sessions, nil); err != nil {
		t.Fatal(err)
	}
	spared, stored := 0, 0
	none, cancel := context.WithCancel(t.Context())
	cancel()
	for i, s := range sessions {
		for k := range limits {
			got, err := p.costs(none, sessions[i:i+1], limits[k:k+1])
			if err != nil {
				stored++ // it would be simulated
				continue
			}
			if spared++; got[1][0] != want[1+k][i] {
				t.Errorf("%s with %s costs %v, simulated %v", s.ID, limits[k].assigns(), got[1][0], want[1+k][i])
			}
		}
	}
	if spared < 3*len(sessions) || stored == 0 {
		t.Errorf("%d times a limit spares a session and %d times it may not, want at least %d and some", spared, stored, 3*len(sessions))
	}
}
