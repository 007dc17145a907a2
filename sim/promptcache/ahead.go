package promptcache

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Serve says that what follows is sent by a party, numbered from 1, until another
// is named. Parties that name themselves may run ahead of each other: each sends in
// order of time, and a request that Ahead does not let pass is sent only when no
// party will send anything from before it. Floor is a time, ns, from before which
// nothing comes from anybody any more; it never falls.
//
// Of what happens at the very same time, that of a party with a lower number comes
// first, whatever the order of calls: a request of it does not find what only then
// becomes readable by the first token of a higher one. Requests of one time are sent
// in the order of their parties.
//
// The result is that of sending everything in this order, unless Met reports
// otherwise. With a capacity it is not: there everything depends on everything.
func (a *Anthropic) Serve(party uint32, floor int64) {
	a.parties.now, a.parties.floor = party, floor
}

// Leave says that a party sends nothing any more: its messages need not be kept.
func (a *Anthropic) Leave(party uint32) { a.parties.leave(party) }

// Met reports whether parties have written, or read, messages of each other since
// Reset. What was served is worth nothing then.
func (a *Anthropic) Met() bool { return a.parties.met }

// Ahead reports whether a request that arrives at t may be sent ahead of requests of
// others from before t: it would read messages of its own party, and the party itself
// has kept alive all entries on their prefix since it used them last. So neither what
// it reads nor what it refreshes depends on others. Begin of the same request at the
// same time, with nothing between, need not look it up again.
func (a *Anthropic) Ahead(t int64, r *prompt.Request) bool {
	if a.cfg.EvictPerCall+r.Loss > 0 || a.room != nil {
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

// parties are those who take turns at a cache, see Anthropic.Serve. The zero value
// is that of a cache without any.
type parties struct {
	now   uint32 // who is served, 0 for nobody in particular
	floor int64  // nothing comes from before it
	left  []bool // by party: it sends nothing any more
	// roots are who has begun conversations, by the prefix that ends with the first
	// message of them.
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

// from returns the time from before which nothing comes, as far as parties say.
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

// gone reports whether e holds messages of a party that sends nothing any more.
func (p *parties) gone(e *entry) bool {
	return e.level == prompt.LevelMessages && int(e.party) < len(p.left) && p.left[e.party]
}

// meet notes when who is served comes upon messages that another has written.
func (p *parties) meet(e *entry) {
	p.met = p.met || e.party != p.now && e.level == prompt.LevelMessages
}

// root notes who sends a conversation of which nothing has been read yet. Those that
// begin with the same message may come to read each other.
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
