package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// A request fits a window that it fills, with what its client appends; one token more is
// beyond it, and where nothing shortens it that is counted.
func TestRequestAtTheWindow(t *testing.T) {
	for _, tc := range []struct {
		window       int64
		tail         int32
		beyond, over int
	}{{18_300, 0, 0, 0}, {18_299, 0, 1, 1}, {18_400, 100, 0, 0}, {18_399, 100, 1, 1}} {
		s := newSession("s").turns(1, 0, 0).session()
		s.Threads[0].Rounds[0].Tail = tc.tail
		c := testConfig(t, "none")
		c.Window = tc.window
		row, _ := run(t, c, s)
		if row.N(measures.AnsweredOverWindow) != tc.beyond || row.N(measures.Overflows) != tc.over {
			t.Errorf("18,300 and %d tokens in a window of %d: %d beyond, %d overflows", tc.tail, tc.window,
				row.N(measures.AnsweredOverWindow), row.N(measures.Overflows))
		}
	}
}

// idler notes how long each thread has been idle ahead of its first request, and cannot
// shorten a prompt that is too long.
type idler struct{ idle map[int32]int64 }

func (idler) Name() string              { return "idler" }
func (l idler) Clone() strategies.Layer { return l }
func (idler) Reset()                    {}
func (l idler) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Round == 0 {
		l.idle[t.Thread] = t.Idle
	}
	return strategies.Outcome{Verdict: strategies.Declined, Reason: "it only looks"}
}
func (idler) PromptTooLong(*strategies.Turn) strategies.Outcome {
	return strategies.Outcome{Verdict: strategies.Failed, Reason: "nothing to leave out"}
}

// A thread has been idle since it began, however old the session is; a branch goes on from
// the last response of its parent, here 70 seconds ago.
func TestIdleOfNewThreads(t *testing.T) {
	b := newSession("s").turns(20, minute, 1000)
	b.subagent(0, 15, 0)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 19, Delay: 70 * second})
	b.turns(1, 0, 0)
	c := testConfig(t, "none")
	idle := map[int32]int64{}
	c.Strategy = strategies.NewStrategy("own", "", idler{idle})
	run(t, c, b.session())
	if idle[1] != 0 || idle[2] != 70*second {
		t.Errorf("the sub-agent was idle for %d s, the branch for %d s; want 0 and 70", idle[1]/second, idle[2]/second)
	}
}

// A layer that fails to shorten a prompt that is too long has failed to compact.
func TestFailureOfATooLongPrompt(t *testing.T) {
	c := testConfig(t, "none")
	c.Strategy, c.Window = strategies.NewStrategy("own", "", idler{map[int32]int64{}}), 18_299
	row, _ := run(t, c, newSession("s").turns(1, 0, 0).session())
	if row.N(measures.FailedCompactions) != 1 || row.N(measures.AnsweredOverWindow) != 1 {
		t.Errorf("%d failures, %d calls beyond the window", row.N(measures.FailedCompactions), row.N(measures.AnsweredOverWindow))
	}
}

// The rate of a loss depends on the pause before the call, not on the session's age: a
// prompt half a minute behind the last response risks 4,000 tokens of messages as one that
// comes soon.
func TestLossByThePause(t *testing.T) {
	c := testConfig(t, "none")
	c.Profile = lossy(0.5, 0.06, 0)
	s := newSession("s").turns(2, 0, 1000).turns(1, 100*second, 0).turns(1, 30*second, 0).session()
	row, _ := run(t, c, s)
	if want := (0.06*3500 + 0.5*4000) * lostUSD; math.Abs(row.Figures[measures.ExpectedLossUSD]-want) > 1e-9 {
		t.Errorf("expected loss $%.9f, want $%.9f", row.Figures[measures.ExpectedLossUSD], want)
	}
}
