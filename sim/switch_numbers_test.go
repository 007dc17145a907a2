package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// carriedSession enters plan mode in its first call, loads a skill of 4,000 tokens
// with its second, and starts a sub-agent with its third that does not answer; 90
// rounds of reading files of 4,000 tokens follow.
func carriedSession() *traces.Session { return withAgent(24 * 60 * minute) }

// withAgent is a session of 93 rounds whose third starts a sub-agent in the background:
// the agent works for so long, and its parent goes on meanwhile.
func withAgent(works int64) *traces.Session {
	b := newSession("s").turns(3, 0, 4000).turns(90, 0, 4000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 2})
	s := b.turns(2, works, 500).session()
	s.Tools = []string{"", "Read", "EnterPlanMode", "Skill", "Task"}
	main := &s.Threads[0]
	call := func(round int) *prompt.Block { return &s.Blocks[main.Rounds[round].Reply.To-1] }
	call(0).Tool = 2
	call(1).Tool, s.Blocks[main.Rounds[2].Input.From].Tool = 3, 3
	call(2).Tool, call(2).Op = 4, op.Agent
	return s
}

// What comes back behind a compaction by its numbers: five files of 4,000 tokens,
// a skill, the reminder of plan mode, and a line on the sub-agent.
func TestNumbersOfAttachments(t *testing.T) {
	for changes, tc := range map[string]struct {
		off  string
		more int64
	}{
		"files: {count: 5}":                 {"files: {count: 0}", 5 * 4000},
		"files: {count: 2}":                 {"files: {count: 0}", 2 * 4000},
		"skills: {each: 5000}":              {"skills: {each: 0}", 4000},
		"skills: {each: 1000, total: 5000}": {"skills: {each: 0}", 1000},
		"plan_mode: 300":                    {"plan_mode: 0", 300},
		"agent_status: 150":                 {"agent_status: 0", 150},
	} {
		for name, layers := range map[string]func(string) string{
			"full-compact": func(a string) string {
				return "  - full-compact: {trigger: {fixed: 150000}, attachments: {" + a + "}}\n"
			},
			"session-memory": func(a string) string { return notesAndSummary(", attachments: {" + a + "}") },
		} {
			on, off := behindCompaction(t, layers(changes), carriedSession()), behindCompaction(t, layers(tc.off), carriedSession())
			if on-off != tc.more {
				t.Errorf("%s, %s: %d and %d tokens behind the compaction, want %d more", name, changes, off, on, tc.more)
			}
		}
	}
}

// 002:164; 000:486, 558: the status is of agents "still running" at the moment of
// compaction or "recently finished" and not retrieved. An agent whose result came with the next
// input, or that was reported later, does not count.
func TestStatusOfAgentsAtWork(t *testing.T) {
	const layers = "  - full-compact: {trigger: {fixed: 150000}, attachments: {agent_status: "
	for name, tc := range map[string]struct {
		works   int64
		waits   int64 // of the parent for the result
		noticed bool
		output  string // tool whose result came in round 12
		want    int64
	}{
		"at work":               {works: 24 * 60 * minute, want: 150},
		"ended, not reported":   {want: 150},
		"ended, with a notice":  {noticed: true},
		"ended, output read":    {output: "TaskOutput"},
		"ended, another result": {output: "Read", want: 150},
		"waited for":            {waits: 10 * minute},
	} {
		s := func() *traces.Session {
			s := withAgent(tc.works)
			main := &s.Threads[0]
			main.Rounds[3].Wait = tc.waits
			if tc.noticed {
				main.Rounds[12].Signs |= signs.Notice
			}
			if tc.output != "" {
				s.Tools = append(s.Tools, tc.output)
				s.Blocks[main.Rounds[12].Input.From].Tool = uint16(len(s.Tools) - 1)
			}
			return s
		}
		on := behindCompaction(t, layers+"150}}\n", s())
		if off := behindCompaction(t, layers+"0}}\n", s()); on-off != tc.want {
			t.Errorf("%s: %d tokens of status, want %d", name, on-off, tc.want)
		}
	}
}

// A summariser that always fails, sixty rounds: the client counts 17,300 + 4,200 n
// before the n-th request behind the first, so that 28 requests stand at the
// trigger of 150,000 or above it. The breaker of either layer lets it be asked three
// times.
func TestNumbersOfBreakers(t *testing.T) {
	const full = "    - full-compact: {trigger: {fixed: 150000}, call: [streaming], streaming: {retries: 0}, breaker: "
	for breaker, want := range map[string]int{"3": 3, "1": 1, "0": 28} {
		s := newSession("s").turns(60, 0, 4000).session()
		c := written(t, "  - first_of:\n    - session-memory: {enabled: false, trigger: {fixed: 150000}}\n"+full+breaker+"}\n")
		c.Summarizer, c.Overflow = failing{}, OverflowAnswer
		if row, _ := run(t, c, s); row.N(measures.FailedCompactions) != want {
			t.Errorf("full-compact.breaker %s: %d failed compactions, want %d", breaker, row.N(measures.FailedCompactions), want)
		}
		c = written(t, "  - first_of:\n    - session-memory: {trigger: {fixed: 150000}, extract: {growth: 1000000}, breaker: "+breaker+"}\n"+full+"0}\n")
		c.Summarizer, c.Overflow = failing{}, OverflowAnswer
		if row, _ := run(t, c, s); row.Reasons["session-memory: no memory file"] != want || row.N(measures.FailedCompactions) != 28 {
			t.Errorf("session-memory.breaker %s: %v, want %d refusals", breaker, row.Reasons, want)
		}
	}
}

// A call that fails is repeated so many times: one compaction, which fails, makes
// one call and its repetitions.
func TestNumbersOfRetries(t *testing.T) {
	for call, want := range map[string]int{
		"call: [streaming], streaming: {retries: 2}":               3,
		"call: [streaming], streaming: {retries: 0}":               1,
		"call: [small-model], small_model: {retries: 2}":           3,
		"call: [small-model], small_model: {retries: 0}":           1,
		"call: [fork, streaming], streaming: {retries: 2}":         4,
		"call: [fork], streaming: {retries: 2}":                    1,
		"call: [server, fork, streaming], streaming: {retries: 0}": 3,
	} {
		c := written(t, "  - full-compact: {trigger: {fixed: 150000}, breaker: 1, "+call+"}\n")
		c.Summarizer = failing{}
		row, _ := run(t, c, newSession("s").turns(40, 0, 4000).session())
		if got := row.CallsBy(measures.SourceCompact); got != want {
			t.Errorf("%s: %d calls, want %d", call, got, want)
		}
	}
}

// Ahead of its 42nd request behind the first the conversation holds 194,700 tokens,
// its messages 176,700: with a head of 30,000 and an instruction of 1,500 the
// summary call is 8,200 too long for the window. Without its two oldest rounds it
// fits, where it may be repeated so.
func TestNumbersOfTooLongCalls(t *testing.T) {
	for retries, want := range map[string][3]int64{"3": {1, 1, 0}, "0": {0, 0, 1}} {
		c := written(t, "  - full-compact: {trigger: {fixed: 190000}, call: [streaming], streaming: {head: 30000}, prompt_too_long: {retries: "+retries+"}}\n")
		row, _ := run(t, c, newSession("s").turns(43, 0, 4000).session())
		if got := [3]int64{int64(row.N(measures.Compactions)), int64(row.N(measures.CompactionRetries)),
			int64(row.N(measures.FailedCompactions))}; got != want {
			t.Errorf("retries %s: %v compactions, retries and failures, want %v", retries, got, want)
		}
	}
}

// The output of a summary call is capped, or not.
func TestNumbersOfOutput(t *testing.T) {
	for way, call := range map[string]string{"streaming": "streaming", "small-model": "small_model"} {
		for limit, capped := range map[string]bool{"1000": true, "0": false} {
			row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 150000}, call: ["+way+"], "+call+": {max_output: "+limit+"}}\n"),
				newSession("s").turns(40, 0, 4000).session())
			got := row.UsageBy(measures.SourceCompact).Output
			if row.N(measures.Compactions) != 1 || (got == 1000) != capped || got < 1000 {
				t.Errorf("%s.max_output %s: %d tokens of output in %d compactions", call, limit, got, row.N(measures.Compactions))
			}
		}
	}
}

// A compaction waits for the update of the memory under way, or goes on at once.
func TestNumbersOfWaits(t *testing.T) {
	for wait, waits := range map[string]bool{"15": true, "0": false} {
		layers := notesAndSummary(", wait_seconds: " + wait + ", keep: {min_tokens: 0, min_texts: 0}, extract: {tool_calls: 1, growth: 1, turns: 1, seconds: 20}")
		row, _ := run(t, written(t, layers), memorySession())
		if row.Firings["session-memory"] == 0 || (row.WaitFor(measures.WaitOther) > 0) != waits {
			t.Errorf("wait_seconds %s: %g s in %d compactions", wait, row.WaitFor(measures.WaitOther), row.N(measures.Compactions))
		}
	}
}
