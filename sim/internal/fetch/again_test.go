package fetch

import (
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// A file of 1,000 bytes and 250 tokens that an edit made 200 bytes longer has 1,200 bytes and 300 tokens when it is read again; at half a
// token a byte it has 600, of which lines show 300. A part of that file, and a file whose neighbour was edited, have what they had.
func TestFilesAreReadAgainAsTheyAre(t *testing.T) {
	read := prompt.Block{Kind: prompt.KindToolResult, Op: op.Read, Bytes: 1000, Tokens: 250}
	part, other := read, read
	part.RangeFrom, other.Object = 10, 1
	failed := prompt.Block{Kind: prompt.KindToolResult, Op: op.Edit, RangeLen: 500, Flags: prompt.FlagError}
	s := &Session{session: &traces.Session{Blocks: []prompt.Block{
		read, part, other, {Kind: prompt.KindToolResult, Op: op.Edit, RangeLen: 200, RangeFrom: 4}, failed,
	}}}
	trace := &traces.Thread{Rounds: []traces.Round{{Input: traces.Span{To: 3}}, {Input: traces.Span{From: 3, To: 5}}}}
	thread := &Thread{Course: &course.Course{Trace: trace, Round: 1}, of: s}
	for block, want := range []again{{0, 200, 4}, {block: 1}, {block: 2}} {
		if got := thread.now(int32(block)); got != want {
			t.Errorf("block %d: %+v, want %+v", block, got, want)
		}
	}
	a := thread.now(0)
	if got := s.tokens(&a); got != 300 {
		t.Errorf("%d tokens, want 300", got)
	}
	s.Density.Add([]prompt.Block{{Kind: prompt.KindToolResult, Object: -1, Bytes: 10_000, Tokens: 5000}})
	if got := s.weight(&a); got != 600 {
		t.Errorf("%d tokens at half a token a byte, want 600", got)
	}
	if thread.Round = 0; thread.now(0) != (again{block: 0}) {
		t.Error("ahead of the edit the file is as it was")
	}
}
