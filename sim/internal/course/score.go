package course

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// toolSearch is the tool that loads the descriptions of others.
const toolSearch = "ToolSearch"

// Score is what the lines of a round say whatever a strategy does: found once, when a conversation is prepared, for all
// strategies that the simulation comes to stand for.
type Score struct {
	signs.Content
	Searched bool  // the input has the result of a search for tools
	Behind   int32 // tokens of the input's results behind the one that the client marks
	Estimate int64 // the client's count of the input, tokens
}

// Prepare finds the scores of all rounds, with a client's count of a block, tokens. It keeps the storage of earlier ones.
func (c *Course) Prepare(estimate func(*prompt.Block) int64) {
	c.Scores = slices.Grow(c.Scores[:0], len(c.Trace.Rounds))
	for i := range c.Trace.Rounds {
		r := &c.Trace.Rounds[i]
		in := c.Session.Blocks[r.Input.From:r.Input.To]
		score := Score{Content: c.Session.Content(r), Behind: behindMarked(in)}
		for k := range in {
			b := &in[k]
			score.Estimate += estimate(b)
			score.Searched = score.Searched || b.Kind == prompt.KindToolResult && b.Tool != 0 && c.Session.Tools[b.Tool] == toolSearch
		}
		c.Scores = append(c.Scores, score)
	}
}

// behindMarked returns the tokens of results behind the one that the client
// marks. Results of parallel calls stand in the order in which they came; the client marks the
// last result and then sends the results in the order of the calls, so that results of later calls
// stand behind the breakpoint. The recordings have
// 500 calls with several results: of 415 in order, and of 9 whose last call came
// last, none left more than the usual tail uncached; of 76 others all but 3 did.
func behindMarked(blocks []prompt.Block) int32 {
	last, behind := int32(0), int32(0)
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult {
			last = blocks[i].Call // its result came last
		}
	}
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult && blocks[i].Call > last {
			behind += blocks[i].Tokens
		}
	}
	return behind
}
