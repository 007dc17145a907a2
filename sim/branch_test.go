package sim

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// branched is a conversation that a person took up again behind its third round
// with two more, and an abandoned branch of two rounds from there: its parent had
// left 18,300 and two rounds of 1,200 tokens in the cache.
func branched() *traces.Session {
	b := newSession("s").turns(3, 0, 1000)
	b.turns(2, 2*minute, 1000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 2, Delay: 10 * second})
	b.turns(2, 0, 700)
	return b.session()
}

// firstOf returns the first call of a thread.
func firstOf(t *testing.T, calls []results.CallRecord, thread int32) results.CallRecord {
	t.Helper()
	for _, c := range calls {
		if c.Thread == thread && c.Round == 0 {
			return c
		}
	}
	t.Fatalf("thread %d made no call", thread)
	return results.CallRecord{}
}

// A branch goes on from its parent's head as it is, however that is laid out: it
// reads all 20,700 tokens that its parent had left. A server that connected on
// the parent with 5,000 tokens of tools stays connected on the branch.
func TestBranchKeepsItsParentsHead(t *testing.T) {
	for name, change := range map[string]func(*client.Assembly){
		"as recorded":        nil,
		"in sections":        divided,
		"project files":      func(a *client.Assembly) { divided(a); a.System.ClaudeMD = "system" },
		"tools in the front": func(a *client.Assembly) { a.System.MCP, a.System.MCPTools = "prefix", 3000 },
	} {
		_, calls := run(t, headConfig(t, "none", change), branched())
		if c := firstOf(t, calls, 1); c.Usage.Read != 20700 {
			t.Errorf("%s: the branch reads %d tokens, want 20,700", name, c.Usage.Read)
		}
	}
	mcp := func(a *client.Assembly) { a.System.MCP, a.System.MCPTools = "prefix", 3000 }
	_, plain := run(t, headConfig(t, "none", mcp), branched())
	_, calls := run(t, headConfig(t, "none", mcp, atRound(2, "mcp_connect", "5000")), branched())
	if got, want := firstOf(t, calls, 1).Context, firstOf(t, plain, 1).Context+5000; got != want {
		t.Errorf("the branch weighs %d tokens, want %d with the server's tools", got, want)
	}
}

// eraser deletes every tool result as soon as it has been answered.
type eraser struct{}

func (eraser) Name() string              { return "eraser" }
func (l eraser) Clone() strategies.Layer { return l }
func (eraser) Reset()                    {}
func (eraser) AfterResponse(t *strategies.Turn) strategies.Outcome {
	for i := range t.Context.Len() {
		if e := t.Context.At(i); e.Kind == prompt.KindToolResult && !t.IsDeleted(e.ID) {
			t.Delete(e.ID)
		}
	}
	return strategies.Outcome{Verdict: strategies.Done}
}

// A branch inherits deletions together with the warm cache they act in: its
// first request does not pass a window that its parent's kept below.
func TestBranchInheritsDeletions(t *testing.T) {
	b := newSession("s").turns(20, 0, 1000)
	b.turns(2, 2*minute, 1000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 19, Delay: second})
	b.turns(2, 0, 700)
	c := testConfig(t, "none")
	c.Strategy = strategies.NewStrategy("own", "", eraser{})
	c.Window = 30_000
	if row, _ := run(t, c, b.session()); row.N(measures.Overflows) != 0 || row.N(measures.OverWindow) != 0 {
		t.Errorf("%d requests pass the window", row.N(measures.Overflows))
	}
}

// Branches cost what they add: where each tenth round of a conversation has an abandoned branch, twice the rounds take twice the memory,
// and not four times. Needs are looked for in each.
func TestBranchesTakeTimesTheirLength(t *testing.T) {
	allocated := func(rounds int) uint64 {
		b := newSession("s")
		b.turns(10, 0, 10)
		for range rounds/10 - 1 {
			b.turns(10, 2*minute, 10)
		}
		for r := 9; r < rounds-1; r += 10 {
			b.thread(traces.Thread{ID: fmt.Sprint(r), Kind: traces.ThreadBranch, Parent: 0, ParentRound: int32(r), Delay: 10 * second})
			b.turns(1, 0, 10)
		}
		c := testConfig(t, "none")
		c.Verify = false
		c.Needs = func(s *traces.Session) *needs.Index {
			return needs.NewListener().Index(s, make([]any, len(s.Blocks))).(*needs.Index)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := NewLoop(c).Run(b.session()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if one, two := allocated(1000), allocated(2000); two > 3*one {
		t.Errorf("1,000 rounds with branches allocate %d bytes, 2,000 rounds %d", one, two)
	}
}
