package validate

import (
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
)

func TestEpochOf(t *testing.T) {
	p := &profile.Profile{Epochs: []string{"1.0.0", "2.1.0", "2.1.6", "2.1.64", "2.1.204"}}
	for _, tc := range []struct{ agent, version, model, want string }{
		{traces.AgentClaudeCode, "1.0.17", "claude-sonnet-4-20250514", "1.0.0 on, opus-4-5 and older"},
		{traces.AgentClaudeCode, "2.1.5", "claude-opus-4-5-20251101", "2.1.0 on, opus-4-5 and older"},
		{traces.AgentClaudeCode, "2.1.38", "claude-opus-4-6", "2.1.6 on, newer models"},
		{traces.AgentClaudeCode, "2.1.203", "claude-opus-5", "2.1.64 on, newer models"},
		{traces.AgentClaudeCode, "2.1.233", "claude-fable-5", "2.1.204 on, newer models"},
		{traces.AgentClaudeCode, "2.1.233", "claude-3-5-haiku-20241022", "2.1.204 on, opus-4-5 and older"},
		{traces.AgentCodex, "0.118.0", "gpt-5.4", "codex, gpt-5.4"},
	} {
		if got := epochOf(p, tc.agent, tc.version, tc.model); got != tc.want {
			t.Errorf("%s %s %s: %q, want %q", tc.agent, tc.version, tc.model, got, tc.want)
		}
	}
}

// One epoch where the model is off by $1 and the naive rule by $4 has a skill of
// 3/4, one where it is the other way round of −3/4; errors of a session's calls
// cancel, those of sessions do not.
func TestSkillByEpoch(t *testing.T) {
	better := []Call{priced("a", 12, 10, 14), priced("a", 9, 10, 10)}
	worse := []Call{priced("b", 14, 10, 10), priced("c", 10, 10, 9)}
	for i := range worse {
		worse[i].Epoch = "2.1.204 on"
	}
	r := newReport(append(better, worse...), 0)
	if len(r.Epochs) != 2 {
		t.Fatalf("%+v", r.Epochs)
	}
	for i, want := range []float64{0.75, -0.75} {
		if e := &r.Epochs[i]; *e.SkillCost != want || e.Negative() != (want < 0) {
			t.Errorf("%s: skill %g, want %g", e.Name, *e.SkillCost, want)
		}
	}
}

// The cost of a session has what losses add on average: $3 bring a prediction of $7 to the
// $10 of the bill. Claude Code's, most of which lose nothing, has not.
func TestSkillHasExpectedLosses(t *testing.T) {
	for agent, want := range map[string]float64{traces.AgentCodex: 1, "opencode": 1, traces.AgentClaudeCode: -1.0 / 3} {
		c := priced("a", 7, 10, 8)
		c.Agent, c.LossUSD = agent, 3
		if r := newReport([]Call{c}, 0); math.Abs(*r.Epochs[0].SkillCost-want) > 1e-12 {
			t.Errorf("%s: skill %g, want %g", agent, *r.Epochs[0].SkillCost, want)
		}
	}
}

// In time nothing is learned from what comes later, and by user nothing from the
// same home folder.
func TestDivisions(t *testing.T) {
	var sessions []*traces.Session
	for i, home := range []string{"/Users/a/x", "/home/b/y", "/Users/a/z", `C:\Users\c\w`, "/srv/d"} {
		sessions = append(sessions, &traces.Session{ID: home, Project: home, Start: int64(10 - i)})
	}
	d, err := divide(nil, sessions, byTime)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		for j := range sessions {
			if learns := d.learns(d.folds[i], d.folds[j]); learns && sessions[j].Start >= sessions[i].Start {
				t.Errorf("session of %d learns from that of %d", sessions[i].Start, sessions[j].Start)
			}
		}
	}
	if d, err = divide(nil, sessions, byUser); err != nil {
		t.Fatal(err)
	}
	folds := slices.Compact(slices.Sorted(slices.Values(d.folds)))
	if d.folds[0] != d.folds[2] || len(folds) != 4 {
		t.Errorf("users %q", d.folds)
	}
	if _, err := divide(nil, sessions[:1], byUser); err == nil {
		t.Error("one user is divided")
	}
}
