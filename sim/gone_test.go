package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// What a recording dropped is gone from the requests behind it, whole, at no call: they are smaller by what went, and what was
// cached before it is read. A compaction whose call the log does not show makes no call either.
func TestDroppedBlocks(t *testing.T) {
	const at = 4
	plain := newSession("s").turns(8, 2, 500).session()
	_, before := run(t, testConfig(t, "recorded"), plain)
	s := newSession("s").turns(8, 2, 500).session()
	th := &s.Threads[0]
	ev := traces.Event{Kind: traces.EventMicrocompact, Round: at, Gone: true}
	for b := th.Rounds[1].Reply.From; b < th.Rounds[2].Input.To; b++ { // calls of tools and their results
		ev.Cleared, ev.Saved = append(ev.Cleared, b), ev.Saved+s.Blocks[b].Tokens
	}
	th.Events = []traces.Event{ev}
	row, calls := run(t, testConfig(t, "recorded"), s)
	for i := range calls {
		want := before[i].Context
		if i >= at {
			want -= int64(ev.Saved)
		}
		if calls[i].Context != want || calls[i].Source != measures.SourceMain {
			t.Errorf("call %d of source %s has %d tokens, want %d", i, calls[i].Source, calls[i].Context, want)
		}
	}
	if calls[at].Miss != exchange.MissEdit || row.N(measures.Microcompactions) != 1 || len(calls) != len(before) {
		t.Errorf("miss %v, %d cleared, %d calls, want an edit, 1 and %d", calls[at].Miss, row.N(measures.Microcompactions), len(calls), len(before))
	}
	th.Events = []traces.Event{{Kind: traces.EventCompact, Round: at, Uncalled: true, Kept: 1000, Absorbed: int32(th.Rounds[at].Input.Len())}}
	if row, calls := run(t, testConfig(t, "recorded"), s); len(calls) != len(before) || row.N(measures.Compactions) != 1 || row.CallsBy(measures.SourceCompact) != 0 {
		t.Errorf("%d calls, %d of summaries, for %d compactions; want %d, 0 and 1", len(calls), row.CallsBy(measures.SourceCompact), row.N(measures.Compactions), len(before))
	}
}
