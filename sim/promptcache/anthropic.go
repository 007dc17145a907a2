package promptcache

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Anthropic is the prompt cache of one provider for all owners and models that
// share a clock. Use New.
type Anthropic struct {
	tree
	threads  []thread
	byThread map[uint32]int32
	recent   struct { // the thread asked for last
		id uint32
		at int32 // 1 + its index, 0 for none
	}
	unused []int32 // threads that are forgotten
	// gatherings are the deletions of threads that declare some; once is for a thread's first, and
	// cuts are the deletions of the request under way.
	gatherings []gathering
	once       gathering
	cuts       []cut
}

// tree is what the server keeps of requests: their prefixes, from which each goes on, and the calls under way that hold some. It
// keeps no conversation.
type tree struct {
	cfg      settings
	table    table
	entries  []entry
	lineages []lineage
	flights  []flight
	free     []int32 // flights that are not open
	remap    []int32 // scratch of the sweep: new ids of entries
	relined  []int32 // scratch of the sweep: new indices of lineages
	oldest   Lifetimes
}

// New returns an empty cache. Counts of cfg that are out of range count as zero.
func New(cfg Config) *Anthropic {
	a := &Anthropic{tree: tree{cfg: cfg.settings()}, byThread: map[uint32]int32{}}
	a.table.resize(minTable)
	return a
}

// Reset empties the cache and forgets every thread and request in flight,
// keeping its storage.
func (a *Anthropic) Reset() {
	a.table.resize(minTable)
	a.entries = a.entries[:0]
	a.lineages = a.lineages[:0]
	a.flights, a.free = a.flights[:0], a.free[:0]
	a.threads, a.gatherings = a.threads[:0], a.gatherings[:0]
	clear(a.byThread)
	a.recent.at = 0
	a.unused = a.unused[:0]
	a.oldest = Lifetimes{}
}

// Lifetimes are the lifetimes of entries by TTL class.
type Lifetimes [2]time.Duration

// Within reports whether no lifetime of l is longer than o's.
func (l Lifetimes) Within(o Lifetimes) bool {
	return l[exchange.TTL5m] <= o[exchange.TTL5m] && l[exchange.TTL1h] <= o[exchange.TTL1h]
}

// Live sets the lifetimes of entries, before the first request. A lifetime of 0 stays as in the Config.
func (a *Anthropic) Live(l Lifetimes) {
	for class, life := range l {
		if life != 0 {
			a.cfg.Lifetime[class] = int64(life)
		}
	}
}

// Oldest returns for each class the greatest age, since its last use, at which an entry has counted as alive. The
// cache would have done the same under any lifetimes from these ages to its own.
func (a *Anthropic) Oldest() Lifetimes { return a.oldest }

// within reports whether entries of a class are alive at an age, ns.
func (a *tree) within(age int64, class exchange.TTL) bool {
	if age > a.cfg.Lifetime[class] {
		return false
	}
	a.oldest[class] = max(a.oldest[class], time.Duration(age))
	return true
}

// Clone returns an independent copy, requests in flight included: their tickets
// are valid in both.
func (a *Anthropic) Clone() *Anthropic {
	c := &Anthropic{}
	c.CopyFrom(a)
	return c
}

// CopyFrom makes a a copy of another cache as Clone does, keeping a's storage.
func (a *Anthropic) CopyFrom(o *Anthropic) {
	c := *o
	c.table.slots = append(a.table.slots[:0], o.table.slots...)
	c.entries = append(a.entries[:0], o.entries...)
	c.lineages = a.lineages[:cap(a.lineages)]
	for len(c.lineages) < len(o.lineages) {
		c.lineages = append(c.lineages, lineage{})
	}
	c.lineages = c.lineages[:len(o.lineages)]
	for i := range c.lineages {
		uses := c.lineages[i].uses[:0]
		c.lineages[i] = o.lineages[i]
		c.lineages[i].uses = append(uses, o.lineages[i].uses...)
	}
	c.flights, c.free = append(a.flights[:0], o.flights...), append(a.free[:0], o.free...)
	c.threads, c.unused = append(a.threads[:0], o.threads...), append(a.unused[:0], o.unused...)
	c.byThread = copyInto(a.byThread, o.byThread)
	c.gatherings, c.once, c.cuts = cloneGatherings(o.gatherings), gathering{}, nil
	c.remap, c.relined = a.remap[:0], a.relined[:0]
	*a = c
}

// Begin serves the input of a request that arrives at t, in nanoseconds, and
// returns how. The ticket of the outcome names the request until End.
//
// Read + Write5m + Write1h + Uncached are the effective tokens of the request, which
// Effective returns: Tokens less the deletions in force.
//
// Expected is the prefix that the thread's previous request left, through its
// last marker, less what has been deleted from it; it is 0 on the first request
// of a thread, and when no marker of an earlier one reached the minimum. A
// prefix that the client itself changed since is expected all the same, so that
// a shortfall is classed by its cause: Miss is MissNone if and only if nothing
// is short. A compaction or rewind in front of the end of that prefix names the
// class even if the entry had expired as well; an edit or another head does not,
// as without it the call would have missed all the same.
//
// Deleted is the sum of all tokens ever deleted from the thread's requests. It
// does not fall when deleted content comes back after an expiry, and rises
// again when that is deleted anew.
//
// A request that Validate refuses is served all the same: markers out of range,
// out of order or too many are left out, deletions likewise, and a 5m marker in
// front of a 1h one is billed as 1h.
func (a *Anthropic) Begin(t int64, r *exchange.Request) (out exchange.Outcome) {
	a.reserve(t, exchange.MaxMarkers)
	var m marks
	m.collect(r, a.cfg.MaxMarkers)
	h := a.lookup(t, r, &m)
	th := a.thread(r.Thread)
	if a.cuts = nil; len(r.Deletions) > 0 {
		a.gather(r, th)
	}
	if a.evicts(r) {
		h = a.evict(t, r, &m, h)
	}
	var b bill
	a.bill(r, &m, h, &b)
	out.Usage, out.HitAt = b.usage, h.pos

	a.classify(t, r, &m, h, th, &out)
	a.leave(r, &m, h, &b, th)
	out.Deleted = th.total
	if r.Last {
		a.forget(r.Thread)
	}

	out.Ticket = a.open()
	f := &a.flights[out.Ticket]
	out.Effective = b.usage.Input()
	a.store(t, r, &m, h, &b, out.Ticket)
	a.withhold(r, &m, f)
	return out
}

// FirstToken records that the response of a request begins at t, a time that may
// lie ahead: what it wrote is readable from then on. An unknown ticket is ignored.
func (a *Anthropic) FirstToken(t int64, ticket int32) {
	f := a.flight(ticket)
	if f == nil {
		return
	}
	for _, id := range f.written[:f.writes] {
		a.entries[id].ready = min(a.entries[id].ready, t)
	}
}

// End records that the response of a request ended at t, with that many
// output tokens, which are not cached before a request sends them back. A
// request that ends without FirstToken has failed: what it wrote stays
// unreadable. The ticket becomes free; an unknown one is ignored.
func (a *Anthropic) End(t int64, ticket int32, output int64) {
	f := a.flight(ticket)
	if f == nil {
		return
	}
	if a.cfg.Anchor == anchorEnd {
		for _, id := range f.held[:f.holds] {
			a.use(id, t)
		}
	}
	*f = flight{}
	a.free = append(a.free, ticket)
}

// reserve makes way for the entries of one more request. A full table is swept
// of what has expired and grows if that frees less than half, so both cost a
// constant per entry written.
func (a *tree) reserve(t int64, n int) {
	if len(a.entries)+n > len(a.table.slots)/2 {
		a.sweep(t, n)
	}
}

// sweep drops what has expired and leaves a table at most a quarter full with n
// more entries.
func (a *tree) sweep(t int64, n int) {
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
func (a *tree) markKept(t int64) int {
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
		if e.state != stateDead && t-a.lastUse(e) <= a.cfg.Lifetime[e.ttl] {
			keep(int32(id))
		}
	}
	return kept
}

// compact drops the entries that markKept did not keep and renumbers the rest in
// order, so that a parent still comes before its children.
func (a *tree) compact() {
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
func (a *tree) compactLineages() {
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
		a.lineages[i], a.lineages[n] = a.lineages[n], a.lineages[i]
		n++
	}
	a.lineages = a.lineages[:n]
	for id := range a.entries {
		e := &a.entries[id]
		e.lineage = a.relined[e.lineage]
	}
}
