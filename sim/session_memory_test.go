package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// notesAndSummary is session memory ahead of a full compaction, with changes to
// the first. Both act at 150,000 tokens.
func notesAndSummary(changes string) string {
	return "  - first_of:\n    - session-memory: {trigger: {fixed: 150000}" + changes + "}\n" +
		"    - full-compact: {trigger: {fixed: 150000}, call: [streaming]}\n"
}

// memorySession is a conversation of 90 rounds of a tool with results of 4,000
// tokens: 4,200 with the response.
func memorySession() *traces.Session { return newSession("s").turns(90, 0, 4000).session() }

// The memory stands in for the summary: no call of a compaction, but two calls
// of each update, which read the conversation's prefix and ask for five minutes.
func TestSessionMemoryInsteadOfSummary(t *testing.T) {
	row, calls := run(t, written(t, notesAndSummary("")), memorySession())
	if row.N(measures.Compactions) < 2 || row.CallsBy(measures.SourceCompact) != 0 {
		t.Fatalf("%d compactions with %d summary calls", row.N(measures.Compactions), row.CallsBy(measures.SourceCompact))
	}
	updates := int64(row.N(measures.MemoryUpdates))
	if n := row.CallsBy(measures.SourceOf("session_memory")); updates == 0 || int64(n) < 2*updates {
		t.Errorf("%d updates in %d calls", updates, n)
	}
	for _, c := range calls {
		u := c.Usage
		if c.Source == measures.SourceOf("session_memory") && (u.Read < u.Input()/2 || u.Write1h > 0) {
			t.Errorf("an update read %d of %d tokens and wrote %d for an hour", u.Read, u.Input(), u.Write1h)
		}
	}
	off, _ := run(t, written(t, notesAndSummary(", enabled: false")), memorySession())
	if off.CallsBy(measures.SourceCompact) == 0 || off.CallsBy(measures.SourceOf("session_memory")) != 0 {
		t.Errorf("off: %+v", off.Figures[measures.CallsBySource:measures.Tokens])
	}
}

// Disabled, the memory is kept up to date and paid for, and the summary call is
// made all the same.
func TestSessionMemoryDisabled(t *testing.T) {
	row, _ := run(t, written(t, notesAndSummary(", compact: false")), memorySession())
	if row.CallsBy(measures.SourceCompact) != row.N(measures.Compactions) || row.N(measures.MemoryUpdates) == 0 {
		t.Errorf("%d summary calls of %d compactions, %d updates", row.CallsBy(measures.SourceCompact),
			row.N(measures.Compactions), row.N(measures.MemoryUpdates))
	}
	if row.Reasons["session-memory: disabled"] != row.N(measures.Compactions) {
		t.Errorf("%v", row.Reasons)
	}
}

// Without a memory there is nothing to stand in for a summary.
func TestSessionMemoryWithoutFile(t *testing.T) {
	row, _ := run(t, written(t, notesAndSummary(", extract: {growth: 400000}")), memorySession())
	if row.N(measures.MemoryUpdates) != 0 || row.Firings["session-memory"] != 0 || row.N(measures.Compactions) == 0 {
		t.Errorf("%d updates, %v", row.N(measures.MemoryUpdates), row.Firings)
	}
	if row.Reasons["session-memory: no memory file"] != row.N(measures.Compactions) {
		t.Errorf("%v", row.Reasons)
	}
}

// The guard against results at the threshold: one tool result alone weighs more,
// and it stays. Without the guard every request compacts again (002: "would
// succeed, next turn would trigger auto-compact again").
func TestSessionMemoryGuard(t *testing.T) {
	rows := map[string]results.Row{}
	for _, guard := range []string{"true", "false"} {
		s := memorySession()
		heavy := &s.Blocks[s.Threads[0].Rounds[20].Input.From]
		heavy.Tokens, heavy.Bytes = 151_000, 453_000
		c := written(t, notesAndSummary(", guard: "+guard+", extract: {growth: 18000}, keep: {min_tokens: 0, min_texts: 0}, memory: {share: 0.001}"))
		c.Window, c.Overflow = 400_000, OverflowAnswer
		rows[guard], _ = run(t, c, s)
	}
	with, without := rows["true"], rows["false"]
	if with.Reasons["session-memory: the result would reach the trigger again"] == 0 || with.CallsBy(measures.SourceCompact) == 0 {
		t.Errorf("guarded: %v", with.Reasons)
	}
	// 90 rounds, the first 20 below the trigger.
	if without.N(measures.Compactions) != 70 || with.N(measures.Compactions) > 5 {
		t.Errorf("%d compactions without the guard, %d with it", without.N(measures.Compactions), with.N(measures.Compactions))
	}
}

// Without an update there is no file, and each request above the trigger is refused for
// that: the client counts 21,500 tokens and 4,200 more with every round behind the first, so
// that the messages of rounds 11 to 29 are at 60,000. A breaker of three asks no further (002:276).
func TestSessionMemoryRefusalsAreCounted(t *testing.T) {
	for breaker, n := range map[string]int{"0": 29 - 11 + 1, "3": 3} {
		row, _ := run(t, written(t, "  - session-memory: {trigger: {fixed: 60000}, extract: {init: 1000000}, breaker: "+breaker+"}\n"),
			newSession("s").turns(30, 0, 4000).session())
		if got := row.Reasons["session-memory: no memory file"]; got != n || row.N(measures.Compactions) != 0 {
			t.Errorf("breaker %s: refused %v, want %d; %d compactions", breaker, row.Reasons, n, row.N(measures.Compactions))
		}
	}
}

// An update under way when the threshold is reached is waited for, fifteen
// seconds at most; the person waits with it.
func TestSessionMemoryWait(t *testing.T) {
	waited := func(seconds string) results.Row {
		row, _ := run(t, written(t, notesAndSummary(", keep: {min_tokens: 0, min_texts: 0}, extract: {tool_calls: 1, growth: 1, turns: 1, seconds: "+seconds+"}")), memorySession())
		return row
	}
	short, long := waited("3"), waited("20")
	if short.N(measures.Compactions) == 0 || short.Figures[measures.AddedLatency] <= 0 ||
		short.Figures[measures.AddedLatency] > 3*float64(short.N(measures.Compactions)) {
		t.Errorf("updates of 3 s: %g s in %d compactions", short.Figures[measures.AddedLatency], short.N(measures.Compactions))
	}
	if long.N(measures.Compactions) == 0 || long.Figures[measures.AddedLatency] > 15*float64(long.N(measures.Compactions)) ||
		long.Figures[measures.AddedLatency] <= short.Figures[measures.AddedLatency] {
		t.Errorf("updates of 20 s: %g s in %d compactions", long.Figures[measures.AddedLatency], long.N(measures.Compactions))
	}
}

// With the guard off each update starts another one inside itself until it no
// longer fits the window: many times the calls of a conversation as it is.
func TestSessionMemoryLoop(t *testing.T) {
	loops := func(guard string) results.Row {
		row, _ := run(t, written(t, notesAndSummary(", extract: {guard: "+guard+", instruction: 5000}")), memorySession())
		return row
	}
	with, without := loops("true"), loops("false")
	a, b := with.CallsBy(measures.SourceOf("session_memory")), without.CallsBy(measures.SourceOf("session_memory"))
	if a == 0 || b < 5*a {
		t.Errorf("%d calls of updates with the guard, %d without", a, b)
	}
	if without.Reasons["session-memory: "+ask.FailTooLong] == 0 {
		t.Errorf("what ended the loop: %v", without.Reasons)
	}
}

// A sub-agent and a branch each go on with what they have: the invariants hold.
func TestSessionMemoryOnOtherThreads(t *testing.T) {
	b := newSession("s").turns(30, 0, 4000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 29, Delay: second})
	b.turns(40, 0, 4000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 2})
	agent := &b.s.Threads[2]
	agent.Prefix.From = b.block(prompt.KindTools, 6000)
	agent.Prefix.To = agent.Prefix.From + 1
	b.turns(50, 0, 4000)
	row, _ := run(t, written(t, notesAndSummary("")), b.session())
	if row.N(measures.Compactions) < 2 || row.N(measures.MemoryUpdates) == 0 {
		t.Errorf("%d compactions, %d updates", row.N(measures.Compactions), row.N(measures.MemoryUpdates))
	}
}
