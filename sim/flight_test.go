package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// inquirer makes a call before every request, on the conversation's own prefix, and notes the
// call's outcome.
type inquirer struct {
	instruction int32
	deletes     bool // deletes the first result before the call
	failed      *[]string
}

func (inquirer) Name() string              { return "inquirer" }
func (l inquirer) Clone() strategies.Layer { return l }
func (inquirer) Reset()                    {}
func (l inquirer) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	for i := 0; l.deletes && i < t.Context.Len(); i++ {
		if e := t.Context.At(i); e.Kind == prompt.KindToolResult {
			t.Delete(e.ID)
			break
		}
	}
	return t.Call(prompt.Intent{Source: "other", Instruction: l.instruction})
}

func (l inquirer) IntentResult(_ *strategies.Turn, r *prompt.Result) strategies.Outcome {
	*l.failed = append(*l.failed, r.Failed)
	return strategies.Outcome{Verdict: strategies.Declined, Reason: "asked"}
}

// inquired runs a session with an inquirer as the first layer.
func inquired(t *testing.T, c Config, l inquirer, s *traces.Session) (row results.Row, calls []results.CallRecord, failed []string) {
	t.Helper()
	l.failed = &failed
	c.Strategy = strategies.NewStrategy("own", "", l)
	row, calls = run(t, c, s)
	return row, calls, failed
}

// The first call of a thread is the conversation's, whatever layers asked before it.
func TestFirstCallIsTheConversations(t *testing.T) {
	row, calls, _ := inquired(t, testConfig(t, "none"), inquirer{instruction: 100}, newSession("s").turns(2, 0, 1000).session())
	if len(calls) != 4 || row.N(measures.LaterCalls) != 1 {
		t.Fatalf("%d calls, %d later ones", len(calls), row.N(measures.LaterCalls))
	}
	for i, r := range calls {
		if r.First != (i == 1) {
			t.Errorf("call %d of %v is the first: %v", i, r.Source, r.First)
		}
	}
}

// A call that fills the window is made; one token more is too long. The request has 18,300.
func TestCallAtTheWindow(t *testing.T) {
	for window, want := range map[int64]string{20_000: "", 19_999: ask.FailTooLong} {
		c := testConfig(t, "none")
		c.Window = window
		_, _, failed := inquired(t, c, inquirer{instruction: 1700}, newSession("s").turns(1, 0, 0).session())
		if len(failed) != 1 || failed[0] != want {
			t.Errorf("a window of %d: %q, want %q", window, failed, want)
		}
	}
}

// What is deleted from the conversation's requests is deleted from calls that send the
// same too: they are larger by their instruction alone.
func TestCallsLeaveOutWhatIsDeleted(t *testing.T) {
	_, calls, _ := inquired(t, testConfig(t, "none"), inquirer{instruction: 100, deletes: true}, newSession("s").turns(4, 0, 1000).session())
	for i := 0; i+1 < len(calls); i += 2 {
		if call, own := calls[i], calls[i+1]; call.Context != own.Context+100 {
			t.Errorf("round %d: a call of %d tokens beside a request of %d", own.Round, call.Context, own.Context)
		}
	}
	if last := calls[len(calls)-1]; last.Context != 18_300+3*1200-1000 {
		t.Errorf("the last request has %d tokens, want one result of 1,000 less than 21,900", last.Context)
	}
}

// What a request writes can be read once its response has begun (the first token, here
// after two seconds), not before.
func TestReadableFromTheFirstToken(t *testing.T) {
	for later, want := range map[int64]int64{1: 0, 3: 16_000} {
		a, b := newSession("a").shared().turns(1, 0, 0).session(), newSession("b").shared().turns(1, 0, 0).session()
		b.Start = a.Start + later*second
		rows, err := NewLoop(testConfig(t, "none")).RunCohort([]*traces.Session{a, b})
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[1].Usage().Read; got != want {
			t.Errorf("%d s later it reads %d tokens, want %d", later, got, want)
		}
	}
}

// A user's session was last at work when its last response ended: two calls of five
// seconds with one between them.
func TestEndOfASessionsWork(t *testing.T) {
	s := newSession("s").turns(2, 0, 1000).session()
	l := NewLoop(testConfig(t, "none"))
	if _, err := l.Run(s); err != nil {
		t.Fatal(err)
	}
	if got := l.replays[0].user.Ends[0] - s.Start; got != 11*second {
		t.Errorf("%d s behind its beginning, want 11", got/second)
	}
}

// A branch goes on behind the compactions of its parent, and takes longer like it, but has
// no round ahead of its first.
func TestFurtherRoundsOfABranch(t *testing.T) {
	b := newSession("s").turns(30, 0, 1000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 25, Delay: 10 * second})
	b.turns(5, 0, 700)
	c := written(t, "  - full-compact: {trigger: {measure: rounds, fixed: 20}}\n")
	c.Agent.Elongation = 1
	_, calls := run(t, c, b.session())
	further := 0
	for _, r := range callsOf(calls, measures.SourceReread) {
		if r.Thread == 1 {
			further++
		}
	}
	if further < 4 {
		t.Errorf("%d further rounds in a branch of five", further)
	}
}
