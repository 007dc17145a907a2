package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// plannedSession is memorySession with a plan and a todo list of 100 tokens each
// in its first calls.
func plannedSession() *traces.Session {
	s := memorySession()
	s.Tools = []string{"", "Read", "ExitPlanMode", "TodoWrite"}
	for round, tool := range map[int]uint16{1: 2, 2: 3} {
		s.Blocks[s.Threads[0].Rounds[round].Reply.To-1].Tool = tool
	}
	return s
}

// behindCompaction returns the context of the first call of the conversation
// that holds less than the one before, tokens.
func behindCompaction(t *testing.T, layers string, s *traces.Session) int64 {
	t.Helper()
	_, calls := run(t, written(t, layers), s)
	last := int64(0)
	for _, c := range calls {
		if c.Source != measures.SourceMain {
			continue
		}
		if c.Context < last {
			return c.Context
		}
		last = c.Context
	}
	t.Fatal("no compaction")
	return 0
}

// What the memory and the attachments weigh shows in the first context behind
// the compaction, to the token.
func TestSessionMemorySwitches(t *testing.T) {
	for name, tc := range map[string]struct {
		off, on string
		more    int64
	}{
		"plan":          {"attachments: {plan: false}", "attachments: {plan: true}", 100},
		"todos":         {"attachments: {todos: false}", "attachments: {todos: true}", 100},
		"skill listing": {"attachments: {resend_skill_listing: false}", "attachments: {resend_skill_listing: true}", 4000},
		"hooks":         {"hooks: {session_start: 0}", "hooks: {session_start: 80, post_compact: 70}", 150},
		// Ten sections of more than 2,000 tokens: kept to 12,000 in all, the template of 300
		// included, or each cut to 2,000 with a marker of 25.
		"condense":                {"memory: {share: 0.25}", "memory: {share: 0.25, condense: false}", 300 + 10*2025 - 12000},
		"words around the memory": {"summary: {pointer: 0}", "summary: {pointer: 60}", 60},
	} {
		off := behindCompaction(t, notesAndSummary(", "+tc.off), plannedSession())
		on := behindCompaction(t, notesAndSummary(", "+tc.on), plannedSession())
		if on-off != tc.more {
			t.Errorf("%s: %d and %d tokens behind the compaction, want %d more", name, off, on, tc.more)
		}
	}
}

// Sub-agents keep a memory of their own only when told to.
func TestSessionMemoryOfSubagents(t *testing.T) {
	for switched, want := range map[string]bool{"false": false, "true": true} {
		b := newSession("s").turns(2, 0, 100)
		b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 1})
		agent := &b.s.Threads[1]
		agent.Prefix.From = b.block(prompt.KindTools, 6000)
		agent.Prefix.To = agent.Prefix.From + 1
		b.turns(50, 0, 4000)
		row, _ := run(t, written(t, notesAndSummary(", extract: {init: 30000}, subagents: "+switched)), b.session())
		if got := row.Firings["session-memory"] > 0; got != want || row.N(measures.Compactions) == 0 {
			t.Errorf("subagents: %s: %v of %d compactions, %d updates", switched, row.Firings, row.N(measures.Compactions),
				row.N(measures.MemoryUpdates))
		}
	}
}

// The 32nd call leaves 148,700 tokens, where the client had expected 147,700
// before it: the update behind it begins above the trigger of 148,000. Without
// the bar it begins with a compaction, and the conversation's compaction waits
// for the update: each waits for the other until fifteen seconds have gone by
// (002:28, 004: q97). A session that never compacts waits for nothing.
func TestSessionMemoryBar(t *testing.T) {
	waits := map[string]results.Row{}
	for _, barred := range []string{"true", "false"} {
		layers := "  - first_of:\n    - session-memory: {trigger: {fixed: 148000}, extract: {growth: 1, tool_calls: 1, seconds: 0.1, barred: " + barred + "}}\n" +
			"    - full-compact: {trigger: {fixed: 148000}, call: [streaming]}\n"
		waits[barred], _ = run(t, written(t, layers), newSession("s").turns(34, 0, 4000).session())
	}
	const reason = "session-memory: " + ask.FailDeadlock
	with, without := waits["true"], waits["false"]
	if with.Reasons[reason] != 0 || without.Reasons[reason] != 1 {
		t.Errorf("%v with the bar, %v without", with.Reasons, without.Reasons)
	}
	if d := without.WaitFor(measures.WaitOther) - with.WaitFor(measures.WaitOther); d < 14 || d > 16 || without.N(measures.Compactions) != 1 {
		t.Errorf("%g s more without the bar, %d compactions", d, without.N(measures.Compactions))
	}
}

// Updates ask for five minutes under any client; told otherwise they write for
// the hour the conversation has.
func TestSessionMemoryLifetime(t *testing.T) {
	for lifetime, hour := range map[string]bool{"5m": false, "client": true, "1h": true} {
		s := memorySession()
		for i := range s.Threads[0].Rounds {
			u := &s.Threads[0].Rounds[i].Usage
			u.Write1h, u.Write5m = u.Write5m, 0
		}
		row, _ := run(t, written(t, notesAndSummary(", extract: {lifetime: "+lifetime+"}")), s)
		u := row.UsageBy(measures.SourceOf("session_memory"))
		if u.Writes() == 0 || (u.Write1h > 0) != hour || (u.Write5m > 0) == hour {
			t.Errorf("%s: %+v", lifetime, u)
		}
	}
}

// A summary call that is not barred begins with a compaction that only the
// conversation can make, which waits for the call (002:28): it fails at once,
// every time until the breaker stops it, and no request is made. Calls that wait
// for no one are no deadlocks.
func TestDeadlocks(t *testing.T) {
	for barred, want := range map[string]int{"[compact]": 0, "[]": 3} {
		layers := "  - full-compact: {trigger: {fixed: 148000}, call: [streaming], reactive: false, barred: " + barred + "}\n"
		row, _ := run(t, written(t, layers), newSession("s").turns(38, 0, 4000).session())
		deadlocks, calls := row.Reasons["full-compact: "+ask.FailDeadlock], row.CallsBy(measures.SourceCompact)
		if deadlocks != want || row.N(measures.FailedCompactions) != want || (calls > 0) != (want == 0) {
			t.Errorf("barred %s: %d deadlocks, %d failed, %d calls", barred, deadlocks, row.N(measures.FailedCompactions), calls)
		}
	}
}
