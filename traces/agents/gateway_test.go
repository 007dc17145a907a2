package agents_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// A client logs beside a call whom it asked for the model; one that has a single gateway need not.
func TestGateways(t *testing.T) {
	for agent, tt := range map[string]struct{ from, to, want string }{
		facts.OpenCode:   {`"modelID":`, `"providerID":"zen","modelID":`, "zen"},
		facts.Pi:         {`"role":"assistant"`, `"role":"assistant","provider":"openai-codex"`, "openai-codex"},
		facts.Codex:      {`"cli_version":`, `"model_provider":"azure","cli_version":`, "azure"},
		facts.Cline:      {"", "", "cline"},
		facts.Copilot:    {"", "", "github-copilot"},
		facts.ClaudeCode: {"", "", ""},
	} {
		text := agenttest.Sample(agent, "s", 1)
		if tt.from != "" {
			text = strings.ReplaceAll(text, tt.from, tt.to)
		}
		c, err := agents.ReadFS(t.Context(), traces.Options{}, fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Sessions[0]
		if got := s.Named(signs.NameGateway, s.Threads[0].Rounds[0].Gateway); got != tt.want {
			t.Errorf("%s asked %q, want %q", agent, got, tt.want)
		}
	}
}
