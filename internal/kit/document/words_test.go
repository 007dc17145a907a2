package document

import (
	"slices"
	"testing"
)

func TestBroken(t *testing.T) {
	for _, tc := range []struct {
		text string
		size int
		want []string
	}{
		{"cost_usd", 12, []string{"cost_usd"}},
		{"peak_context_tokens", 13, []string{"peak_context_", " tokens"}},
		{"cost_usd_agent_summary", 9, []string{"cost_usd_", " agent_", " summary"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"a recompactions", 6, []string{"a", "recompactions"}},
		{"a abcdefghijklmnopqrstuvwxyz", 6, []string{"a", "abcdefghijklmnopqrst", " uvwxyz"}},
		{"", 5, []string{""}},
	} {
		if got := broken(tc.text, tc.size); !slices.Equal(got, tc.want) {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.size, got, tc.want)
		}
	}
}
