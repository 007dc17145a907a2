package document

import (
	"slices"
	"testing"
)

// Lines behind the first have a blank before them. What has no underscore stays.
func TestBrokenName(t *testing.T) {
	for _, tc := range []struct {
		name string
		size int
		want []string
	}{
		{"cost_usd", 12, []string{"cost_usd"}},
		{"peak_context_tokens", 13, []string{"peak_context_", " tokens"}},
		{"cost_usd_agent_summary", 9, []string{"cost_usd_", " agent_", " summary"}},
		{"recompactions", 5, []string{"recompactions"}},
	} {
		if got := brokenName(tc.name, tc.size); !slices.Equal(got, tc.want) {
			t.Errorf("%s in %d: %q, want %q", tc.name, tc.size, got, tc.want)
		}
	}
}
