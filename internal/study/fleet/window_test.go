package fleet

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/reading/synthetic"
)

// A threshold that no drawn session's window reaches is refused, with the sessions
// whose window is the largest, as it is for recorded sessions.
func TestThresholdsAgainstDrawnWindows(t *testing.T) {
	r := runner(t)
	const late = "name: late\nlayers:\n  - full-compact:\n      trigger: {fixed: 250_000}\n"
	if err := r.Registry.AddPreset([]byte(late), "late.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ keys, orgs, want string }{
		{"", "  - {name: a, users: 1}\n", "(window 200000 of sessions that organisation a draws from short-fix)"},
		{"window: 240_000", "  - {name: a, users: 1}\n", "(window 240000, as the key window says; 0 is the client's)"},
		{"window: 300_000", "  - {name: a, users: 1}\n", ""},
		{"", "  - {name: a, users: 1}\n  - {name: b, users: 1, sessions: {model: 'claude-opus-4-6[1m]'}}\n", ""},
		{"", "  - {name: a, users: 1, sessions: {profiles: {short-fix: 0, chat: 1}}}\n", "draws from chat)"},
	} {
		text := "schema: 1\nstrategies: [late]\n" + tc.keys + "\norgs:\n" + tc.orgs
		_, err := readText([]byte(text), "test.yaml", Inputs{Registry: r.Registry})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), "test.yaml:2: strategies[0]: strategy late: ") || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s%s: %v, want %q", tc.keys, tc.orgs, err, tc.want)
		}
		_, err = r.Run(t.Context(), parse(t, text+"    # read without a registry\n"))
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("run of %s%s: %v, want %q", tc.keys, tc.orgs, err, tc.want)
		}
	}
}

// The large window counts where sessions or agents have it, not where nothing begins
// with it.
func TestWindowOfWhatBegins(t *testing.T) {
	const large = "claude-opus-4-6[1m]"
	agents := []synthetic.WorkTool{{Name: "Task", Weight: 1}}
	small := synthetic.WorkModel{Name: "claude-opus-4-6", Weight: 1}
	for _, tc := range []struct {
		models []synthetic.WorkModel
		tools  []synthetic.WorkTool
		agent  string
		want   int64
	}{
		{[]synthetic.WorkModel{small, {Name: large, Weight: 1}}, nil, "", 1_000_000},
		{[]synthetic.WorkModel{small, {Name: large}}, nil, "", 200_000},
		{[]synthetic.WorkModel{small}, agents, large, 1_000_000},
		{[]synthetic.WorkModel{small}, []synthetic.WorkTool{{Name: "Task"}}, large, 200_000},
		{[]synthetic.WorkModel{small}, nil, large, 200_000},
	} {
		w := synthetic.Workload{Version: "2.1.62", Models: tc.models, Tools: tc.tools, Agents: synthetic.WorkAgents{Model: tc.agent}}
		if got := windowOf(&w); got != tc.want {
			t.Errorf("%+v: window %d, want %d", tc, got, tc.want)
		}
	}
}

// Organisations that draw from the same share what is made of it; those with sizes of
// their own do not.
func TestProfilesAreReadOnce(t *testing.T) {
	f := parse(t, "schema: 1\norgs:\n  - {name: a, users: 1}\n  - {name: b, users: 2}\n  - {name: c, users: 1, sessions: {turns: {min: 3}}}\n")
	a, b, c := f.drawnFrom(&f.Orgs[0], "short-fix"), f.drawnFrom(&f.Orgs[1], "short-fix"), f.drawnFrom(&f.Orgs[2], "short-fix")
	if a != b || a == c || c.workload.Turns.Min != 3 {
		t.Errorf("shared: %t and %t, want those of a and b alone", a == b, a == c)
	}
}
