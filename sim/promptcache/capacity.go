package promptcache

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// room is what a cache with a capacity keeps of its entries. An entry occupies
// the tokens it holds beyond its prefix in the tree of entries, so a prefix that
// was read is stored once; one that has expired or was lost stays stored while
// something depends on it. Entries that a request in flight has read or written
// are pinned; what stands in front of a pinned one is no leaf.
type room struct {
	capacity int64                          // tokens
	used     int64                          // tokens of what is stored
	places   []place                        // by entry
	leaves   [2]leafHeap                    // by TTL class: what is stored, not pinned, and no prefix
	pins     [][prompt.MaxMarkers + 1]int32 // by ticket: the entries it pins, then none
}

// place is what one entry occupies.
type place struct {
	size     int64 // tokens of its whole prefix
	own      int64 // tokens of these beyond those of its parent
	children int32 // stored entries of which it is the parent
	pins     int32 // requests in flight that have read or written it, or a lost one behind it
	stored   bool
	queued   bool // it is in one of room.leaves
}

// newRoom returns the room of an empty cache, nil without a capacity.
func newRoom(capacity int64) *room {
	if capacity <= 0 {
		return nil
	}
	return &room{capacity: capacity}
}

func (m *room) reset() {
	*m = room{
		capacity: m.capacity, places: m.places[:0], pins: m.pins[:0],
		leaves: [2]leafHeap{m.leaves[0][:0], m.leaves[1][:0]},
	}
}

func (m *room) clone() *room {
	if m == nil {
		return nil
	}
	c := *m
	c.places, c.pins = slices.Clone(m.places), slices.Clone(m.pins)
	for i := range m.leaves {
		c.leaves[i] = slices.Clone(m.leaves[i])
	}
	return &c
}

// Stored returns the tokens that the entries of a cache with a capacity occupy:
// at most Config.Capacity after every call. Entries that have expired count
// until their place is needed. It is 0 without a capacity.
func (a *Anthropic) Stored() int64 {
	if a.room == nil {
		return 0
	}
	return a.room.used
}

// admit stores the entry that was inserted last, if it fits beside what requests
// in flight use; else it is lost at once.
func (a *Anthropic) admit(t int64, id int32, size int64) {
	m := a.room
	m.places = append(m.places, place{size: size, own: size})
	p := &m.places[id]
	parent := a.entries[id].parent
	fits := size <= m.capacity
	if parent != none {
		p.own = max(0, size-m.places[parent].size)
		fits = fits && m.places[parent].stored
	}
	if !fits || !a.makeRoom(t, p.own) {
		a.entries[id].state = stateEvicted
		return
	}
	p.stored = true
	m.used += p.own
	if parent != none {
		m.places[parent].children++
	}
}

// makeRoom frees what is needed for that many tokens, and reports whether they
// fit now: first what has expired, then the least recently used, from the end of
// a path to its front. What is lost may bare a prefix that expired before it.
func (a *Anthropic) makeRoom(t, tokens int64) bool {
	m := a.room
	for m.used+tokens > m.capacity {
		if a.dropExpired(t) {
			continue
		}
		l := a.leastRecent()
		if l.id == none {
			return false
		}
		a.entries[l.id].state = stateEvicted
		a.release(l.id)
	}
	return true
}

// dropExpired frees what has expired and is no prefix of what has not, and
// reports whether there was any.
func (a *Anthropic) dropExpired(t int64) (dropped bool) {
	for again := true; again; {
		again = false
		for ttl := prompt.TTL5m; ttl <= prompt.TTL1h; ttl++ {
			l := a.front(ttl)
			if l.id != none && !a.within(t-l.at, ttl) {
				a.entries[l.id].state = stateDead
				a.release(l.id)
				again, dropped = true, true
			}
		}
	}
	return dropped
}

// leastRecent returns the leaf whose last use is longest ago.
func (a *Anthropic) leastRecent() leaf {
	short, long := a.front(prompt.TTL5m), a.front(prompt.TTL1h)
	if short.id == none || long.id != none && long.before(short) {
		return long
	}
	return short
}

// front returns the least recently used leaf of a TTL class, with the time of
// its last use; its id is none when there is none.
func (a *Anthropic) front(ttl prompt.TTL) leaf {
	m := a.room
	h := &m.leaves[ttl]
	for len(*h) > 0 {
		l := (*h)[0]
		p, e := &m.places[l.id], &a.entries[l.id]
		switch last := a.lastUse(e); {
		case !p.stored || p.children > 0 || p.pins > 0:
			p.queued = false
			h.pop()
		case e.ttl != ttl:
			h.pop()
			m.leaves[e.ttl].push(l)
		case last > l.at:
			(*h)[0].at = last
			h.sink()
		default:
			return l
		}
	}
	return leaf{id: none}
}

// release frees the place of an entry that is no longer in the cache once nothing
// stands on it, and then those of its prefixes for which the same holds.
func (a *Anthropic) release(id int32) {
	m := a.room
	for id != none {
		p := &m.places[id]
		if !p.stored || p.children > 0 || a.entries[id].state == stateLive {
			a.queue(id)
			return
		}
		p.stored = false
		m.used -= p.own
		parent := a.entries[id].parent
		m.passPins(id, parent)
		if id = parent; id != none {
			m.places[id].children--
		}
	}
}

// passPins makes requests in flight that pin an entry without a place pin its
// parent instead: they have read that prefix too, and nothing on it keeps it
// any more.
func (m *room) passPins(id, parent int32) {
	n := m.places[id].pins
	if n == 0 {
		return
	}
	for i := range m.pins {
		for j, pinned := range m.pins[i] {
			if pinned == id {
				m.pins[i][j] = parent
			}
		}
	}
	m.places[id].pins = 0
	if parent != none {
		m.places[parent].pins += n
	}
}

// queue lines a stored entry up for eviction if nothing stands on it and no
// request in flight uses it.
func (a *Anthropic) queue(id int32) {
	m := a.room
	p, e := &m.places[id], &a.entries[id]
	if p.stored && p.children == 0 && p.pins == 0 && !p.queued {
		p.queued = true
		m.leaves[e.ttl].push(leaf{a.lastUse(e), id})
	}
}

// openPins makes a ticket pin nothing yet.
func (m *room) openPins(ticket int32) {
	for int(ticket) >= len(m.pins) {
		m.pins = append(m.pins, [prompt.MaxMarkers + 1]int32{})
	}
	for i := range m.pins[ticket] {
		m.pins[ticket][i] = none
	}
}

// pin keeps a stored entry from eviction until its request ends.
func (m *room) pin(ticket, id int32) {
	if !m.places[id].stored {
		return
	}
	m.places[id].pins++
	for i, free := range m.pins[ticket] {
		if free == none {
			m.pins[ticket][i] = id
			return
		}
	}
}

// unpin ends what a request keeps from eviction.
func (a *Anthropic) unpin(ticket int32) {
	m := a.room
	for i, id := range m.pins[ticket] {
		if id != none {
			m.places[id].pins--
			m.pins[ticket][i] = none
			a.queue(id)
		}
	}
}

// compactRoom follows the renumbering of entries. All that was dropped had
// expired, and dropExpired has freed its place.
func (a *Anthropic) compactRoom() {
	m := a.room
	n := 0
	for id, to := range a.remap {
		if to != none {
			m.places[n] = m.places[id]
			m.places[n].queued = false
			n++
		}
	}
	m.places = m.places[:n]
	for i := range m.pins {
		for j, id := range m.pins[i] {
			if id != none {
				m.pins[i][j] = a.remap[id]
			}
		}
	}
	for i := range m.leaves {
		m.leaves[i] = m.leaves[i][:0]
	}
	for id := range m.places {
		a.queue(int32(id))
	}
}

// reserve makes room for the entries of one more request. A full table is swept
// of what has expired and grows if that frees less than half, so both cost a
// constant per entry written.
func (a *Anthropic) reserve(t int64, n int) {
	if len(a.entries)+n > len(a.table.slots)/2 {
		a.sweep(min(t, a.parties.from()), n)
	}
}

// sweep drops what has expired and leaves a table at most a quarter full with n
// more entries.
func (a *Anthropic) sweep(t int64, n int) {
	if a.room != nil {
		a.dropExpired(t)
	}
	kept := a.markKept(t)
	size := len(a.table.slots)
	for kept+n > size/4 {
		size *= 2
	}
	a.compact()
	a.table.resize(size)
	for id := range a.entries {
		if e := &a.entries[id]; e.state != stateDead {
			a.table.put(a.entries, e.key, int32(id))
		}
	}
}

// markKept notes in a.remap which entries stay (0, else none): those inside their
// TTL, those a request in flight holds, and all on their prefixes. It returns
// their number.
func (a *Anthropic) markKept(t int64) int {
	a.remap = a.remap[:0]
	for range a.entries {
		a.remap = append(a.remap, none)
	}
	kept := 0
	keep := func(id int32) {
		for ; id != none && a.remap[id] == none; id = a.entries[id].parent {
			a.remap[id] = 0
			kept++
		}
	}
	for i := range a.flights {
		f := &a.flights[i]
		for _, id := range f.held[:f.holds] {
			keep(id)
		}
		for _, id := range f.written[:f.writes] {
			keep(id)
		}
	}
	for id := range a.entries {
		e := &a.entries[id]
		if e.state != stateDead && !a.parties.gone(e) && t-a.lastUse(e) <= a.cfg.Lifetime[e.ttl] {
			keep(int32(id))
		}
	}
	return kept
}

// compact drops the entries that markKept did not keep and renumbers the rest in
// order, so that a parent still comes before its children.
func (a *Anthropic) compact() {
	for i := range a.lineages {
		a.lineages[i].tip = none
	}
	n := int32(0)
	for id := range a.entries {
		if a.remap[id] == none {
			continue
		}
		a.remap[id] = n
		e := &a.entries[n]
		*e = a.entries[id]
		if e.parent != none {
			e.parent = a.remap[e.parent]
		}
		a.lineages[e.lineage].tip = n
		n++
	}
	a.entries = a.entries[:n]
	a.compactLineages()
	if a.room != nil {
		a.compactRoom()
	}
	for i := range a.flights {
		f := &a.flights[i]
		for j := range f.held[:f.holds] {
			f.held[j] = a.remap[f.held[j]]
		}
		for j := range f.written[:f.writes] {
			f.written[j] = a.remap[f.written[j]]
		}
	}
}

// compactLineages drops the lineages without entries. Swapping keeps the
// storage of the dropped ones for later.
func (a *Anthropic) compactLineages() {
	n := int32(0)
	a.relined = a.relined[:0]
	for i := range a.lineages {
		a.relined = append(a.relined, n)
		if a.lineages[i].tip == none {
			continue
		}
		if b := a.lineages[i].base; b != none {
			a.lineages[i].base = a.remap[b]
		}
		a.lineages[i].end(a.entries[a.lineages[i].tip].depth)
		a.lineages[i], a.lineages[n] = a.lineages[n], a.lineages[i]
		n++
	}
	a.lineages = a.lineages[:n]
	for id := range a.entries {
		e := &a.entries[id]
		e.lineage = a.relined[e.lineage]
	}
}
