package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// What a client put back behind a compaction goes with the compaction: a strategy that does not
// repeat the compaction has nothing put back. By hand: 18,000 tokens of head, a prompt of 300, two
// results of 1,000 and two replies of 200 before the third
// call. Behind the recorded compaction are 5,000 tokens, the head and what came back, 3,000.
func TestBroughtBack(t *testing.T) {
	b := newSession("s")
	b.turns(3, 0, 1000)
	main := &b.s.Threads[0]
	r := &main.Rounds[2]
	reply := b.s.Blocks[r.Reply.From:r.Reply.To]
	reply = append([]prompt.Block(nil), reply...)
	b.s.Blocks = b.s.Blocks[:r.Reply.From]
	b.s.Blocks[b.block(prompt.KindAttachment, 3000)].Flags = prompt.FlagMeta
	r.Input.To = int32(len(b.s.Blocks))
	r.Reply.From = r.Input.To
	b.s.Blocks = append(b.s.Blocks, reply...)
	r.Reply.To = int32(len(b.s.Blocks))
	main.Events = []traces.Event{{Kind: traces.EventCompact, Round: 2, Absorbed: 1, Kept: 5000}}
	for strategy, want := range map[string]int64{
		"none":     18_000 + 300 + 2*200 + 2*1000,
		"recorded": 16_000 + 5_000 + 3000,
	} {
		_, calls := run(t, testConfig(t, strategy), b.session())
		if got := calls[len(calls)-1].Context; got != want {
			t.Errorf("%s: the last call has %d tokens, want %d", strategy, got, want)
		}
	}
}
