package needs

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// The client logs how many messages stayed, and the summary stands among their blocks, ahead of the results that no call had
// sent yet: in a session of Claude Code 2.1.332 the four lines 170 to 173 stayed, and the summary is line 181.
func TestStayed(t *testing.T) {
	s := &traces.Session{Blocks: []prompt.Block{
		{Kind: prompt.KindToolUse, Line: 168}, {Kind: prompt.KindToolResult, Line: 169},
		{Kind: prompt.KindText, Line: 170}, {Kind: prompt.KindToolUse, Line: 171},
		{Kind: prompt.KindSummary, Line: 181}, {Kind: prompt.KindToolResult, Line: 172}, {Kind: prompt.KindAttachment, Line: 173},
	}}
	for preserved, from := range map[int32]int32{1: 6, 2: 4, 3: 3, 4: 2, 5: 1} {
		e := traces.Event{Kind: traces.EventCompact, Preserved: preserved, Summary: traces.Span{From: 4, To: 5}}
		if got, want := Stayed(s, &e, 7), (traces.Span{From: from, To: 7}); got != want {
			t.Errorf("%d messages stayed: %v, want %v", preserved, got, want)
		}
	}
}
