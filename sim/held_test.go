package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// A fourth call reads 50,000 tokens more than was ever sent, which no line shows, and a compaction sums up what stands before
// it. Where the client's sum has no room for a call that cached them, nobody is billed for writing or sending them: of the fourth
// call the prompt of 300 is new, and of the summary call the response before it, the prompt and an instruction of 1,500. Without
// a sum, or with one that has room, both send the surplus too, unless the call was billed for reading alone: then it has nothing new.
func TestReadsOfWhatNobodySent(t *testing.T) {
	const surplus = 50_000
	turns := traces.UnshownCall{Event: -1, Model: "claude-opus-4-5", Usage: prompt.Usage{Read: 200_000}}
	fresh := func(summed, alone bool, unshown ...traces.UnshownCall) (fourth, summary int64) {
		b := newSession("held")
		b.s.Versions = []string{"2.1.332"}
		b.turns(3, minute, 1000)
		b.unseen = true
		b.turns(1, minute, 1000)
		b.unseen = false
		rounds := b.s.Threads[0].Rounds
		b.s.Blocks[rounds[3].Input.To-1].Tokens = surplus
		b.turns(1, minute, 1000)
		text := b.block(prompt.KindSummary, 500)
		b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 4, Summary: traces.Span{From: text, To: text + 1}, Kept: 500}}
		s := b.session()
		s.Summed, s.Unshown = summed, unshown
		rounds = s.Threads[0].Rounds
		for i := range rounds {
			u := &rounds[i].Usage
			if *u = (prompt.Usage{Write5m: 18_300, Output: 200}); i > 0 {
				u.Read, u.Write5m = rounds[i-1].Usage.Input(), 1200
			}
		}
		if u := &rounds[3].Usage; alone {
			*u = prompt.Usage{Read: u.Input() + surplus, Output: u.Output}
		} else {
			u.Read += surplus + 200
		}
		_, calls := run(t, testConfig(t, measures.StrategyRecorded), s)
		for i := range calls {
			u := &calls[i].Usage
			switch {
			case calls[i].Round == 3:
				fourth = u.Input() - u.Read
			case calls[i].Source == measures.SourceCompact:
				summary = u.Input() - u.Read
			}
		}
		return fourth, summary
	}
	for _, c := range []struct {
		name            string
		summed, alone   bool
		unshown         []traces.UnshownCall
		fourth, summary int64
	}{
		{"no room in the sum", true, false, nil, 300, 2000},
		{"no sum", false, false, nil, 300 + 200 + surplus, 2000 + surplus},
		{"no sum, billed for reading alone", false, true, nil, 0, 2000},
		{"room in the sum", true, false, []traces.UnshownCall{turns}, 300 + 200 + surplus, 2000 + surplus},
	} {
		if fourth, summary := fresh(c.summed, c.alone, c.unshown...); fourth != c.fourth || summary != c.summary {
			t.Errorf("%s: the call has %d new tokens and the summary %d, want %d and %d", c.name, fourth, summary, c.fourth, c.summary)
		}
	}
}
