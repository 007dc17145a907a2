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

// A file of 1,000 bytes and 30 lines is read, replaced by one of 600 bytes and 20 lines in the next round of its thread, and made 50 bytes and
// 2 lines longer in a branch that starts there: it has 650 bytes and 22 lines. A branch that starts ahead of the write sees 1,050 and 32.
func TestReplacedFilesAreReadAgainInABranch(t *testing.T) {
	change := func(o op.Op, bytes, lines int32) prompt.Block {
		return prompt.Block{Kind: prompt.KindToolResult, Op: o, RangeLen: bytes, RangeFrom: lines}
	}
	read := prompt.Block{Kind: prompt.KindToolResult, Op: op.Read, Bytes: 1000, RangeLen: 30, Tokens: 250}
	s := &Session{session: &traces.Session{
		Blocks: []prompt.Block{read, change(op.Edit, 7000, 70), change(op.Write, 600, 20), change(op.Edit, 50, 2)},
		Threads: []traces.Thread{
			{Parent: -1, Rounds: []traces.Round{{Input: traces.Span{To: 1}}, {Input: traces.Span{From: 1, To: 3}}}},
			{Kind: traces.ThreadBranch, Rounds: []traces.Round{{Input: traces.Span{From: 3, To: 4}}}},
		},
	}}
	for round, want := range []again{{0, 50, 2}, {0, 600 + 50 - 1000, 20 + 2 - 30}} {
		branch := s.session.Threads[1]
		branch.ParentRound = int32(round)
		thread := &Thread{Course: &course.Course{Trace: &branch}, of: s}
		if got := thread.now(0); got != want {
			t.Errorf("behind round %d: %+v, want %+v", round, got, want)
		}
	}
}
