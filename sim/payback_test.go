package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ledger is an observer that keeps what compactions paid back.
type ledger struct{ paid []studies.Payback }

func (*ledger) Checked(Point, strategies.Check)                            {}
func (*ledger) Answered(Point, string, string, strategies.Outcome)         {}
func (*ledger) Changed(Point, string, strategies.Boundary)                 {}
func (*ledger) Served(Point, string, *exchange.Request, *exchange.Outcome) {}
func (l *ledger) Paid(_, _ int, p *studies.Payback)                        { l.paid = append(l.paid, *p) }

// paid returns what the compactions of a run paid back, and its row.
func paid(t *testing.T, c Config, s *traces.Session) ([]studies.Payback, results.Row) {
	t.Helper()
	var l ledger
	c.Observer = &l
	row, _ := run(t, c, s)
	return l.paid, row
}

// Ways of bringing the context down, once in the sessions of these tests: by a
// call on the conversation's own prefix, by one under a prefix of its own that
// tells nothing of the conversation's cache, and without a call.
const (
	byFork      = "  - full-compact: {trigger: {fixed: 100000}, call: [fork]}\n"
	byStreaming = "  - full-compact: {trigger: {fixed: 100000}, call: [streaming]}\n"
	byDropping  = "  - truncate-oldest: {trigger: {fixed: 100000}, target: 0.5}\n"
)

// The net of a single compaction is what the same session costs more without
// it: warm all the way, and with a pause of ten minutes, which is twice the
// lifetime, ahead of the compaction or behind it.
func TestNetIsTheDifferenceToNoCompaction(t *testing.T) {
	for name, s := range map[string]*traces.Session{
		"warm":        newSession("s").turns(28, 0, 4000).session(),
		"cold before": newSession("s").turns(20, 0, 4000).turns(9, 10*minute, 4000).session(),
		"cold at it":  newSession("s").turns(20, 0, 4000).turns(8, 10*minute, 4000).session(),
		"cold behind": newSession("s").turns(22, 0, 4000).turns(7, 10*minute, 4000).session(),
	} {
		for _, layers := range []string{byFork, byStreaming, byDropping} {
			list, row := paid(t, written(t, layers), s)
			if len(list) != 1 || row.N(measures.Compactions) != 1 {
				t.Fatalf("%s: %s: %d compactions, %d told", layers, name, row.N(measures.Compactions), len(list))
			}
			without, _ := run(t, testConfig(t, "none"), s)
			p := &list[0]
			want := without.CostUSD() - row.CostUSD()
			if math.Abs(p.NetUSD()-want) > 1e-6 {
				t.Errorf("%s: %s: net $%.6f (%+v), the runs differ by $%.6f", layers, name, p.NetUSD(), *p, want)
			}
		}
	}
}

// A compaction of the last request alone cannot pay: its call costs more than
// one request saves. The count of the row counts the nets below zero.
func TestNetNegativeCompactionsAreCounted(t *testing.T) {
	last := newSession("s").turns(21, 0, 4000).session() // 18,000 + 300 + 20 × 4,200 pass 100,000 at the last request
	list, row := paid(t, written(t, byFork), last)
	if len(list) != 1 || list[0].Later != 1 || list[0].PaidAfter != 0 || row.N(measures.NetNegativeCompactions) != 1 {
		t.Errorf("%+v; %d counted", list, row.N(measures.NetNegativeCompactions))
	}
	list, row = paid(t, written(t, byFork), newSession("s").turns(28, 0, 4000).session())
	if negative := list[0].NetUSD() < 0; negative != (row.N(measures.NetNegativeCompactions) == 1) {
		t.Errorf("net $%.4f; %d counted", list[0].NetUSD(), row.N(measures.NetNegativeCompactions))
	}
}

// A branch carries the context of its parent on: what its calls save counts for
// the parent's compaction.
func TestBranchesSaveForTheirParentsCompaction(t *testing.T) {
	b := newSession("s").turns(24, 0, 4000)
	alone, _ := paid(t, written(t, byFork), b.session())
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 23})
	b.turns(4, 0, 1000)
	both, _ := paid(t, written(t, byFork), b.session())
	if len(alone) != 1 || len(both) != 1 || both[0].Later != alone[0].Later+4 || both[0].GainUSD <= alone[0].GainUSD {
		t.Errorf("alone %+v, with a branch of four calls %+v", alone, both)
	}
}

// What a call reads tells what the conversation would have read only if it sends the same.
func TestCallsOnTheConversationsPrefix(t *testing.T) {
	for name, tc := range map[string]struct {
		in   prompt.Intent
		want bool
	}{
		"the same":         {prompt.Intent{}, true},
		"of its own":       {prompt.Intent{Own: true}, false},
		"another model":    {prompt.Intent{Model: "small"}, false},
		"without images":   {prompt.Intent{Strip: 1}, false},
		"other parameters": {prompt.Intent{Rekey: true}, false},
	} {
		if c := (side.Call{Asked: side.Asked{Intent: tc.in}}); c.OwnPrefix() != tc.want {
			t.Errorf("%s: %v", name, c.OwnPrefix())
		}
	}
}
