package promptcache

import "github.com/compactsim/compactsim/sim/prompt"

// lineage is a stretch of a path through the tree of entries without a branch:
// what one conversation adds call by call. A read of its tip refreshes the whole lineage, so
// instead of a time per entry it keeps a stack of uses, deepest first:
// the last use of an entry is the time of the first one from the top that is at
// least as deep. A use deeper than all before leaves a stack of one, so
// appending costs no more in a long conversation than in a short one.
type lineage struct {
	base  int32 // entry it branches off from, none for a root
	tip   int32 // its deepest entry
	short bool  // may hold 5m entries that are not dead
	uses  []use
}

// use says that the entries down to a depth were used at a time. In a stack
// depths fall and times rise from bottom to top.
type use struct {
	depth int32
	at    int64
}

// newLineage returns an empty lineage that branches off from base, with the
// storage of one dropped earlier if there is any.
func (a *Anthropic) newLineage(base int32) int32 {
	n := len(a.lineages)
	if n < cap(a.lineages) {
		a.lineages = a.lineages[:n+1]
	} else {
		a.lineages = append(a.lineages, lineage{})
	}
	l := &a.lineages[n]
	*l = lineage{base: base, tip: none, uses: l.uses[:0]}
	return int32(n)
}

// lastUse returns the time of the last use of e or of an entry behind it.
func (a *Anthropic) lastUse(e *entry) int64 {
	s := a.lineages[e.lineage].uses
	i := len(s) - 1
	for i > 0 && s[i].depth < e.depth {
		i--
	}
	return s[i].at
}

// use marks an entry and all on its prefix as used at t. It steps from lineage
// to lineage, not from entry to entry.
func (a *Anthropic) use(id int32, t int64) {
	for id != none {
		e := &a.entries[id]
		l := &a.lineages[e.lineage]
		n := len(l.uses)
		for n > 0 && l.uses[n-1].depth <= e.depth {
			n--
		}
		l.uses = append(l.uses[:n], use{e.depth, t})
		id = l.base
	}
}

// bury marks the entries on the prefix of id that have expired by t as dead, so
// that the use that follows does not bring them back. Only 5m entries in front
// of 1h ones can be older than what stands behind them.
func (a *Anthropic) bury(id int32, t int64) {
	for id != none {
		e := &a.entries[id]
		li := e.lineage
		if a.lineages[li].short && !a.within(t-a.lastUse(e), prompt.TTL5m) {
			a.buryFrom(id, t)
		}
		id = a.lineages[li].base
	}
}

// buryFrom marks the expired entries of one lineage, from id to its front.
func (a *Anthropic) buryFrom(id int32, t int64) {
	li := a.entries[id].lineage
	short := a.lineages[li].tip != id
	for id != none && a.entries[id].lineage == li {
		e := &a.entries[id]
		switch {
		case !a.alive(id, t):
			if e.state == stateLive {
				e.state = stateDead
			}
		case e.ttl == prompt.TTL5m:
			short = true
		}
		id = e.parent
	}
	a.lineages[li].short = short
}

// split makes p the tip of its lineage: what stands behind it becomes a lineage
// of its own that branches off from p. Whoever continues from p now appends to
// the lineage, so a path that moves on stays in one piece, and each abandoned
// tail is moved once. The caller appends and uses an entry behind p next, which
// is why the uses of p and of what stands before p may go.
func (a *Anthropic) split(p int32) {
	src, depth := a.entries[p].lineage, a.entries[p].depth
	tail := a.newLineage(p)
	from, to := &a.lineages[src], &a.lineages[tail]
	to.tip, to.short = from.tip, from.short
	for id := from.tip; id != p; id = a.entries[id].parent {
		a.entries[id].lineage = tail
	}
	from.tip = p
	n := 0
	for n < len(from.uses) && from.uses[n].depth > depth {
		n++
	}
	to.uses = append(to.uses, from.uses[:n]...)
	from.uses = from.uses[:0]
}

// pinned reports whether a request in flight uses e or an entry behind it.
func (a *Anthropic) pinned(e *entry) bool {
	if a.cfg.Anchor != anchorEnd {
		return false
	}
	for i := range a.flights {
		f := &a.flights[i]
		for _, id := range f.held[:f.holds] {
			if a.onPrefix(e, id) {
				return true
			}
		}
	}
	return false
}

// onPrefix reports whether e is the entry id or stands on its prefix.
func (a *Anthropic) onPrefix(e *entry, id int32) bool {
	for id != none {
		d := &a.entries[id]
		if d.lineage == e.lineage {
			return d.depth >= e.depth
		}
		id = a.lineages[d.lineage].base
	}
	return false
}
