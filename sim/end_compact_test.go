package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// endOfLoop compacts all when a loop has ended on five messages or more.
const endOfLoop = "  - full-compact: {trigger: {measure: messages, fixed: 5}, when: {at: end}}\n"

// again adds a call without visible input: the client asks again at once, or has the model go on.
func (b *sessionBuilder) again() *sessionBuilder {
	r := b.round(traces.TriggerPrompt, 0, 0)
	r.Trigger, r.Input.To, r.Reply.From = traces.TriggerOther, r.Input.From, r.Input.From+1
	return b
}

// A loop that has ended is compacted in the gap behind it. Where a call without visible input follows at once there is
// no gap: the next loop that ends is compacted.
func TestEndOfLoopWithACallAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		session *traces.Session
		want    int
	}{
		"a pause":               {newSession("s").turns(3, 0, 1000).answer().turns(2, minute, 1000).session(), 1},
		"a call at once":        {newSession("s").turns(3, 0, 1000).answer().again().session(), 0},
		"and a pause behind it": {newSession("s").turns(3, 0, 1000).answer().again().answer().turns(2, minute, 1000).session(), 1},
	} {
		row, _ := run(t, written(t, endOfLoop), tc.session)
		if n := row.N(measures.Compactions); n != tc.want {
			t.Errorf("%s: %d compactions, want %d", name, n, tc.want)
		}
	}
}

// A branch begins in the gap behind its parent's response: a loop that ended there is compacted on both, and the ends
// of a branch's own loops are looked at whatever its parent's were.
func TestEndOfLoopOnABranch(t *testing.T) {
	b := newSession("s").turns(3, 0, 1000).answer()
	b.turns(2, 2*minute, 1000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 2, Delay: 10 * second})
	b.turns(3, minute, 700).answer().turns(2, minute, 700)
	row, calls := run(t, written(t, endOfLoop), b.session())
	byThread := map[int32]int{}
	for _, c := range calls {
		if c.Source == measures.SourceCompact {
			byThread[c.Thread]++
		}
	}
	if row.N(measures.Compactions) != 3 || byThread[0] != 1 || byThread[1] != 2 {
		t.Errorf("%d compactions, %d on the conversation, %d on its branch; want 3, 1 and 2",
			row.N(measures.Compactions), byThread[0], byThread[1])
	}
}

// The summary call behind the last loop is made and billed, though no request has its summary: 5 messages of three turns are due. Without the
// answer a tool is at work when the recording ends, and three messages are too few.
func TestEndOfLoopAtTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		session *traces.Session
		want    int
	}{
		"answered":    {newSession("s").turns(3, 0, 1000).answer().session(), 1},
		"unanswered":  {newSession("s").turns(3, 0, 1000).session(), 0},
		"too few yet": {newSession("s").turns(1, 0, 1000).answer().session(), 0},
	} {
		row, calls := run(t, written(t, endOfLoop), tc.session)
		n := 0
		for _, c := range calls {
			if c.Source == measures.SourceCompact {
				n++
			}
		}
		if n != tc.want || row.N(measures.Compactions) != 0 {
			t.Errorf("%s: %d calls and %d compactions, want %d and 0", name, n, row.N(measures.Compactions), tc.want)
		}
	}
}
