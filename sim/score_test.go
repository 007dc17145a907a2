package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A prompt that comes with the results of tools answers a person, a command's
// expansion does not, and a sub-agent answers nobody.
func TestAnswersPerson(t *testing.T) {
	s := newSession("s").turns(1, 0, 0).session()
	b := &sessionBuilder{s: *s}
	b.round(traces.TriggerToolResult, second, 500)
	b.block(prompt.KindPrompt, 20)
	r := &b.s.Threads[0].Rounds[1]
	r.Input.From, r.Input.To = int32(len(b.s.Blocks))-1, int32(len(b.s.Blocks))
	at := func(kind traces.ThreadKind, round int32, flags prompt.Flags) bool {
		b.s.Blocks[len(b.s.Blocks)-1].Flags = flags
		b.s.Threads[0].Kind = kind
		s := &replay{session: &b.s}
		th := thread{replay: s, trace: &b.s.Threads[0], round: round, scores: s.scores(nil, &b.s.Threads[0])}
		return th.answersPerson()
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
