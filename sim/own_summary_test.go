package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
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
	s.Variant = facts.VariantLocal
	if got := ownSummaryOf(s); got.message != 0 {
		t.Errorf("a summary that the model wrote has %d tokens by totals", got.message)
	}
	if got := ownSummaryOf(&traces.Session{}); got != (ownSummary{}) {
		t.Errorf("no compaction: %+v", got)
	}
}
