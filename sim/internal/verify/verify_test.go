package verify

import (
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A thread has the results that it was given so far, and a branch those that its parent had
// been given when it branched off; a sub-agent has none of its parent's.
func TestResultsSoFar(t *testing.T) {
	result := prompt.Block{Kind: prompt.KindToolResult, Call: 7}
	other := prompt.Block{Kind: prompt.KindToolUse, Call: 8}
	session := &traces.Session{
		Blocks: []prompt.Block{{Kind: prompt.KindPrompt}, other, result, {Kind: prompt.KindToolResult}},
		Threads: []traces.Thread{
			{Parent: -1, Kind: traces.ThreadMain, Rounds: []traces.Round{
				{Input: traces.Span{From: 0, To: 2}}, {Input: traces.Span{From: 2, To: 4}}, {},
			}},
			{Parent: 0, ParentRound: 1, Kind: traces.ThreadBranch}, {Parent: 0, ParentRound: 0, Kind: traces.ThreadBranch},
			{Parent: 0, ParentRound: 2, Kind: traces.ThreadAgent}, {Parent: -1, Kind: traces.ThreadBranch},
		},
	}
	s := new(Session)
	s.Begin(session)
	for _, tc := range []struct {
		thread, round, call int32
		want                bool
	}{
		{0, 0, 7, false}, {0, 1, 7, true}, {0, 2, 7, true}, {0, 2, 8, false}, {0, 2, 0, false},
		{1, 0, 7, true}, {2, 0, 7, false}, {3, 0, 7, false}, {4, 0, 7, false},
	} {
		of := &course.Course{Index: tc.thread, Round: tc.round}
		if got := s.hasResult(of, tc.call); got != tc.want {
			t.Errorf("thread %d in round %d has the result of call %d: %v", tc.thread, tc.round, tc.call, got)
		}
	}
}

// Messages may begin with a response that calls a tool, and with no other response: a call behind the first result is not the first message's.
func TestFirstMessage(t *testing.T) {
	blocks := []prompt.Block{{Kind: prompt.KindPrompt}, {Kind: prompt.KindText}, {Kind: prompt.KindToolUse, Call: 7}, {Kind: prompt.KindToolResult, Call: 7}}
	for _, tc := range []struct {
		messages []prompt.Ref
		faults   int
	}{{[]prompt.Ref{0, 1}, 0}, {[]prompt.Ref{1, 2, 3}, 0}, {[]prompt.Ref{2, 3}, 0}, {[]prompt.Ref{1}, 1}, {[]prompt.Ref{1, 0, 2, 3}, 1}, {nil, 1}} {
		of, s := new(course.Course), new(Session)
		of.Context.Reset(blocks, new(prompt.Arena))
		var entries []prompt.Entry
		for i, ref := range tc.messages {
			of.Context.Append(ref)
			entries = append(entries, *of.Context.At(i))
		}
		s.Begin(&traces.Session{Blocks: blocks})
		for _, anyFirst := range []bool{false, true} {
			faults, want := 0, tc.faults
			if anyFirst && len(entries) > 0 {
				want = 0
			}
			new(Thread).Messages(of, s, entries, anyFirst, func(string, ...any) { faults++ })
			if faults != want {
				t.Errorf("messages %v, any of them first %v: %d faults, want %d", tc.messages, anyFirst, faults, want)
			}
		}
	}
}
