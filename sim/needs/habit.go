package needs

import (
	"math/bits"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

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

// findUses finds which repeats an action uses soon. These alone count for the agent's habit: who looks at a thing again and does not use it, did
// not lack it.
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
