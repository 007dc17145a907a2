package sim

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Every preset keeps every invariant on recorded sessions, and what compacts
// ahead of the window never sends a request above it.
func TestPresetsOnRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	folder := filepath.Join("..", "..", "shared", "traces", "claude-code")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no recordings at %s", folder)
	}
	corpus, err := agents.Read(context.Background(), traces.Options{}, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	// These act by hand, or on numbers of messages alone, which says nothing of the window, or never cut what one prompt has led to, or
	// cut a copy for one request while the conversation grows, as Agent Framework 1.23.0 was seen to (393,200 tokens), or do nothing about a
	// refused prompt, as ADK.
	passes := map[string]bool{"gemini-cli/2026-11": true, "amp/handoff": true, "amazon-q": true, "openhands/class": true, "supo": true,
		"microsoft/summarization": true, "adk": true}
	for _, name := range registry.Presets() {
		c := testConfig(t, name)
		l := NewLoop(c)
		compacts, over := false, 0
		for _, n := range c.Strategy.LayerNames() {
			compacts = compacts || n == standard.Compact
		}
		for _, s := range corpus.Sessions {
			if s.NumCalls() == 0 {
				continue
			}
			row, err := l.Run(s)
			if err != nil {
				t.Error(err)
			}
			over += row.N(measures.OverWindow)
		}
		if compacts && over > 0 && !passes[name] {
			t.Errorf("%s: %d sessions pass the window", name, over)
		}
	}
}
