package client

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// openai/codex: 4 bytes a token, 95 % of a window of 272,000, old reasoning once more.
func TestCodex(t *testing.T) {
	var c Codex
	count := c.Counting()
	if CodexWindow != 272_000*95/100 || c.Window("gpt-5.5") != 0 {
		t.Errorf("windows of %d and %d tokens, want 258400, and none of its own for another client", CodexWindow, c.Window("gpt-5.5"))
	}
	if count.Reasoning != 1.2 {
		t.Errorf("old reasoning counts %g times", count.Reasoning)
	}
	for _, tt := range []struct {
		block prompt.Block
		want  int64
	}{
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 4000}, 1000},
		{prompt.Block{Kind: prompt.KindPrompt, Bytes: 5}, 2},
		{prompt.Block{Kind: prompt.KindPrompt}, 0},
		{prompt.Block{Kind: prompt.KindUnseen, Bytes: 400}, 0},
		{prompt.Block{Kind: prompt.KindSystem, Bytes: 400}, 0},
	} {
		if got := count.Block(&tt.block, nil); got != tt.want {
			t.Errorf("%v of %d bytes: %d tokens, want %d", tt.block.Kind, tt.block.Bytes, got, tt.want)
		}
	}
	entries := []prompt.Entry{{Kind: prompt.KindSystem}, {Kind: prompt.KindPrompt}}
	if got := c.Mark(nil, entries, Marks{}); len(got) != 0 {
		t.Errorf("markers %v, want none", got)
	}
}
