package needs

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// Repeat is a call of a tool that brought what an earlier result of the conversation, and the edits of the agent since,
// had brought already.
type Repeat struct {
	Round  int32 // of the thread; its answer makes the call
	Call   int32 // as in prompt.Block
	Result int32 // block
	Source int32 // the earlier block
	Lost   bool  // the recorded context no longer had the source
	Used   bool  // an action uses what it brought soon
	class  int16 // of the source, in the session's habit; -1 where that is not counted
}

// covered is the share of the lines of a result that must have been shown before for a repeat. Assumed: a time or a
// count in a line may differ.
const covered = 0.95

// Repeats returns the repeats of a round of a thread.
func (x *Index) Repeats(thread, round int32) []Repeat {
	list := x.threads[thread].repeats
	from, _ := slices.BinarySearchFunc(list, round, func(r Repeat, round int32) int { return int(r.Round - round) })
	to := from
	for to < len(list) && list[to].Round == round {
		to++
	}
	return list[from:to]
}

// repeats notes a call whose result repeats an earlier one.
func (b *builder) repeats(k int32) {
	bl := &b.s.Blocks[k]
	result, ok := b.results[bl.Call]
	h := b.utteranceOf(k)
	if !ok || h == nil || bl.Kind != prompt.KindToolUse || b.failed[bl.Call] {
		return
	}
	source := b.same[h.key] - 1
	switch {
	case bl.Op != op.Read || bl.Object < 0:
		b.watch(source, result, b.round+1)
	case b.shown[bl.Object] > 0:
		source = b.shown[bl.Object] - 1
	}
	if source >= 0 && b.covers(source, result) {
		lost := !b.held[source] && !slices.ContainsFunc(b.brought, func(k int32) bool { return b.held[k] && b.covers(k, result) })
		p := Repeat{Round: b.round, Call: bl.Call, Result: result, Source: source, Lost: lost, class: -1}
		if b.watched != nil {
			p.class = int16(b.classOf(source, b.round-b.roundOf[source]))
		}
		b.at.repeats = append(b.at.repeats, p)
		b.x.sources[result] = source
	}
	b.same[h.key] = result + 1
}

// covers reports whether a block, and the edits of the agent since, have the lines of a result.
func (b *builder) covers(block, result int32) bool {
	was, is := b.utteranceOf(block), b.utteranceOf(result)
	if was == nil || is == nil {
		return false
	}
	if was.key == is.key {
		return true
	}
	known := map[uint64]bool{}
	was.eachLine(func(key uint64) { known[key] = true })
	lines, found := 0, 0
	is.eachLine(func(key uint64) {
		if lines++; known[key] || b.editedSince(block, key) {
			found++
		}
	})
	return lines > 0 && float64(found) >= covered*float64(lines)
}

// edit is a line of a call that changes a file. next is the place of the same line in an earlier call, -1 for none.
type edit struct{ block, next int32 }

// edit notes the lines of a call that changes a file.
func (b *builder) edit(k int32) {
	h := b.utteranceOf(k)
	if h == nil {
		return
	}
	h.eachLine(func(key uint64) {
		last, ok := b.edited[key]
		if !ok {
			last = end
		} else if b.edits[last].block == k {
			return
		}
		b.edits = append(b.edits, edit{k, last})
		b.edited[key] = int32(len(b.edits) - 1)
	})
}

// editedSince reports whether an edit that the thread has made behind a block has a line.
func (b *builder) editedSince(block int32, key uint64) bool {
	at, ok := b.edited[key]
	for ; ok && at != end && b.edits[at].block > block; at = b.edits[at].next {
		if b.heard(b.edits[at].block) {
			return true
		}
	}
	return false
}

// eachLine calls do for the lines of an utterance.
func (h *utterance) eachLine(do func(key uint64)) {
	for i := range h.marks {
		if h.marks[i].kind == recall.NeedEdit {
			do(h.marks[i].key)
		}
	}
	for i := range h.values {
		for _, m := range h.values[i].lines() {
			do(m.key)
		}
	}
}

// lineEdits are the lines that calls of a thread changed.
type lineEdits struct {
	edited map[uint64]int32 // by line: the last of edits that has it
	edits  []edit           // lines of calls that change files
}
