package course

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A prompt that comes with the results of tools answers a person, a command's
// expansion does not, and a sub-agent answers nobody.
func TestAnswersPerson(t *testing.T) {
	s := &traces.Session{Blocks: []prompt.Block{{Kind: prompt.KindPrompt, Tokens: 20}}}
	at := func(kind traces.ThreadKind, round int32, flags prompt.Flags) bool {
		s.Blocks[0].Flags = flags
		c := Course{Session: s, Round: round, Trace: &traces.Thread{Kind: kind, Rounds: []traces.Round{
			{Trigger: traces.TriggerPrompt}, {Trigger: traces.TriggerToolResult, Input: traces.Span{To: 1}},
		}}}
		c.Scores = ScoresOf(nil, s, c.Trace, func(*prompt.Block) int64 { return 0 })
		return c.AnswersPerson()
	}
	for _, tc := range []struct {
		name  string
		kind  traces.ThreadKind
		round int32
		flags prompt.Flags
		want  bool
	}{
		{"a prompt", traces.ThreadMain, 0, 0, true},
		{"a prompt with results", traces.ThreadMain, 1, 0, true},
		{"results with an expansion", traces.ThreadMain, 1, prompt.FlagMeta, false},
		{"a task", traces.ThreadAgent, 0, 0, false},
	} {
		if got := at(tc.kind, tc.round, tc.flags); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// Of parallel results those called later than the one that came last stand behind the
// client's marker.
func TestResultsBehindTheMarker(t *testing.T) {
	result := func(call, tokens int32) prompt.Block {
		return prompt.Block{Kind: prompt.KindToolResult, Call: call, Tokens: tokens}
	}
	for name, tc := range map[string]struct {
		blocks []prompt.Block
		want   int32
	}{
		"in order":       {[]prompt.Block{result(1, 10), result(2, 20), result(3, 40)}, 0},
		"the third came": {[]prompt.Block{result(1, 10), result(3, 40), result(2, 20)}, 40},
		"the first last": {[]prompt.Block{result(3, 40), result(2, 20), result(1, 10)}, 60},
		"no result":      {[]prompt.Block{result(3, 40), result(1, 10), {Kind: prompt.KindReminder, Call: 9, Tokens: 500}}, 40},
		"a prompt alone": {[]prompt.Block{{Kind: prompt.KindPrompt, Tokens: 300}}, 0},
	} {
		if got := behindMarked(tc.blocks); got != tc.want {
			t.Errorf("%s: %d tokens behind the marker, want %d", name, got, tc.want)
		}
	}
}

// A person asks for a compaction, not for what the client clears by itself, and not later.
func TestAskedByAPerson(t *testing.T) {
	for _, tc := range []struct {
		ev   traces.Event
		want bool
	}{
		{traces.Event{Kind: traces.EventCompact, Manual: true}, true}, {traces.Event{Kind: traces.EventCompact}, false},
		{traces.Event{Kind: traces.EventMicrocompact, Manual: true}, false}, {traces.Event{Kind: traces.EventCompact, Manual: true, Round: 1}, false},
	} {
		c := Course{Trace: &traces.Thread{Events: []traces.Event{tc.ev}}}
		if got := c.Manual(); got != tc.want {
			t.Errorf("%+v: %v", tc.ev, got)
		}
	}
}
