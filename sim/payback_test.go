package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ledger is an observer that keeps what compactions paid back.
type ledger struct{ paid []studies.Payback }

func (*ledger) Checked(Point, strategies.Check)                        {}
func (*ledger) Answered(Point, string, string, strategies.Outcome)     {}
func (*ledger) Changed(Point, string, strategies.Boundary)             {}
func (*ledger) Served(Point, string, *prompt.Request, *prompt.Outcome) {}
func (l *ledger) Paid(_, _ int, p *studies.Payback)                    { l.paid = append(l.paid, *p) }

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
			if len(list) != 1 || row.N(results.Compactions) != 1 {
				t.Fatalf("%s: %s: %d compactions, %d told", layers, name, row.N(results.Compactions), len(list))
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
	if len(list) != 1 || list[0].Later != 1 || list[0].PaidAfter != 0 || row.N(results.NetNegativeCompactions) != 1 {
		t.Errorf("%+v; %d counted", list, row.N(results.NetNegativeCompactions))
	}
	list, row = paid(t, written(t, byFork), newSession("s").turns(28, 0, 4000).session())
	if negative := list[0].NetUSD() < 0; negative != (row.N(results.NetNegativeCompactions) == 1) {
		t.Errorf("net $%.4f; %d counted", list[0].NetUSD(), row.N(results.NetNegativeCompactions))
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
		if got := ownPrefix(&tc.in); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The calls of one compaction add up; it began with the first, and the first on the
// conversation's prefix tells what that would have read.
func TestCallsOfACompactionAddUp(t *testing.T) {
	var s summaries
	for _, f := range []flight{{start: 5}, {start: 9, own: true}, {start: 12, own: true}} {
		f.outcome.Usage.Read = 100 * f.start
		s.add(&f, &results.Cost{results.ClassRead: 0.5})
	}
	if s.calls != 3 || s.start != 5 || s.would != 1+900 || s.usage.Read != 2600 || s.cost.Total() != 1.5 {
		t.Errorf("%+v", s)
	}
}

// A compaction begins warm through the last moment of the lifetime, five minutes behind the
// last response, and its first call says when it began. What requests had left out is not saved.
func TestBalanceBegins(t *testing.T) {
	for name, tc := range map[string]struct {
		now     int64
		made    summaries
		deleted int64
		warm    bool
		saved   int64
	}{
		"at the end of its life": {5 * minute, summaries{}, 0, true, 9000},
		"later":                  {5*minute + 1, summaries{}, 0, false, 9000},
		"a call under way since": {6 * minute, summaries{calls: 1, start: 5 * minute}, 0, true, 9000},
		"with deletions":         {minute, summaries{}, 700, true, 8300},
		"with deletions, cold":   {6 * minute, summaries{}, 700, false, 9000},
	} {
		th := &thread{Course: course.Course{Started: true, TTL: prompt.TTL5m}, replay: &replay{}, summaries: tc.made}
		if tc.deleted > 0 {
			th.deleted.list, th.deleted.tokens = []prompt.Deletion{{}}, tc.deleted
		}
		l := &Loop{}
		l.clock.now = tc.now
		l.openPayback(th, &strategies.Boundary{Before: 10_000, After: 1000})
		if p := th.replay.paybacks[0]; p.warm != tc.warm || p.Saved != tc.saved || p.Calls != tc.made.calls {
			t.Errorf("%s: warm %v, %d saved, %d calls; want %v, %d, %d", name, p.warm, p.Saved, p.Calls, tc.warm, tc.saved, tc.made.calls)
		}
	}
}

// What stayed before the change is the prefix of the conversation's first request behind it. A
// balance of nothing is not a loss.
func TestWhatABalanceNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		layer, at int32
		later     int
		front     int64
	}{
		"the next request":  {-1, 1, 0, 50},
		"a layer's call":    {0, 1, 0, 0},
		"a later request":   {-1, 1, 1, 0},
		"from the first on": {-1, 0, 0, 0},
		"behind the end":    {-1, 9, 0, 80},
	} {
		th := &thread{replay: &replay{paybacks: make([]payback, 1)}, payback: 1}
		th.replay.paybacks[0].Later = tc.later
		l := &Loop{request: prompt.Request{Entries: []prompt.Entry{{Cum: 50}, {Cum: 80}}, Change: prompt.Change{At: tc.at}}}
		l.notePayback(th, &flight{layer: tc.layer})
		if got := th.replay.paybacks[0].Front; got != tc.front {
			t.Errorf("%s: %d tokens ahead of the change, want %d", name, got, tc.front)
		}
	}
	s := &replay{paybacks: make([]payback, 1)}
	if s.closePaybacks(&Loop{}); s.row.N(results.NetNegativeCompactions) != 0 {
		t.Error("a balance of nothing counts as negative")
	}
}
