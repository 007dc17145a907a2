package sim

import (
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// The window is the client's own for Claude Code and Codex, whoever serves the model, the table's of models and prices for other clients,
// and what a client takes for a model it does not know: 200,000, or 128,000 for Cline (3.0.65, 2026-11-27).
func TestWindowByClientAndModel(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		agent, version, model string
		window, input         int64
	}{
		{facts.OpenCode, "1.18.33", "gpt-5.5", 1_050_000, 922_000},
		{facts.OpenCode, "1.18.33", "gpt-5", 400_000, 272_000},
		{facts.OpenCode, "1.18.33", "claude-opus-4-5", 200_000, 0},
		{facts.OpenCode, "1.18.33", "unheard-of", 200_000, 0},
		{facts.Codex, "0.171.0", "gpt-5.5", 258_400, 922_000},
		{facts.Gemini, "0.61.0", "gemini-2.5-pro", 1_048_576, 0},
		{facts.Cline, "3.0.65", "unheard-of", 128_000, 0},
		{facts.Cline, "3.0.65", "claude-opus-4-6", 200_000, 0}, // of its two windows the smaller
		{facts.Pi, "1.6.0", "claude-opus-4-7", 1_000_000, 0},
		{facts.ClaudeCode, "2.1.332", "claude-opus-4-6", 200_000, 0},
		{facts.ClaudeCode, "2.1.332", "claude-opus-4-7", 1_000_000, 0},
	} {
		s := &traces.Session{Agent: tc.agent, Versions: []string{tc.version}, Models: []string{tc.model}, Threads: []traces.Thread{{Rounds: []traces.Round{{}}}}}
		if got := Limits(s, tc.model, table); got.Window != tc.window || got.MaxInput != tc.input {
			t.Errorf("%s, %s: window %d, input %d; want %d, %d", tc.agent, tc.model, got.Window, got.MaxInput, tc.window, tc.input)
		}
		for _, cache := range []facts.Cache{facts.CacheMarked, facts.CacheAutomatic} {
			c := Config{Prices: table}
			if got := c.window(clientOf(s, cache), s, tc.model); got != tc.window && tc.agent != facts.Codex {
				t.Errorf("%s, %s at a %s cache: window %d, want %d", tc.agent, tc.model, cache, got, tc.window)
			}
		}
	}
}
