package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A recording's own summaries: outputs of calls, two of which one count may add up, and the messages of those whose size
// only totals show, less what every first request has in no line; of Claude Code the message that a line shows.
func TestOwnSummaryOf(t *testing.T) {
	s := &traces.Session{
		Blocks: []prompt.Block{
			{Kind: prompt.KindUnseen, Tokens: 500}, {Kind: prompt.KindSummary, Tokens: 2500, Flags: prompt.FlagDerived},
			{Kind: prompt.KindSummary, Tokens: 3500, Flags: prompt.FlagDerived}, {Kind: prompt.KindSummary, Tokens: 9999},
		},
		Summaries: []traces.SummaryCall{
			{Calls: 2, Usage: prompt.Usage{Output: 7000}}, {Usage: prompt.Usage{Output: 2000}}, {Thread: 1, Usage: prompt.Usage{Output: 90}},
		},
		Threads: []traces.Thread{
			{
				Rounds: []traces.Round{{Input: traces.Span{To: 1}}},
				Events: []traces.Event{{Summary: traces.Span{From: 1, To: 2}}, {Summary: traces.Span{From: 2, To: 3}}, {Summary: traces.Span{From: 3, To: 4}}},
			},
			{Kind: traces.ThreadAgent},
		},
	}
	if got, want := ownSummaryOf(s), (ownSummary{output: 3000, message: 2500, text: 9999}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.Variant = traces.VariantLocal
	if got := ownSummaryOf(s); got.message != 0 {
		t.Errorf("a summary that the model wrote has %d tokens by totals", got.message)
	}
	if got := ownSummaryOf(&traces.Session{}); got != (ownSummary{}) {
		t.Errorf("no compaction: %+v", got)
	}
}

// What a round weighs beyond the estimate of its texts is cut as its results are: of 6,000 bytes 2,000 are shown, so of 300
// unseen tokens 100. Rounds do not mix.
func TestUnseenIsCutWithItsRound(t *testing.T) {
	blocks := []prompt.Block{
		{Kind: prompt.KindToolUse, Tokens: 10}, {Kind: prompt.KindToolResult, Tokens: 1800, Bytes: 6000}, {Kind: prompt.KindUnseen, Tokens: 300},
		{Kind: prompt.KindToolUse, Tokens: 10}, {Kind: prompt.KindToolResult, Tokens: 600, Bytes: 2000}, {Kind: prompt.KindUnseen, Tokens: 300},
	}
	for clip, want := range map[int32][]int32{2000: {10, 600, 100, 10, 600, 300}, 0: {10, 1800, 300, 10, 600, 300}} {
		c := new(prompt.Context)
		c.Reset(blocks, new(prompt.Arena))
		c.AppendRange(0, 6)
		side, in := new(prompt.Context), &prompt.Intent{Clip: clip}
		side.Reset(blocks, new(prompt.Arena))
		cut := shownShare{in: in}
		for i := range c.Len() {
			include(side, cut.scale(*c.At(i), c.BlockAt(i)), in)
		}
		var got []int32
		for i := range side.Len() {
			got = append(got, side.At(i).Tokens)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, want %v", clip, got, want)
		}
	}
}

// Calls without tools share no prefix with the conversation, and one with each other.
func TestToolsLeftOut(t *testing.T) {
	blocks := []prompt.Block{{Kind: prompt.KindTools, Tokens: 9}, {Kind: prompt.KindSystem, Tokens: 5}, {Kind: prompt.KindPrompt, Tokens: 3}}
	chain := func(leave bool) prompt.Digest {
		c := new(prompt.Context)
		c.Reset(blocks, new(prompt.Arena))
		c.AppendRange(0, 3)
		if leave {
			leaveOutTools(c, "compact")
			if c.Tokens() != 8 {
				t.Errorf("%d tokens, want 8", c.Tokens())
			}
		}
		return c.Seal()[c.Len()-2].Chain
	}
	if chain(true) == chain(false) || chain(true) != chain(true) {
		t.Error("the prefix is the conversation's, or another in each call")
	}
}
