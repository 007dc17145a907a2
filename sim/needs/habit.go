package needs

import (
	"math/bits"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// An agent reads files again that it still has, too. How often it does so says which part of its reads of what a compaction had removed it
// would have made in any case, and so would make where nothing is removed.

// habit counts what a session's agent read again in its main conversations, once they had been compacted, by the age of what it read: a file is read
// again the sooner the later it was shown, and what was removed is older than what stayed.
type habit [ages]struct {
	read, could [2]int // files, and files that a round could have read again: still in the context, and removed from it
}

// ages is the number of classes of age: the rounds since a file was shown, each class twice as wide as the one before.
const ages = 12

// Where a file is that is read again.
const (
	stillHeld = iota
	removed
)

// Due returns the share, 0…1, of the reads of what compactions removed that the session's agent made for that reason, given the share
// of other sessions, which counts as much as weight reads.
func (x *Index) Due(share, weight float64) float64 {
	n, anyway := 0.0, 0.0
	for _, age := range x.habit {
		if age.could[stillHeld] > 0 && age.could[removed] > 0 {
			n += float64(age.read[removed])
			anyway += float64(age.read[stillHeld]) / float64(age.could[stillHeld]) * float64(age.could[removed])
		}
	}
	if n == 0 {
		return share
	}
	return (weight*share + max(0, n-anyway)) / (weight + n)
}

// compacts reports whether a conversation is a main one that was compacted.
func compacts(t *traces.Thread) bool {
	return t.Kind == traces.ThreadMain && slices.ContainsFunc(t.Events, func(e traces.Event) bool { return e.Kind == traces.EventCompact })
}

// watch counts the files that the answer of the round under way could read again, and reads again.
func (b *builder) watch(reply traces.Span) {
	count := func(object int32, of func(age, where int)) {
		source := b.shown[object] - 1
		holds := func(k int32) bool { return b.s.Blocks[k].Object == object && b.held[k] }
		where := removed
		if b.held[source] || slices.ContainsFunc(b.brought, holds) {
			where = stillHeld
		}
		of(min(bits.Len32(uint32(b.round-b.roundOf[source])), ages-1), where)
	}
	h := &b.x.habit
	for object, shown := range b.shown {
		if shown > 0 {
			count(int32(object), func(age, where int) { h[age].could[where]++ })
		}
	}
	for k := reply.From; k < reply.To; k++ {
		if bl := &b.s.Blocks[k]; bl.Op == op.Read && b.wasShown(bl.Object) && b.results[bl.Call] > 0 {
			count(bl.Object, func(age, where int) { h[age].read[where]++ })
		}
	}
}
