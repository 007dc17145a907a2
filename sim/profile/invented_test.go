package profile

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// A read that the documents of its provider exclude is no server's: shorter than any that is kept, or between two steps. A sum over
// calls may lie between steps.
func TestInventedCounts(t *testing.T) {
	for _, tc := range []struct {
		model string
		read  int64
		sum   bool
		want  string
	}{
		{"claude-opus-5", 512, false, ""}, {"claude-opus-5", 3, false, "fewer than the 512"}, {"claude-opus-5", 0, false, ""},
		{"gpt-5.4", 1152, false, ""}, {"gpt-5.4", 1100, false, "multiples of 128"}, {"gpt-5.4", 1100, true, ""}, {"gpt-5.4", 128, false, "fewer than the 1024"},
		{"deepseek-v4-flash", 2816, false, ""}, {"deepseek-v4-flash", 2817, false, "multiples of 64"}, {"nobody-knows", 5, false, ""},
	} {
		rd := traces.Round{Line: 7, Usage: prompt.Usage{Read: tc.read, Uncached: 9000}}
		if tc.sum {
			rd.Flags |= signs.Spread
		}
		got := Invented(&traces.Session{Models: []string{tc.model}, Threads: []traces.Thread{{Rounds: []traces.Round{rd}}}})
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || got != "" && !strings.Contains(got, "line 7") {
			t.Errorf("%s reads %d: %q, want %q", tc.model, tc.read, got, tc.want)
		}
	}
}
