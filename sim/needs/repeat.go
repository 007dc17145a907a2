package needs

import (
	"math/bits"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
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

// An agent reads files again, and runs commands again, that it still has the results of, too. How often it does so says which part of its
// repeats of what a compaction had removed it would have made in any case, and so would make where nothing is removed.

// habit counts what a session's agent repeated in its main conversations, once they had been compacted, by the age of what it repeated: a file is
// read again the sooner the later it was shown, and what was removed is older than what stayed. A thing is a file, or what any other call
// brought, as Repeat has it: agents read files by commands, too.
type habit [kinds * ages]struct {
	read, could [2]int // repeats that were used, and rounds of things that could have been repeated: still in the context, and removed from it
}

// ages is the number of classes of age: the rounds since a thing was shown, each class twice as wide as the one before.
const ages = 12

// kinds of things are files, which an agent reads again, and what other calls brought, most of which it does not ask for again.
const kinds = 2

// Where a thing is that is repeated.
const (
	stillHeld = iota
	removed
)

// Habit calls do for each age at which the session's agent could repeat what its context still had, and what a compaction had removed:
// with how much of the removed it repeated and used, how much of all, and the odds that a repeat is of the removed if a loss changes nothing.
func (x *Index) Habit(do func(lost, all, odds float64)) {
	for _, age := range x.habit {
		if n := age.read[stillHeld] + age.read[removed]; n > 0 && age.could[stillHeld] > 0 && age.could[removed] > 0 {
			do(float64(age.read[removed]), float64(n), float64(age.could[removed])/float64(age.could[stillHeld]))
		}
	}
}

// compacts reports whether a conversation is a main one that was compacted.
func compacts(t *traces.Thread) bool {
	return t.Kind == traces.ThreadMain && slices.ContainsFunc(t.Events, func(e traces.Event) bool { return e.Kind == traces.EventCompact })
}

// things are what a thread could repeat.
type things struct {
	// watched has the blocks that showed them, with the round from which their rounds are to be counted; nil if the thread is none whose
	// habit counts.
	watched map[int32]int32
	moving  map[int32]bool // the watched blocks whose things an event may remove
}

// classOf returns the class of a thing, by its kind and its age in rounds.
func (b *builder) classOf(block, rounds int32) int {
	age := min(bits.Len32(uint32(rounds)), ages-1)
	if b.s.Blocks[block].Object < 0 {
		age += ages
	}
	return age
}

// watch begins to count the rounds of a thing with a round, in place of the rounds of what showed it before, -1 for nothing.
func (b *builder) watch(was, block, round int32) {
	if b.watched != nil {
		b.count(was, round)
		delete(b.watched, was)
		delete(b.moving, was)
		b.watched[block], b.moving[block] = round, true
	}
}

// count counts the rounds of a thing before a round that are not counted yet, in which nothing changed of where it is, and reports whether
// it was in the context. A thing that was not in it stays where it is until it is shown again or an attachment brings it, so that its rounds
// can be counted then, or at the end.
func (b *builder) count(block, to int32) bool {
	from, ok := b.watched[block]
	if !ok || from >= to {
		return ok
	}
	b.watched[block] = to
	object := b.s.Blocks[block].Object
	where := removed
	if b.held[block] || object >= 0 && slices.ContainsFunc(b.brought, func(k int32) bool {
		bl := &b.s.Blocks[k] // what came back behind a compaction was unknown where the profile's share was fitted
		return bl.Object == object && bl.Flags&prompt.FlagMeta == 0 && b.held[k]
	}) {
		where = stillHeld
	}
	for age := from - b.roundOf[block]; from < to; {
		n := min(to-from, 1<<bits.Len32(uint32(age))-age) // of one age
		b.x.habit[b.classOf(block, age)].could[where] += int(n)
		from, age = from+n, age+n
	}
	return where == stillHeld
}

// soon is how many rounds after a repeat are searched for a use of what it brought. Agents that look at several files first use them after that.
const soon = 3

// findUses finds which repeats an action uses soon. These alone count for the agent's habit: an agent that looks at a thing again and does not
// use it did not lack it.
func (x *Index) findUses() {
	for i := range x.threads {
		list := x.threads[i].repeats
		for k := range list {
			p := &list[k]
			for r := p.Round + 1; r <= p.Round+soon && !p.Used; r++ {
				p.Used = slices.ContainsFunc(x.Round(int32(i), r), func(n Need) bool {
					return n.Kind != recall.NeedRead && slices.ContainsFunc(x.Places(&n), func(at Place) bool { return at.Block == p.Result })
				})
			}
			where := stillHeld
			if p.Lost {
				where = removed
			}
			if p.Used && p.class >= 0 {
				x.habit[p.class].read[where]++
			}
		}
	}
}
