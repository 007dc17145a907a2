package promptcache

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// none is the id of no entry.
const none = int32(-1)

// never is later than every time of a run.
const never = int64(math.MaxInt64)

// state is what became of an entry apart from its TTL.
type state uint8

const (
	stateLive    state = iota
	stateEvicted       // lost inside its TTL
	stateDead          // replaced by a newer entry of its key, or known to have expired
)

// key is what two requests must share to read the same entry.
type key struct {
	chain   prompt.Digest
	space   uint64 // owner and model; the model alone for global entries
	variant uint32 // of the request's parameters; 0 for tools and system
	tier    uint8  // global or not, and the TTL class when it is part of the key
}

const (
	tierGlobal = 1 << iota
	tierKeyed5m
	tierKeyed1h
)

// hash spreads k over 64 bits. The chain is a hash already; the products keep
// owners, models and tiers of one chain apart.
func (k key) hash() uint64 {
	h := k.chain.Lo ^ (k.space+uint64(k.variant)<<48)*0x9e3779b97f4a7c15 ^ uint64(k.tier)*0xc2b2ae3d27d4eb4f
	h ^= h >> 32
	return h * 0xd6e8feb86659fd93
}

// entry is one cached prefix. Entries form a tree by prefix: parent is the
// entry that its writer had read, or had written just before it.
type entry struct {
	key
	ttl     exchange.TTL
	level   prompt.Level
	state   state
	ready   int64 // ns: when the writer's response began; never until then
	parent  int32
	lineage int32
	depth   int32 // entries before this one that its uses refresh
	deleted int32 // tokens deleted from its prefix when it was written
	shift   int32 // tokens it holds beyond the end of its prefix; negative when fewer
}

// keyAt returns the key of the prefix with a chain as request r would write it
// under a scope and TTL. Prefixes that end in messages belong to the variant of
// the request.
func (a *tree) keyAt(r *exchange.Request, chain prompt.Digest, s exchange.Scope, ttl exchange.TTL, level prompt.Level) key {
	k := key{chain: chain, space: uint64(r.Owner)<<32 | uint64(r.Model)}
	if level == prompt.LevelMessages {
		k.variant = r.Variant
	}
	if s == exchange.ScopeGlobal {
		k.space, k.tier = uint64(r.Model), tierGlobal
	}
	if a.cfg.TTLInKey {
		k.tier |= tierKeyed5m << ttl
	}
	return k
}

// alive reports whether an entry is in the cache at t: inside its TTL, or in
// use by a request in flight.
func (a *tree) alive(id int32, t int64) bool {
	e := &a.entries[id]
	if e.state != stateLive {
		return false
	}
	age := t - a.lastUse(e)
	return age <= int64(a.oldest[e.ttl]) || a.pinned(e) || a.within(age, e.ttl)
}

// insert adds an entry under k behind parent and points the table at it.
func (a *tree) insert(t int64, k key, parent int32, m *mark, deleted int32) int32 {
	id := int32(len(a.entries))
	a.entries = append(a.entries, entry{})
	e := &a.entries[id]
	e.key, e.ttl, e.level, e.ready, e.parent = k, m.TTL, m.level, never, parent
	e.deleted, e.shift = deleted, m.Shift
	if parent == none || a.cfg.NoPrefixRefresh {
		e.lineage = a.newLineage(none)
	} else {
		p := &a.entries[parent]
		if a.lineages[p.lineage].tip != parent {
			a.split(parent)
		}
		e.lineage, e.depth = p.lineage, p.depth+1
	}
	l := &a.lineages[e.lineage]
	l.tip = id
	l.short = l.short || m.TTL == exchange.TTL5m
	a.table.put(a.entries, k, id)
	a.use(id, t)
	return id
}

// slot is one place of the table: 32 bits of the key's hash, never zero when
// taken, and the entry.
type slot struct {
	tag uint32
	id  int32
}

// table finds entries by key: open addressing with linear probing, at most half
// full, a power of two in size. Nothing is removed from it but by rebuilding.
type table struct {
	slots []slot
	shift uint8
}

// minTable is the smallest number of slots.
const minTable = 256

// resize makes the table empty with n slots, a power of two, keeping storage
// that is large enough.
func (h *table) resize(n int) {
	if n <= cap(h.slots) {
		h.slots = h.slots[:n]
		clear(h.slots)
	} else {
		h.slots = make([]slot, n)
	}
	h.shift = 64
	for ; n > 1; n >>= 1 {
		h.shift--
	}
}

// find returns the entry with key k, or none.
func (h *table) find(entries []entry, k key) int32 {
	hash := k.hash()
	tag := uint32(hash) | 1
	mask := len(h.slots) - 1
	for i := int(hash >> (h.shift & 63)); ; i++ { // the mask spares a test for shifts of 64 and more
		s := &h.slots[i&mask]
		if s.tag == 0 {
			return none
		}
		if s.tag == tag && entries[s.id].key == k {
			return s.id
		}
	}
}

// put points key k at an entry, in place of the one it pointed at. entries
// must hold the earlier one.
func (h *table) put(entries []entry, k key, id int32) {
	hash := k.hash()
	tag := uint32(hash) | 1
	mask := len(h.slots) - 1
	for i := int(hash >> h.shift); ; i++ {
		s := &h.slots[i&mask]
		if s.tag == 0 || s.tag == tag && entries[s.id].key == k {
			*s = slot{tag, id}
			return
		}
	}
}

// mark is a marker that takes part: in range, in order and not below the
// minimum.
type mark struct {
	exchange.Marker
	level prompt.Level // of the marked entry
	new   bool         // the lookup found nothing under the marker's own key
}

// marks are the markers of one request that take part, in order of position.
type marks struct {
	at     [exchange.MaxMarkers]mark
	n      int
	global int32 // position of the last one with global scope, -1 for none
}

// collect fills m with the markers of r that take part, at most limit markers.
func (m *marks) collect(r *exchange.Request, limit int) {
	m.n, m.global = 0, -1
	last := int32(-1)
	for _, k := range r.Markers[:min(limit, len(r.Markers))] {
		if k.Position <= last || int(k.Position) >= len(r.Entries) {
			continue
		}
		last = k.Position
		e := &r.Entries[last]
		if e.Cum < r.MinTokens {
			continue
		}
		m.at[m.n] = mark{Marker: k, level: e.Kind.Level()}
		m.n++
		if k.Scope == exchange.ScopeGlobal {
			m.global = last
		}
	}
}

// last returns the last marker that takes part, or nil.
func (m *marks) last() *mark {
	if m.n == 0 {
		return nil
	}
	return &m.at[m.n-1]
}
