package fetch

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// again is a recorded result that is brought again, with the bytes and lines that calls of the conversation, and of the one that it is a
// branch of, have added to its file since: the file is shown as it is now.
type again struct {
	block        int32
	bytes, lines int32
}

// now returns what brings a result again at the round under way.
func (t *Thread) now(block int32) again {
	a, s := again{block: block}, t.of
	if !s.showsAll(block) {
		return a
	}
	for trace, r := t.Trace, t.Round; ; trace, r = &s.session.Threads[trace.Parent], trace.ParentRound {
		for ; r >= 0 && trace.Rounds[r].Input.To > block; r-- {
			in := trace.Rounds[r].Input
			for k := in.To - 1; k >= max(in.From, block+1); k-- {
				if s.changes(&a, &s.session.Blocks[k]) {
					return a
				}
			}
		}
		if trace.Kind != traces.ThreadBranch || trace.Parent < 0 {
			return a
		}
	}
}

// changes adds to a result what a block did to its file, and reports whether nothing that came before matters: the file was replaced.
func (s *Session) changes(a *again, b *prompt.Block) bool {
	was := &s.session.Blocks[a.block]
	if b.Kind != prompt.KindToolResult || b.Object != was.Object || b.Flags&prompt.FlagError != 0 {
		return false
	}
	switch {
	case b.Op == op.Edit:
		a.bytes, a.lines = a.bytes+b.RangeLen, a.lines+b.RangeFrom
	case b.Op == op.Write && b.RangeLen > 0:
		a.bytes, a.lines = a.bytes+b.RangeLen-was.Bytes, a.lines+b.RangeFrom-was.RangeLen
	}
	return b.Op == op.Write
}

// showsAll reports whether a block shows a whole file.
func (s *Session) showsAll(block int32) bool {
	b := &s.session.Blocks[block]
	return b.Object >= 0 && (b.Op == op.Read && b.RangeFrom == 0 || b.Op == op.Exec)
}

// brings reports whether what is brought again shows what a block shows.
func (s *Session) brings(a *again, block int32) bool {
	return a.block == block || s.showsAll(a.block) && s.session.Blocks[a.block].Object == s.session.Blocks[block].Object
}

// weight returns the tokens of what is brought again, at its object's tokens a byte where lines show fewer.
func (s *Session) weight(a *again) int64 {
	return s.tokens(a) + s.unseen(a)
}

// tokens returns the tokens of a result that is brought again, as its lines show them.
func (s *Session) tokens(a *again) int64 {
	b := &s.session.Blocks[a.block]
	if a.bytes == 0 || b.Bytes == 0 {
		return int64(b.Tokens)
	}
	return int64(b.Tokens) * int64(max(0, b.Bytes+a.bytes)) / int64(b.Bytes)
}

// unseen returns the tokens of a result that is brought again beside those which its lines show.
func (s *Session) unseen(a *again) int64 {
	b := &s.session.Blocks[a.block]
	return max(0, int64(s.Density.Of(b.Object)*float64(b.Bytes+a.bytes))-s.tokens(a))
}

// number returns the id of the first of some calls that no recording has: each has its own.
func (s *Session) number(calls int) int32 {
	s.extras += int32(calls)
	return s.extras - int32(calls) + 1
}

// appendCalls appends the calls that bring results again, the first with an id.
func (t *Thread) appendCalls(things []again, id int32) {
	for i := range things {
		t.Context.Append(t.of.addCall(t, &things[i], id+int32(i)))
	}
}

// appendResults appends what these calls bring, with the tokens of their results that no line shows.
func (t *Thread) appendResults(things []again, id int32) {
	unseen := int64(0)
	for i := range things {
		t.Context.Append(t.of.addResult(t, &things[i], id+int32(i)))
		unseen += t.of.unseen(&things[i])
	}
	if unseen > 0 {
		t.Context.Add(t.of.inventBlock(t, prompt.KindUnseen, int32(min(unseen, math.MaxInt32/2)), id))
	}
}

// fetchOutput is the output of a call that reads a file which the agent has only written, tokens: the fixed part of a tool
// call in the recordings, 54, and a path.
const fetchOutput = 80

// callOf returns the call of a result, -1 for none: the file that a call wrote has none that read it.
func (s *Session) callOf(result int32) int32 {
	b := &s.session.Blocks[result]
	for k := result - 1; k >= 0 && b.Kind == prompt.KindToolResult; k-- {
		if c := &s.session.Blocks[k]; c.Kind == prompt.KindToolUse && c.Call == b.Call {
			return k
		}
	}
	return -1
}

// callTokens returns the tokens of the call that brings a block again.
func (s *Session) callTokens(block int32) int32 {
	if k := s.callOf(block); k >= 0 {
		return s.session.Blocks[k].Tokens
	}
	return fetchOutput
}

// repeats reports whether a recorded call brings what it brought: the file is as it was.
func (s *Session) repeats(a *again) bool { return a.bytes == 0 && s.callOf(a.block) >= 0 }

// addCall adds the call that brings a result again: the recorded call, or a read of a file that a call wrote or changed.
func (s *Session) addCall(t *Thread, a *again, id int32) prompt.Ref {
	if s.repeats(a) {
		return prompt.Ref(s.callOf(a.block))
	}
	call := s.inventBlock(t, prompt.KindToolUse, s.callTokens(a.block), id)
	call.Op, call.Object = op.Read, s.session.Blocks[a.block].Object
	return s.arena.Add(call)
}

// addResult adds the result of the call that brings a result again.
func (s *Session) addResult(t *Thread, a *again, id int32) prompt.Ref {
	if s.repeats(a) {
		return prompt.Ref(a.block)
	}
	b := &s.session.Blocks[a.block]
	result := s.inventBlock(t, prompt.KindToolResult, int32(min(s.tokens(a), math.MaxInt32/2)), id)
	result.Op, result.Object, result.Bytes = op.Read, b.Object, max(0, b.Bytes+a.bytes)
	if a.bytes != 0 && b.RangeLen > 0 {
		result.RangeLen = max(1, b.RangeLen+a.lines)
	}
	return s.arena.Add(result)
}

// inventBlock returns a block of a round that no recording has, of a call with an id. Recorded ids are positive.
func (s *Session) inventBlock(t *Thread, k prompt.Kind, tokens, id int32) prompt.Block {
	b := prompt.Block{
		Kind: k, Op: op.None, Object: -1, Call: -(1<<24 + id), Tokens: tokens,
		Digest: prompt.DigestString("extra").ExtendInt(uint64(t.Index)<<32 | uint64(id)).ExtendInt(uint64(k)<<32 | uint64(tokens)),
	}
	if k == prompt.KindUnseen {
		b.Call = 0
	} else {
		b.Bytes = int32(min(int64(tokens)*3, math.MaxInt32))
	}
	return b
}
