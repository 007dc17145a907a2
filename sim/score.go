package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// score is what the lines of a round say whatever a strategy does: found once, when a thread is prepared, for all
// strategies that the simulation comes to stand for.
type score struct {
	traces.Content
	searched bool  // the input has the result of a search for tools
	behind   int32 // tokens of the input's results behind the one that the client marks
	estimate int64 // the client's count of the input, tokens
}

// scores appends the score of each round of a thread to list.
func (s *replay) scores(list []score, t *traces.Thread) []score {
	list = slices.Grow(list, len(t.Rounds))
	for i := range t.Rounds {
		r := &t.Rounds[i]
		in := s.session.Blocks[r.Input.From:r.Input.To]
		c := score{Content: s.session.Content(r), behind: behindMarked(in)}
		for k := range in {
			b := &in[k]
			c.estimate += s.estimate(b)
			c.searched = c.searched || b.Kind == prompt.KindToolResult && b.Tool != 0 && s.session.Tools[b.Tool] == toolSearch
		}
		list = append(list, c)
	}
	return list
}

// score returns the score of the round under way.
func (t *thread) score() *score { return &t.scores[t.round] }

// answersPerson reports whether the round under way answers a person in the main
// conversation, and not the results of tools alone.
func (t *thread) answersPerson() bool {
	return !t.agent() && (t.current().Trigger != traces.TriggerToolResult || t.score().Person)
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
