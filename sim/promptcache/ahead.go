package promptcache

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Serve says that all that follows is sent by a party, numbered from 1, until it is
// called again. Parties may run ahead of each other: each sends in order of time, and
// sends a request that Ahead does not let pass only when no party will send anything
// earlier. Floor is a time, ns, before which nobody sends anything more; it never falls.
//
// Requests of one time count in the order of their parties, whatever the order of calls: one
// does not find what a party with a higher number sends at the same time, even if that is
// readable at once. What was sent before is readable from its first token on to all.
//
// The result is that of sending everything in this order, unless Met reports otherwise.
func (a *Anthropic) Serve(party uint32, floor int64) {
	a.parties.now, a.parties.floor = party, floor
}

// Leave says that a party sends nothing more: its messages need not be kept.
func (a *Anthropic) Leave(party uint32) { a.parties.leave(party) }

// Met reports whether a party has written or read messages of another since Reset: the
// outcomes so far are then void.
func (a *Anthropic) Met() bool { return a.parties.met }

// Ahead reports whether a request that arrives at t may be sent before earlier requests
// of others: it would read messages of its own party, which itself has kept all entries
// on their prefix alive since it last used them. So neither what the request reads nor
// what it refreshes depends on others. If Begin of the same request at the same time is
// the next call, it does not look the request up again.
func (a *Anthropic) Ahead(t int64, r *prompt.Request) bool {
	if a.cfg.EvictPerCall+r.Loss > 0 {
		return false
	}
	if i, ok := a.byThread[r.Thread]; ok && a.threads[i].left && a.threads[i].level != prompt.LevelMessages {
		return false // why it misses depends on what all share
	}
	a.find(t, r)
	h := a.found.hit
	if h.id == none {
		return false
	}
	e := &a.entries[h.id]
	if e.level != prompt.LevelMessages || e.party != a.parties.now {
		return false
	}
	return t-a.lastUse(e) <= a.cfg.Lifetime[prompt.TTL5m] || !a.shortPath(h.id)
}

// shortPath reports whether an entry on the prefix of id may be one of 5 minutes: it
// may have expired though id has not, unless others have used it.
func (a *Anthropic) shortPath(id int32) bool {
	for id != none {
		l := &a.lineages[a.entries[id].lineage]
		if l.short {
			return true
		}
		id = l.base
	}
	return false
}

// useEarlier marks the entries of a lineage down to a depth as used at t, where
// some have been used later.
func (l *lineage) useEarlier(depth int32, t int64) {
	to := len(l.uses)
	for to > 0 && l.uses[to-1].at > t {
		to--
	}
	if l.uses[to].depth >= depth {
		return // all of them have
	}
	from := to
	for from > 0 && l.uses[from-1].depth <= depth {
		from--
	}
	l.uses = slices.Replace(l.uses, from, to, use{depth, t})
}

// parties are the parties that take turns at a cache, see Anthropic.Serve. The zero value
// has none.
type parties struct {
	now   uint32 // party that is served, 0 for nobody in particular
	floor int64  // nobody sends anything before it
	left  []bool // by party: it sends nothing more
	// roots are the parties that last began a conversation, by the prefix through its
	// first message.
	roots map[prompt.Digest]uint32
	met   bool
}

func (p *parties) reset() {
	clear(p.roots)
	*p = parties{left: p.left[:0], roots: p.roots}
}

func (p *parties) clone() parties {
	c := *p
	c.left, c.roots = slices.Clone(p.left), maps.Clone(p.roots)
	return c
}

// from returns the time before which nobody sends anything more.
func (p *parties) from() int64 {
	if p.now == 0 {
		return never
	}
	return p.floor
}

func (p *parties) leave(party uint32) {
	for int(party) >= len(p.left) {
		p.left = append(p.left, false)
	}
	p.left[party] = true
}

// gone reports whether e holds messages of a party that sends nothing more.
func (p *parties) gone(e *entry) bool {
	return e.level == prompt.LevelMessages && int(e.party) < len(p.left) && p.left[e.party]
}

// meet notes that the served party uses e: the parties have met if another wrote these
// messages.
func (p *parties) meet(e *entry) {
	p.met = p.met || e.party != p.now && e.level == prompt.LevelMessages
}

// root notes that the served party begins a conversation. Conversations that begin with
// the same message may come to read each other's.
func (p *parties) root(r *prompt.Request) {
	if p.now == 0 {
		return
	}
	i := slices.IndexFunc(r.Entries, func(e prompt.Entry) bool { return e.Kind.Level() == prompt.LevelMessages })
	if i < 0 {
		return
	}
	if p.roots == nil {
		p.roots = map[prompt.Digest]uint32{}
	}
	chain := r.Entries[i].Chain
	if first, ok := p.roots[chain]; ok && first != p.now {
		p.met = true
	}
	p.roots[chain] = p.now
}
