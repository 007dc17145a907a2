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
// nothing can be simulated, it has the row and the calls that somebody else finds by simulating it with the value. Of the samples,
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
			if !p.leaves(last, s) {
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
