package promptcache

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// verdict is what looking at one key of the table found, from the least to the
// most that can be said about it.
type verdict uint8

const (
	absent      verdict = iota // never written, or swept after it expired
	expired                    // outlived its TTL
	evicted                    // lost inside its TTL
	notReadable                // its writer's response has not begun
	found
)

// hit is where a lookup ended.
type hit struct {
	id  int32 // none for no find
	pos int32 // index of the entry of the request, -1 for no find
}

var noHit = hit{none, -1}

// probe looks at one key.
func (a *tree) probe(t int64, k key) (int32, verdict) {
	id := a.table.find(a.entries, k)
	if id == none {
		return none, absent
	}
	switch e := &a.entries[id]; {
	case e.state == stateEvicted && a.within(t-a.lastUse(e), e.ttl):
		return id, evicted
	case !a.alive(id, t):
		return id, expired
	case e.ready > t:
		return id, notReadable
	}
	return id, found
}

// lookup returns the longest prefix of r that a marker reaches: from the last
// marker back, then from the one before that, and so on.
func (a *tree) lookup(t int64, r *exchange.Request, m *marks) hit {
	for k := m.n - 1; k >= 0; k-- {
		if h := a.walk(t, r, &m.at[k], m.global); h.id != none {
			return h
		}
	}
	return noHit
}

// walk looks for an entry from a marker back to the end of its look-back.
// Prefixes up to the last global marker are also looked for among the global
// entries.
func (a *tree) walk(t int64, r *exchange.Request, m *mark, global int32) hit {
	left := a.cfg.Lookback
	k := a.keyAt(r, prompt.Digest{}, exchange.ScopeOrg, m.TTL, prompt.LevelMessages)
	g := a.keyAt(r, prompt.Digest{}, exchange.ScopeGlobal, m.TTL, prompt.LevelMessages)
	for p := m.Position; p >= 0; p-- {
		e := &r.Entries[p]
		if e.Cum < r.MinTokens {
			break
		}
		if p == m.Position || a.counts(r, p) {
			if left == 0 {
				break
			}
			left--
		}
		if e.Kind.Level() != prompt.LevelMessages {
			k.variant, g.variant = 0, 0
		}
		k.chain = e.Chain
		id, v := a.probe(t, k)
		if v == found {
			return hit{id, p}
		}
		if p == m.Position {
			m.new = v == absent && m.Scope == exchange.ScopeOrg
		}
		if p <= global {
			g.chain = e.Chain
			if id, v := a.probe(t, g); v == found {
				return hit{id, p}
			}
		}
	}
	return noHit
}

// counts reports whether the entry at a position, the last one aside, is a
// position of the look-back of its own. What no line shows is a size, not a
// block, and a request without thinking leaves earlier thinking out.
func (a *tree) counts(r *exchange.Request, p int32) bool {
	k, behind := r.Entries[p].Kind, r.Entries[p+1].Kind
	switch {
	case behind == prompt.KindUnseen, k == prompt.KindThinking && r.Variant != 0:
		return false
	}
	return a.cfg.EveryBlockCounts || !sameRun(k, behind)
}

// sameRun reports whether two adjacent blocks count as one position when runs
// do.
func sameRun(a, b prompt.Kind) bool {
	return a == b && (a == prompt.KindToolUse || a == prompt.KindToolResult)
}

// evict drops the message entries that the request would read, and returns the
// hit that is left.
func (a *tree) evict(t int64, r *exchange.Request, m *marks, h hit) hit {
	for h.id != none && a.entries[h.id].level == prompt.LevelMessages {
		for id := h.id; id != none; id = a.entries[id].parent {
			e := &a.entries[id]
			if e.level != prompt.LevelMessages {
				break
			}
			if e.state == stateLive {
				e.state = stateEvicted
			}
		}
		h = a.lookup(t, r, m)
	}
	return h
}

// evicts reports whether a call loses its message entries: the upper 53 bits of
// its draw are a uniform number in [0,1).
func (a *tree) evicts(r *exchange.Request) bool {
	share := a.cfg.EvictPerCall + r.Loss
	return share > 0 && float64(r.Draw>>11)*0x1p-53 < share
}

// gathering sums up the deletions of a thread's last request. A client declares all that
// are in force with every request, so the next list is this one and a few more: only
// those are looked at.
type gathering struct {
	cuts  []cut
	chain prompt.Digest // of the prefix through the last cut
	cum   int32         // tokens of that prefix
}

// gather notes the deletions of r that take part in a.cuts.
func (a *Anthropic) gather(r *exchange.Request, th *thread) {
	g := &a.once
	if th.cuts == 0 && th.applied > 0 {
		th.cuts = a.newGathering()
	}
	if th.cuts > 0 {
		g = &a.gatherings[th.cuts-1]
		g.cuts = g.cuts[:g.same(r)]
	} else {
		g.cuts = g.cuts[:0]
	}
	g.add(r)
	a.cuts = g.cuts
}

// newGathering returns 1 + the index of an empty gathering, with the storage of one from
// before a Reset if there is any.
func (a *Anthropic) newGathering() int32 {
	n := len(a.gatherings)
	if n < cap(a.gatherings) {
		a.gatherings = a.gatherings[:n+1]
	} else {
		a.gatherings = append(a.gatherings, gathering{})
	}
	a.gatherings[n].cuts = a.gatherings[n].cuts[:0]
	return int32(n + 1)
}

// same returns how many cuts of the last request come first, unchanged, among the
// deletions of r: 0 unless the prefix that holds them is the same.
func (g *gathering) same(r *exchange.Request) int {
	n := len(g.cuts)
	if n == 0 {
		return 0
	}
	last := int(g.cuts[n-1].position)
	if last >= len(r.Entries) || r.Entries[last].Chain != g.chain || r.Entries[last].Cum != g.cum {
		return 0
	}
	for i := range min(n, len(r.Deletions)) {
		if d, c := &r.Deletions[i], &g.cuts[i]; d.Position != c.position || d.Tokens != c.declared {
			return i
		}
	}
	return min(n, len(r.Deletions))
}

// add appends the deletions of r that follow those in g. A deletion takes out
// no more than its entry holds, and only the first of one position, or in order,
// counts.
func (g *gathering) add(r *exchange.Request) {
	last, sum := int32(-1), int64(0)
	if n := len(g.cuts); n > 0 {
		last, sum = g.cuts[n-1].position, g.cuts[n-1].through
	}
	for i := len(g.cuts); i < len(r.Deletions); i++ {
		d := &r.Deletions[i]
		if d.Position <= last || int(d.Position) >= len(r.Entries) {
			continue
		}
		last = d.Position
		sum += int64(max(0, min(d.Tokens, r.Entries[last].Tokens)))
		g.cuts = append(g.cuts, cut{last, d.Tokens, sum})
	}
	if last >= 0 {
		g.chain, g.cum = r.Entries[last].Chain, r.Entries[last].Cum
	}
}

// cloneGatherings returns an independent copy.
func cloneGatherings(list []gathering) []gathering {
	list = slices.Clone(list)
	for i := range list {
		list[i].cuts = slices.Clone(list[i].cuts)
	}
	return list
}

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
func (a *tree) newLineage(base int32) int32 {
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
func (a *tree) lastUse(e *entry) int64 {
	s := a.lineages[e.lineage].uses
	i := len(s) - 1
	for i > 0 && s[i].depth < e.depth {
		i--
	}
	return s[i].at
}

// use marks an entry and all on its prefix as used at t. It steps from lineage
// to lineage, not from entry to entry.
func (a *tree) use(id int32, t int64) {
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
func (a *tree) bury(id int32, t int64) {
	for id != none {
		e := &a.entries[id]
		li := e.lineage
		if a.lineages[li].short && !a.within(t-a.lastUse(e), exchange.TTL5m) {
			a.buryFrom(id, t)
		}
		id = a.lineages[li].base
	}
}

// buryFrom marks the expired entries of one lineage, from id to its front.
func (a *tree) buryFrom(id int32, t int64) {
	li := a.entries[id].lineage
	short := a.lineages[li].tip != id
	for id != none && a.entries[id].lineage == li {
		e := &a.entries[id]
		switch {
		case !a.alive(id, t):
			if e.state == stateLive {
				e.state = stateDead
			}
		case e.ttl == exchange.TTL5m:
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
func (a *tree) split(p int32) {
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
func (a *tree) pinned(e *entry) bool {
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
func (a *tree) onPrefix(e *entry, id int32) bool {
	for id != none {
		d := &a.entries[id]
		if d.lineage == e.lineage {
			return d.depth >= e.depth
		}
		id = a.lineages[d.lineage].base
	}
	return false
}
