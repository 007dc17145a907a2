package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/strategies"
)

// Just before a call of the conversation is sent, what its answer uses is looked for in the context. What is
// forgotten and can be had as it was costs a fetch: one more call on the warm prefix, and the tokens of what it
// brings, written once and read until the next compaction. Their cost is added up apart from the cost of the calls.

// replays reports whether a strategy repeats what the recording did, in which the agent fetched what it lacked.
func replays(s *strategies.Strategy) bool {
	return slices.ContainsFunc(s.LayerNames(), func(layer string) bool { return s.Traits(layer).Replays })
}

// fetchOutput is the output of a call that reads a file which the agent has only written, tokens: the fixed part of a tool
// call in the recordings, 54, and a path.
const fetchOutput = 80

// showJudge shows the judge what is new in the context, before a layer edits it.
func (t *thread) showJudge() {
	if t.replay.needs != nil {
		t.judge.Look(&t.Context, t.Round, (*recall.Needs)(t.replay.book.Row.Figures[results.Needs:]))
	}
}

// judgeNeeds adds what the round under way needs to the row, once a round, and keeps what is missing.
func (t *thread) judgeNeeds() {
	if t.replay.needs == nil || t.judged {
		return
	}
	t.judged = true
	t.missing = t.missing[:0]
	t.showJudge()
	t.judge.Call(t.Round, (*recall.Needs)(t.replay.book.Row.Figures[results.Needs:]), t.miss)
}

// miss keeps a need that the context does not have and the recorded context had. Where both lack
// it, the recording shows what the agent did. A file that is read again is fetched by the round
// itself.
func (t *thread) miss(n *needs.Need, state needs.State, kept float64) {
	if state != needs.Verbatim && n.Had && n.Kind != recall.NeedRead && t.replay.book.Row.Loop == results.LoopClosed {
		t.missing = append(t.missing, missing{*n, kept})
	}
}

// worded is a Summarizer whose summaries have words: what they keep of what is needed is looked up, not modelled.
type worded interface {
	// Words returns what a summary says that it gave, "" where that is not known.
	Words(summary *prompt.Block) string
}

// missing is a need that the context does not have, and the share that summaries are expected to keep.
type missing struct {
	needs.Need
	kept float64
}
