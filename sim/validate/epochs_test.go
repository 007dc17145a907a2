package validate

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces/facts"
)

func TestEpochOf(t *testing.T) {
	p := &profile.Profile{Epochs: []string{"1.0.0", "2.1.0", "2.1.6", "2.1.64", "2.1.204"}}
	for _, tc := range []struct{ agent, version, model, want string }{
		{facts.ClaudeCode, "1.0.17", "claude-sonnet-4-20250514", "1.0.0 on, opus-4-5 and older"},
		{facts.ClaudeCode, "2.1.5", "claude-opus-4-5-20251101", "2.1.0 on, opus-4-5 and older"},
		{facts.ClaudeCode, "2.1.38", "claude-opus-4-6", "2.1.6 on, newer models"},
		{facts.ClaudeCode, "2.1.203", "claude-opus-5", "2.1.64 on, newer models"},
		{facts.ClaudeCode, "2.1.233", "claude-fable-5", "2.1.204 on, newer models"},
		{facts.ClaudeCode, "2.1.233", "claude-3-5-haiku-20241022", "2.1.204 on, opus-4-5 and older"},
		{facts.Codex, "0.118.0", "gpt-5.4", "codex, gpt-5.4"},
	} {
		if got := epochOf(p, tc.agent, tc.version, tc.model); got != tc.want {
			t.Errorf("%s %s %s: %q, want %q", tc.agent, tc.version, tc.model, got, tc.want)
		}
	}
}
