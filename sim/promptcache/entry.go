package promptcache

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
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
// entry that its writer had read, or had written just in front of it.
type entry struct {
	key
	ttl     prompt.TTL
	level   prompt.Level
	state   state
	ready   int64 // ns: when the writer's response began; never until then
	parent  int32
	head    int32 // last entry on its prefix, itself included, that is ahead of messages, or none
	lineage int32
	depth   int32  // entries in front of it that its uses refresh
	deleted int32  // tokens deleted from its prefix when it was written
	shift   int32  // tokens it holds beyond the end of its prefix; negative when fewer
	party   uint32 // who wrote it, see Serve
	readyBy uint32 // whose response began at ready; of several at once the first party's
}

// keyAt returns the key of the prefix with a chain as request r would write it
// under a scope and TTL. Prefixes that end in messages belong to the variant of
// the request.
func (a *Anthropic) keyAt(r *prompt.Request, chain prompt.Digest, s prompt.Scope, ttl prompt.TTL, level prompt.Level) key {
	k := key{chain: chain, space: uint64(r.Owner)<<32 | uint64(r.Model)}
	if level == prompt.LevelMessages {
		k.variant = r.Variant
	}
	if s == prompt.ScopeGlobal {
		k.space, k.tier = uint64(r.Model), tierGlobal
	}
	if a.cfg.TTLInKey {
		k.tier |= tierKeyed5m << ttl
	}
	return k
}

// alive reports whether an entry is in the cache at t: inside its TTL, or in
// use by a request in flight.
func (a *Anthropic) alive(id int32, t int64) bool {
	e := &a.entries[id]
	if e.state != stateLive {
		return false
	}
	return t-a.lastUse(e) <= a.cfg.Lifetime[e.ttl] || a.pinned(e)
}

// insert adds an entry under k behind parent and points the table at it.
func (a *Anthropic) insert(t int64, k key, parent int32, m *mark, deleted int32) int32 {
	id := int32(len(a.entries))
	e := entry{key: k, ttl: m.TTL, level: m.level, ready: never, parent: parent, deleted: deleted, shift: m.Shift, party: a.parties.now, head: id}
	if m.level == prompt.LevelMessages {
		e.head = none
		if parent != none {
			e.head = a.entries[parent].head
		}
	}
	if parent == none || a.cfg.NoPrefixRefresh {
		e.lineage = a.newLineage(none)
	} else {
		p := &a.entries[parent]
		if a.lineages[p.lineage].tip != parent {
			a.split(parent)
		}
		e.lineage, e.depth = p.lineage, p.depth+1
	}
	a.entries = append(a.entries, e)
	l := &a.lineages[e.lineage]
	l.tip = id
	l.short = l.short || m.TTL == prompt.TTL5m
	a.table.put(a.entries, k, id)
	a.use(id, t)
	return id
}
