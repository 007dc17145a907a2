package loop

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/needs"
	"github.com/compactsim/compactsim/internal/study/recall"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// Just before a call of the conversation is sent, what its answer uses is looked for in the context. What is
// forgotten and can be had as it was costs a fetch: one more call on the warm prefix, and the tokens of what it
// brings, written once and read until the next compaction. Their cost is added up apart from that of the calls.

// replays reports whether a strategy repeats what the recording did, in which the agent fetched what it lacked.
func replays(s *strategies.Strategy) bool {
	return slices.ContainsFunc(s.LayerNames(), func(layer string) bool { return s.Traits(layer).Replays })
}

// fetchOutput is the output of a call that fetches, tokens: the fixed part of a tool call in the recordings, 54, and
// a path.
const fetchOutput = 80

// look shows the judge what is new in the context, before a layer edits it.
func (t *thread) look() {
	if t.replay.needs != nil {
		t.judge.Look(&t.context, t.round, &t.replay.row.Needs)
	}
}

// judgeNeeds adds what the round under way needs to the row, once a round, and keeps what is missing.
func (l *Loop) judgeNeeds(t *thread) {
	if t.replay.needs == nil || t.judged {
		return
	}
	t.judged = true
	t.missing = t.missing[:0]
	t.look()
	t.judge.Call(t.round, &t.replay.row.Needs, t.miss)
}

// miss keeps a need that the context does not have. A file that is read again is fetched by the round itself.
func (t *thread) miss(n *needs.Need, state needs.State, kept float64) {
	if state != needs.Verbatim && n.Kind != recall.NeedRead {
		t.missing = append(t.missing, missing{*n, kept})
	}
}

// worded is a Summarizer whose summaries have words: what they keep of what is needed is looked up, not modelled.
type worded interface {
	// Words returns what a summary says that it gave, "" where that is not known.
	Words(summary *prompt.Block) string
}

// missing is a need that the context does not have, and the share of it that summaries are expected to keep.
type missing struct {
	needs.Need
	kept float64
}

// priceFetches adds to the row what it would cost to fetch what is missing, given how the server has served the call,
// and to read what was fetched before.
func (l *Loop) priceFetches(t *thread, model int32, u *prompt.Usage) {
	if len(t.missing) == 0 && t.judge.Kept == 0 {
		return
	}
	price := t.replay.models.rate(model, t.replay.date(l.clock.now))
	if price == nil {
		return
	}
	row := &t.replay.row.Needs
	var fetched int64
	for i := range t.missing {
		if k := t.missing[i].Fetch; k >= 0 && !t.judge.Has(k) {
			tokens := t.replay.session.Blocks[k].Tokens
			t.judge.Fetch(k, tokens)
			fetched += int64(tokens)
		}
	}
	t.missing = t.missing[:0]
	extra := prompt.Usage{Read: t.judge.Kept - fetched}
	if fetched > 0 {
		row.Fetches++
		extra.Read += u.Input()
		extra.Output = fetchOutput
		addWrite(&extra, u, fetched+fetchOutput)
	}
	if extra != (prompt.Usage{}) {
		cost := results.Cost(price.Cost(&extra))
		row.RefetchUSD += cost.Total()
	}
}

// addWrite adds input to what is not read, in the class in which a call of the conversation was written.
func addWrite(to, as *prompt.Usage, tokens int64) {
	switch writtenAs(as) {
	case results.ClassWrite5m:
		to.Write5m += tokens
	case results.ClassWrite1h:
		to.Write1h += tokens
	default:
		to.Uncached += tokens
	}
}

// writtenAs returns the class in which messages of a call were written.
func writtenAs(u *prompt.Usage) results.Class {
	switch {
	case u.Write5m > 0: // of two lifetimes messages have the shorter one
		return results.ClassWrite5m
	case u.Write1h > 0:
		return results.ClassWrite1h
	}
	return results.ClassUncached
}
