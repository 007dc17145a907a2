package client

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Reasoning ahead of the last prompt counts once more, until a compaction takes it out.
func TestOldReasoning(t *testing.T) {
	prompts, replies := []prompt.Block{{Kind: prompt.KindPrompt}}, []prompt.Block{{Kind: prompt.KindThinking, Tokens: 40}}
	var n Tally
	n.Bind(&Counter{Counting: Counting{Trailing: true, Reasoning: 1}})
	for i, want := range []int64{1000, 1040, 1080} { // 40 and 80 tokens are old
		n.Think(prompts, replies)
		if n.Respond(prompt.Usage{}, 1000, 0); n.Tokens("") != want {
			t.Errorf("response %d: %d tokens, want %d", i, n.Tokens(""), want)
		}
	}
	var c prompt.Context
	c.Reset(nil, &prompt.Arena{})
	n.Recount(&c)
	if n.Respond(prompt.Usage{}, 1000, 0); n.Tokens("") != 1000 {
		t.Errorf("behind a compaction: %d tokens, want 1000", n.Tokens(""))
	}
}
