package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// reporter says once, ahead of the second request, what it has done to the context.
type reporter struct{ done strategies.Boundary }

func (reporter) Name() string              { return "reporter" }
func (l reporter) Clone() strategies.Layer { return l }
func (reporter) Reset()                    {}
func (l reporter) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Round != 1 {
		return strategies.Outcome{Verdict: strategies.Declined, Reason: "not now"}
	}
	t.Compacted(l.done)
	return strategies.Outcome{Verdict: strategies.Done}
}

// What a layer reports is counted by its kind. A compaction that leaves more than the window
// holds has failed, unless the recording made it.
func TestReportsOfLayers(t *testing.T) {
	const window = 20_000
	for name, tc := range map[string]struct {
		done                     strategies.Boundary
		compactions, micro, lost int
		cleared                  int64
	}{
		"a clearing":             {strategies.Boundary{Kind: strategies.BoundaryMicro, Before: 1000, After: 400}, 0, 1, 0, 600},
		"the server's":           {strategies.Boundary{Kind: strategies.BoundaryServer, Before: 1000, After: 400}, 0, 0, 0, 600},
		"a clearing that grew":   {strategies.Boundary{Kind: strategies.BoundaryMicro, Before: 400, After: 1000}, 0, 1, 0, 0},
		"a compaction":           {strategies.Boundary{Kind: strategies.BoundaryCompact, Before: 30_000, After: window}, 1, 0, 0, 0},
		"one that does not fit":  {strategies.Boundary{Kind: strategies.BoundaryCompact, Before: 30_000, After: window + 1}, 1, 0, 1, 0},
		"one that was recorded":  {strategies.Boundary{Kind: strategies.BoundaryCompact, Before: 30_000, After: window + 1, Replayed: true}, 1, 0, 0, 0},
		"results put to storage": {strategies.Boundary{Kind: strategies.BoundaryStore, Before: 1000, After: 400}, 0, 0, 0, 0},
	} {
		c := testConfig(t, "none")
		c.Window = window
		c.Strategy = strategies.NewStrategy("own", "", reporter{tc.done})
		row, _ := run(t, c, newSession("s").turns(2, 0, 1000).session())
		if row.N(measures.Compactions) != tc.compactions || row.N(measures.Microcompactions) != tc.micro ||
			row.N(measures.FailedCompactions) != tc.lost || int64(row.N(measures.ClearedTokens)) != tc.cleared {
			t.Errorf("%s: %d compactions, %d clearings, %d failed, %d tokens cleared", name,
				row.N(measures.Compactions), row.N(measures.Microcompactions), row.N(measures.FailedCompactions), row.N(measures.ClearedTokens))
		}
	}
}

// A message to all siblings reaches the sub-agents at work of the same parent, and not who
// sent it; one of nothing reaches nobody.
func TestWhoReadsAMessage(t *testing.T) {
	agent := func(parent int32) traces.Thread { return traces.Thread{Kind: traces.ThreadAgent, Parent: parent} }
	session := &traces.Session{Threads: []traces.Thread{
		{Kind: traces.ThreadMain, Parent: -1}, agent(0), agent(0), agent(1), agent(0), agent(0), {Kind: traces.ThreadBranch, Parent: 0},
	}}
	for name, tc := range map[string]struct {
		message strategies.Message
		inbox   []int // threads
		mailbox []int
	}{
		"to siblings":   {strategies.Message{To: strategies.ToSiblings, Tokens: 50}, []int{2}, nil},
		"by mail":       {strategies.Message{To: strategies.ToSiblings, Tokens: 50, Mailbox: true}, nil, []int{2}},
		"to the parent": {strategies.Message{To: 0, Tokens: 50}, []int{0}, nil},
		"to the first":  {strategies.Message{To: 3, Tokens: 1}, []int{3}, nil},
		"of nothing":    {strategies.Message{To: 0}, nil, nil},
		"to nobody":     {strategies.Message{To: 9, Tokens: 50}, nil, nil},
	} {
		l, s := &Loop{}, &replay{session: session}
		l.hold(s, len(session.Threads))
		for i := range l.threads {
			th := l.threads[i]
			th.replay, th.Trace, th.Started, th.ended = s, &session.Threads[i], i != 4, i == 5
		}
		(&host{thread: l.threads[1]}).Post(tc.message)
		for i := range l.threads {
			th := l.threads[i]
			in, mail := 0, 0
			for _, n := range tc.inbox {
				if n == i {
					in = 1
				}
			}
			for _, n := range tc.mailbox {
				if n == i {
					mail = 1
				}
			}
			if len(th.inbox) != in || len(th.mailbox) != mail {
				t.Errorf("%s: thread %d has %v and %v", name, i, th.inbox, th.mailbox)
			}
		}
	}
}
