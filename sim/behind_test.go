package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// compacted is a session that reads files 0 to 6, edits file 1, and is compacted: behind a summary of 1,000 tokens by its estimate
// files 4 to 0 come back, of 100 bytes and 10 tokens each, and a list of 1,000 tokens.
func compacted() *traces.Session {
	s := &traces.Session{Agent: "claude-code"}
	add := func(b prompt.Block) { s.Blocks = append(s.Blocks, b) }
	add(prompt.Block{Kind: prompt.KindPrompt, Object: -1})
	for object := range int32(7) {
		add(prompt.Block{Kind: prompt.KindToolResult, Op: op.Read, Object: object})
	}
	add(prompt.Block{Kind: prompt.KindToolResult, Op: op.Edit, Object: 1})
	first := int32(len(s.Blocks))
	add(prompt.Block{Kind: prompt.KindSummary, Object: -1, Tokens: 1000})
	for object := int32(4); object >= 0; object-- {
		add(prompt.Block{Kind: prompt.KindAttachment, Op: op.Read, Object: object, Bytes: 100, Tokens: 10, Flags: prompt.FlagMeta})
	}
	add(prompt.Block{Kind: prompt.KindAttachment, Object: -1, Tokens: 1000, Flags: prompt.FlagMeta})
	s.Threads = []traces.Thread{{
		Rounds: []traces.Round{{Input: traces.Span{To: first}}, {Input: traces.Span{From: first, To: int32(len(s.Blocks))}}},
		Events: []traces.Event{{Kind: traces.EventCompact, Round: 1, Summary: traces.Span{From: first, To: first + 1}}},
	}}
	return s
}

// What came back was newer than what did not, in its order. The file that was edited has a time, and says nothing of others; nor does a
// compaction that brings back fewer than five say that a file is old.
func TestFilesThatComeBackAreNewer(t *testing.T) {
	s := compacted()
	got := fileAgesOf(s)
	if len(got) != 1 || !slices.Equal(got[0].files, []int32{4, 3, 2, 0, 5, 6}) || got[0].back != 4 {
		t.Fatalf("ages %+v, want 4, 3, 2 and 0 ahead of 5 and 6", got)
	}
	for _, tc := range []struct {
		x, y int32
		want bool
	}{{4, 3, true}, {0, 6, true}, {3, 4, false}, {5, 6, false}, {1, 5, false}, {4, 9, false}} {
		if got.newer(tc.x, tc.y) != tc.want {
			t.Errorf("file %d newer than %d: %v", tc.x, tc.y, !tc.want)
		}
	}
	s.Blocks[len(s.Blocks)-2].Object = -1
	if got := fileAgesOf(s); len(got) != 1 || !slices.Equal(got[0].files, []int32{4, 3, 2}) {
		t.Errorf("four files came back: ages %+v, want 4, 3 and 2 alone", got)
	}
}

// At half a token a byte five files of 100 bytes have 250 tokens. Of totals of 2,400 behind a compaction besides the estimates of what came back,
// 5 × 10 + 1,000, there remain 3,200 for summary and list, whose estimates are 2,000.
func TestTextsBehindCompactions(t *testing.T) {
	s := compacted()
	var d fetch.Density
	d.Add([]prompt.Block{{Kind: prompt.KindToolResult, Object: -1, Bytes: 10_000, Tokens: 5000}})
	for kept, want := range map[int32]float64{2400: 1.6, 0: 0, 20_000: 0} {
		s.Threads[0].Events[0].Kept = kept
		if got := behindCompactions(s, &d); got != want {
			t.Errorf("kept %d: %g times the estimate, want %g", kept, got, want)
		}
	}
}
