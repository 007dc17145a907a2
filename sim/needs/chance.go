package needs

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// That an identifier was shown before it was used does not say that it was used because of that: an agent knows words of
// its language, and of its task. How much is chance shows in what it used first: a name that it writes into one file, and that a file
// which it did not write shows for the first time later, was not learned there. An agent that learns nothing from files
// is as likely to use a name before it is shown as names are still to be shown.

// Chance returns the share of the identifiers of files, 0…1, that the agent of the session used without having learned them there:
// those that it used before a file showed them, per one that would be so by chance, with a uniform prior.
// 0.5 says that the session tells nothing.
func (x *Index) Chance() float64 { return min(1, (x.ahead+1)/(x.byChance+2)) }

// encounter is a name that the agent used and another file showed: the call that used it first, and the first result that showed it.
type encounter struct{ used, shown int32 }

// chance counts the names that were used before they were shown, and how many would be so by chance.
func (b *builder) chance() {
	var list []encounter
	for k := range b.s.Blocks {
		bl := &b.s.Blocks[k]
		h := b.utteranceOf(int32(k))
		if h == nil || !changes(bl) || !b.inMain(int32(k)) {
			continue
		}
		for i := range h.values {
			if h.values[i].role != roleOther {
				continue
			}
			for _, f := range h.values[i].all {
				if f.kind != recall.NeedName {
					continue
				}
				if at := b.shownFirst(f.key, int32(k)); at >= 0 {
					list = append(list, encounter{int32(k), at})
				}
			}
		}
	}
	shown := make([]int32, len(list))
	for i := range list {
		shown[i] = list[i].shown
	}
	slices.Sort(shown)
	done := map[encounter]bool{}
	for _, e := range list { // names that one call used and one result shows first are one: it may show a copy
		if done[e] {
			continue
		}
		done[e] = true
		if e.shown > e.used {
			b.x.ahead++
		}
		n, _ := slices.BinarySearch(shown, e.used)
		b.x.byChance += 1 - float64(n)/float64(len(shown))
	}
}

// changes reports whether a block is a call that changes a file.
func changes(b *prompt.Block) bool {
	return b.Kind == prompt.KindToolUse && (b.Op == op.Edit || b.Op == op.Write)
}

// known reports whether an object is one of the session's; −1 is none.
func (b *builder) known(object int32) bool { return object >= 0 && int(object) < len(b.elsewhere) }

func (b *builder) inMain(k int32) bool { return b.s.Threads[b.threadOf[k]].Kind == traces.ThreadMain }

// shownFirst returns the first result in which a file shows a name that the call k uses as the first; −1 if k is not the first to use
// it, if no file shows it into which nobody had written it, or if anything else showed it before k.
func (b *builder) shownFirst(key uint64, k int32) int32 {
	x := b.table.find(key)
	if x == nil || !b.usesFirst(x, k) {
		return -1
	}
	shown, before := int32(-1), false
	for at := x.head; at != end; at = b.table.posts[at].next {
		p := b.table.posts[at].block
		switch bl := &b.s.Blocks[p]; {
		case !b.inMain(p), bl.Kind == prompt.KindToolUse:
		case bl.Kind == prompt.KindToolResult && bl.Op == op.Read && b.known(bl.Object) && !b.elsewhere[bl.Object] && !b.wrote(x, bl.Object):
			shown = p // the oldest comes last
		default:
			before = before || p < k
		}
	}
	if before && shown > k {
		return -1
	}
	return shown
}

// usesFirst reports whether no call of a main conversation that has a term precedes the call k, and no command has the term: it may
// write it anywhere. It reports false for a term that is in too many blocks to be looked at one by one.
func (b *builder) usesFirst(x *term, k int32) bool {
	n := 0
	for at := x.head; at != end; at = b.table.posts[at].next {
		p := b.table.posts[at].block
		if n++; n > maxWalk {
			return false
		}
		if bl := &b.s.Blocks[p]; bl.Kind == prompt.KindToolUse && b.inMain(p) && (p < k || bl.Op == op.Exec) {
			return false
		}
	}
	return true
}

// wrote reports whether a call of a main conversation that has a term was of an object.
func (b *builder) wrote(x *term, object int32) bool {
	for at := x.head; at != end; at = b.table.posts[at].next {
		p := b.table.posts[at].block
		if bl := &b.s.Blocks[p]; bl.Kind == prompt.KindToolUse && bl.Object == object && b.inMain(p) {
			return true
		}
	}
	return false
}
