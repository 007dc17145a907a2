package side

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
)

// An image or a document becomes [image], three tokens, inside a result beside its text; what
// weighs less already, and what is cut already, stays as it is.
func TestWhatACallLeavesOut(t *testing.T) {
	for name, tc := range map[string]struct {
		block prompt.Block
		strip ask.Strip
		want  []int32
		clip  int32
	}{
		"an image":                    {prompt.Block{Kind: prompt.KindImage, Tokens: 1500}, ask.StripMedia, []int32{3}, 0},
		"a document":                  {prompt.Block{Kind: prompt.KindDocument, Tokens: 9000}, ask.StripMedia, []int32{3}, 0},
		"a tiny image":                {prompt.Block{Kind: prompt.KindImage, Tokens: 2}, ask.StripMedia, []int32{2}, 0},
		"a result with one":           {prompt.Block{Kind: prompt.KindToolResult, Tokens: 1600, Bytes: 300, Flags: prompt.FlagImage}, ask.StripMedia, []int32{103}, 0},
		"a result of text":            {prompt.Block{Kind: prompt.KindToolResult, Tokens: 100, Bytes: 300}, ask.StripMedia, []int32{100}, 0},
		"an image that stays":         {prompt.Block{Kind: prompt.KindImage, Tokens: 1500}, ask.StripThinking, []int32{1500}, 0},
		"thinking":                    {prompt.Block{Kind: prompt.KindThinking, Tokens: 40}, ask.StripThinking, nil, 0},
		"thinking that stays":         {prompt.Block{Kind: prompt.KindThinking, Tokens: 40}, ask.StripListings, []int32{40}, 0},
		"a listing":                   {prompt.Block{Kind: prompt.KindAttachment, Tokens: 40, Flags: prompt.FlagListing}, ask.StripListings, nil, 0},
		"a listing that stays":        {prompt.Block{Kind: prompt.KindAttachment, Tokens: 40, Flags: prompt.FlagListing}, ask.StripMedia, []int32{40}, 0},
		"an attachment as such":       {prompt.Block{Kind: prompt.KindAttachment, Tokens: 40}, ask.StripListings, []int32{40}, 0},
		"a long result":               {prompt.Block{Kind: prompt.KindToolResult, Tokens: 3000, Bytes: 9000}, 0, []int32{666}, 2000},
		"a short result":              {prompt.Block{Kind: prompt.KindToolResult, Tokens: 700, Bytes: 2000}, 0, []int32{700}, 2000},
		"long thinking":               {prompt.Block{Kind: prompt.KindThinking, Tokens: 1000, Bytes: 4000}, 0, []int32{500}, 2000},
		"a long prompt":               {prompt.Block{Kind: prompt.KindPrompt, Tokens: 3000, Bytes: 9000}, 0, []int32{3000}, 2000},
		"a long prompt as text":       {prompt.Block{Kind: prompt.KindPrompt, Tokens: 3000, Bytes: 9000}, ask.ClipTexts, []int32{666}, 2000},
		"a long result with an image": {prompt.Block{Kind: prompt.KindToolResult, Tokens: 4500, Bytes: 9000, Flags: prompt.FlagImage}, ask.StripMedia, []int32{1000}, 2000},
	} {
		c := new(prompt.Context)
		c.Reset([]prompt.Block{tc.block}, new(prompt.Arena))
		c.Append(0)
		side := new(prompt.Context)
		side.Reset([]prompt.Block{tc.block}, new(prompt.Arena))
		include(side, *c.At(0), &prompt.Intent{Strip: tc.strip, Clip: tc.clip})
		var got []int32
		for i := range side.Len() {
			got = append(got, side.At(i).Tokens)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// A call that the recording shows begins with its own tools and system prompt, as the recording has them, and so finds what others of the same
// head left in the cache.
func TestHeadOfARecordedCall(t *testing.T) {
	blocks := []prompt.Block{{Kind: prompt.KindPrompt, Tokens: 5}, {Kind: prompt.KindSystem, Tokens: 4000, Digest: prompt.DigestString("summarise")}}
	var c, side prompt.Context
	c.Reset(blocks, new(prompt.Arena))
	c.Append(0)
	Build(&side, blocks, &c, nil, &prompt.Intent{Source: "compact", Own: true, From: 1, Head: 99, Instruction: 700, Known: &prompt.Answer{Head: [2]prompt.Ref{1, 2}}})
	said := side.Seal()[1].Chain
	Build(&side, blocks, &c, nil, &prompt.Intent{Source: "compact", Own: true, From: 1, Instruction: 700, Ordinal: 1, Known: &prompt.Answer{Head: [2]prompt.Ref{1, 2}}})
	if side.Seal()[1].Chain == said {
		t.Error("the next call says as much, and is read from the cache as if it said the same")
	}
	if side.Len() != 2 || side.At(0).Block != 1 || side.At(0).Tokens != 4000 || side.At(1).Tokens != 700 {
		t.Errorf("%d entries, %+v", side.Len(), side.Seal())
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
