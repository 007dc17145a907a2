package fleet

import (
	"strings"
	"testing"
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
		{"window: 240_000", "  - {name: a, users: 1}\n", "(window 240000)"},
		{"window: 300_000", "  - {name: a, users: 1}\n", ""},
		{"", "  - {name: a, users: 1}\n  - {name: b, users: 1, sessions: {model: 'claude-opus-4-6[1m]'}}\n", ""},
		{"", "  - {name: a, users: 1, sessions: {profiles: {short-fix: 0, chat: 1}}}\n", "draws from chat)"},
	} {
		text := "schema: 1\nstrategies: [late]\n" + tc.keys + "\norgs:\n" + tc.orgs
		_, err := Parse([]byte(text), "test.yaml", Inputs{Registry: r.Registry})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), "test.yaml:2: strategies[0]: strategy late: ") || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s%s: %v, want %q", tc.keys, tc.orgs, err, tc.want)
		}
		_, err = r.Run(t.Context(), parse(t, text+"    # read without a registry\n"))
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("run of %s%s: %v, want %q", tc.keys, tc.orgs, err, tc.want)
		}
	}
}
