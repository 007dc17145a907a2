package needs

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// What the recording's own context held decides what a simulated agent does otherwise: both lack a thing, and the
// recording shows what the agent did; only the simulated one lacks it, and the agent may fetch it; only the recorded one
// lacked it, and what the agent read again for that reason need not be read.

// Stayed returns the blocks before first, the first that came behind a recorded compaction, that stayed in the context
// word for word: a range that ends at first. kept is the tokens behind the compaction beside its summary.
func Stayed(s *traces.Session, e *traces.Event, first int32) traces.Span {
	if e.Preserved > 0 { // the client logs it
		block, line := first, int32(0)
		for n := e.Preserved; block > 0; block-- {
			if k := block - 1; k >= e.Summary.From && k < e.Summary.To {
				continue // stands among the messages that stayed, ahead of results that no call had sent, and is none
			}
			if at := s.Blocks[block-1].Line; at != line {
				if n--; n < 0 {
					break
				}
				line = at
			}
		}
		return traces.Span{From: block, To: first}
	}
	if agents.Of(s.Agent).Keeps != facts.KeepsNewest {
		return traces.Span{From: first, To: first}
	}
	block, left := first, e.Kept
	for k := e.Summary.From; k < e.Summary.To; k++ {
		left -= s.Blocks[k].Tokens
	}
	for block > 0 && left >= s.Blocks[block-1].Tokens {
		left -= s.Blocks[block-1].Tokens
		block--
	}
	return traces.Span{From: block, To: first}
}

// standing is what a thread has been shown and what its recorded context has, at a round from which a branch starts.
type standing struct {
	changed, shown, brought []int32 // as in builder
	holds                   spans
}

// branchesOf returns the branches that start from each thread of a session, in the order of the rounds from which they start.
func branchesOf(s *traces.Session) [][]int32 {
	list := make([][]int32, len(s.Threads))
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadBranch && t.Parent >= 0 {
			list[t.Parent] = append(list[t.Parent], int32(i))
		}
	}
	for _, of := range list {
		slices.SortStableFunc(of, func(i, j int32) int { return cmp.Compare(s.Threads[i].ParentRound, s.Threads[j].ParentRound) })
	}
	return list
}

// begin makes the state what a thread begins with: nothing, or what its parent had where it branches off.
func (b *builder) begin(i int32) {
	for _, k := range b.holds {
		b.held[k] = false
	}
	clear(b.changed)
	clear(b.shown)
	had := &b.kept[i]
	copy(b.changed, had.changed)
	copy(b.shown, had.shown)
	b.holds, b.brought = b.holds[:0], append(b.brought[:0], had.brought...)
	for k := range had.holds.blocks {
		b.holds = append(b.holds, k)
		b.held[k] = true
	}
	b.same = map[uint64]int32{}
	if b.watched = nil; compacts(&b.s.Threads[i]) {
		b.watched, b.moving = map[int32]int32{}, map[int32]bool{}
	}
	*had = standing{}
}

// part keeps what the branches of a thread begin with that start from a round, -1 for the thread's start. Attachments of
// the prefix are not among what a branch was brought.
func (b *builder) part(i, round int32) {
	for len(b.branches[i]) > 0 && b.s.Threads[b.branches[i][0]].ParentRound <= round {
		b.holds = slices.DeleteFunc(b.holds, func(k int32) bool { return !b.held[k] })
		var holds spans
		for _, k := range b.holds {
			holds.add(k)
		}
		own := b.s.Threads[i].Prefix
		b.kept[b.branches[i][0]] = standing{
			changed: slices.Clone(b.changed), shown: slices.Clone(b.shown), holds: holds,
			brought: slices.DeleteFunc(slices.Clone(b.brought), func(k int32) bool { return k >= own.From && k < own.To }),
		}
		b.branches[i] = b.branches[i][1:]
	}
}

// enter notes that the recorded context has the blocks of a span.
func (b *builder) enter(span traces.Span) {
	for k := span.From; k < span.To; k++ {
		if !b.held[k] {
			b.held[k] = true
			b.holds = append(b.holds, k)
		}
	}
}

// happen carries out on the recorded context what the recording did to it before a round, and returns the first block of
// the round's input that did not go into it.
func (b *builder) happen(t *traces.Thread, e *traces.Event) int32 {
	if int(e.Round) >= len(t.Rounds) {
		return 0
	}
	in := t.Rounds[e.Round].Input
	first := in.From + e.Absorbed
	switch e.Kind {
	case traces.EventMicrocompact:
		for _, k := range e.Cleared {
			b.held[k] = false
		}
	case traces.EventCompact:
		b.enter(traces.Span{From: in.From, To: first})
		prompts := agents.Of(b.s.Agent).Keeps == facts.KeepsPrompts
		stayed := Stayed(b.s, e, first).From
		b.holds = slices.DeleteFunc(b.holds, func(k int32) bool { // as many as the context had, not as the session has
			b.held[k] = b.held[k] && (k >= stayed || prompts && b.s.Blocks[k].Kind == prompt.KindPrompt)
			return !b.held[k]
		})
		b.brought = b.brought[:0]
		b.enter(t.Prefix)
		b.enter(e.Summary)
	}
	return first
}
