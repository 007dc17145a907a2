package promptcache

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// thread is what the server remembers of a conversation to distinguish a miss from a
// cold start: the prefix its last request left in the cache.
type thread struct {
	chain   prompt.Digest
	cum     int64 // tokens of the prefix before deletions
	deleted int64 // tokens deleted from it
	applied int64 // tokens deleted from the whole of the last request
	total   int64 // tokens ever deleted
	owner   uint32
	model   uint32
	variant uint32
	pos     int32 // index of its last entry
	cuts    int32 // 1 + index of what its deletions come to, 0 for none yet
	ttl     exchange.TTL
	level   prompt.Level // of its last entry
	left    bool         // there is such a prefix
}

// thread returns the state of a conversation.
func (a *Anthropic) thread(id uint32) *thread {
	if a.recent.at > 0 && a.recent.id == id {
		return &a.threads[a.recent.at-1]
	}
	i, ok := a.byThread[id]
	if !ok {
		if n := len(a.unused); n > 0 {
			i, a.unused = a.unused[n-1], a.unused[:n-1]
		} else {
			i = int32(len(a.threads))
			a.threads = append(a.threads, thread{})
		}
		a.byThread[id] = i
	}
	a.recent.id, a.recent.at = id, i+1
	return &a.threads[i]
}

// forget drops the state of a conversation. Its gathering of deletions stays with the
// state's place, for the next conversation there.
func (a *Anthropic) forget(id uint32) {
	i := a.byThread[id]
	delete(a.byThread, id)
	a.recent.at = 0
	cuts := a.threads[i].cuts
	if cuts > 0 {
		a.gatherings[cuts-1] = gathering{cuts: a.gatherings[cuts-1].cuts[:0]}
	}
	a.threads[i] = thread{cuts: cuts}
	a.unused = append(a.unused, i)
}

// moved reports whether r no longer starts with the prefix the thread left, and
// the class of a miss that follows from it.
func (th *thread) moved(r *exchange.Request) (exchange.MissClass, bool) {
	if r.Model != th.model {
		return exchange.MissModel, true
	}
	if r.Change.At >= 0 && r.Change.At <= th.pos {
		return missOf(r.Change.Cause), true
	}
	switch {
	case r.Owner != th.owner:
		return exchange.MissHead, true
	case r.Variant != th.variant && int(th.pos) < len(r.Entries) && r.Entries[th.pos].Kind.Level() == prompt.LevelMessages:
		return exchange.MissHead, true
	case int(th.pos) >= len(r.Entries):
		return exchange.MissRewind, true
	case r.Entries[th.pos].Chain != th.chain:
		return exchange.MissEdit, true
	}
	return exchange.MissNone, false
}

// missOf returns the class of a miss that a change of the prefix caused.
func missOf(c prompt.EditCause) exchange.MissClass {
	switch c {
	case prompt.CauseCompaction:
		return exchange.MissCompaction
	case prompt.CauseRewind:
		return exchange.MissRewind
	case prompt.CauseHead:
		return exchange.MissHead
	}
	return exchange.MissEdit
}

// classify fills in what the thread would have read of the prefix it left, and
// why it did not. A prefix that the client changed itself still counts: what it
// cost is a re-write that the edit, compaction or rewind caused.
func (a *Anthropic) classify(t int64, r *exchange.Request, m *marks, h hit, th *thread, out *exchange.Outcome) {
	if !th.left {
		return
	}
	class, moved := th.moved(r)
	if (class == exchange.MissEdit || class == exchange.MissHead) && a.gone(t, th) {
		class = exchange.MissExpiry // it would have missed without the change
	}
	deleted := th.deleted
	if !moved {
		deleted = max(deleted, a.declared(-1, th.pos))
	}
	out.Expected = th.cum - deleted
	if !moved && h.pos >= th.pos {
		// What was read includes the prefix. Another thread may have deleted
		// more from it than this one knows.
		out.Expected = min(out.Expected, out.Usage.Read)
	}
	if out.Usage.Read >= out.Expected {
		return
	}
	out.Miss = class
	if !moved {
		out.Miss = a.unread(t, r, m, th)
	}
}

// gone reports whether the prefix a thread left has outlived its lifetime.
func (a *tree) gone(t int64, th *thread) bool {
	last := exchange.Request{Owner: th.owner, Model: th.model, Variant: th.variant}
	for _, scope := range [...]exchange.Scope{exchange.ScopeOrg, exchange.ScopeGlobal} {
		_, v := a.probe(t, a.keyAt(&last, th.chain, scope, th.ttl, th.level))
		if v > expired {
			return false
		}
	}
	return true
}

// unread returns why the prefix a thread left was not read though the request
// starts with it.
func (a *tree) unread(t int64, r *exchange.Request, m *marks, th *thread) exchange.MissClass {
	if th.cum < int64(r.MinTokens) {
		return exchange.MissMinimum
	}
	_, v := a.probe(t, a.keyAt(r, th.chain, exchange.ScopeOrg, th.ttl, r.Entries[th.pos].Kind.Level()))
	_, g := a.probe(t, a.keyAt(r, th.chain, exchange.ScopeGlobal, th.ttl, r.Entries[th.pos].Kind.Level()))
	switch max(v, g) {
	case evicted:
		return exchange.MissEviction
	case notReadable:
		return exchange.MissNotReadable
	case absent, expired:
		return exchange.MissExpiry
	}
	k := m.last()
	otherTTL := a.cfg.TTLInKey && k != nil && k.TTL != th.ttl
	if otherTTL || v != found && th.pos > m.global {
		return exchange.MissHead
	}
	return exchange.MissLookback
}

// leave remembers the prefix that a request leaves in the cache.
func (a *Anthropic) leave(r *exchange.Request, m *marks, h hit, b *bill, th *thread) {
	th.total += max(0, b.deleted-th.applied)
	th.applied = b.deleted
	k := m.last()
	if k == nil {
		if _, moved := th.moved(r); moved {
			th.left = false
		}
		return
	}
	e := &r.Entries[k.Position]
	th.chain, th.cum, th.pos = e.Chain, int64(e.Cum)+int64(k.Shift)-int64(r.Unheld), k.Position
	th.deleted, th.level = a.deletedAt(b, h, k.Position), k.level
	th.owner, th.model, th.variant, th.ttl = r.Owner, r.Model, r.Variant, k.TTL
	th.left = true
}

// flight is a request between Begin and End.
type flight struct {
	held    [exchange.MaxMarkers + 1]int32 // entries whose prefixes it uses
	written [exchange.MaxMarkers]int32     // entries that its response makes readable
	holds   int8
	writes  int8
	open    bool
}

// open returns the number of a new flight.
func (a *tree) open() int32 {
	if n := len(a.free); n > 0 {
		i := a.free[n-1]
		a.free = a.free[:n-1]
		a.flights[i] = flight{open: true}
		return i
	}
	a.flights = append(a.flights, flight{open: true})
	return int32(len(a.flights) - 1)
}

// flight returns an open flight, or nil.
func (a *tree) flight(ticket int32) *flight {
	if ticket < 0 || int(ticket) >= len(a.flights) || !a.flights[ticket].open {
		return nil
	}
	return &a.flights[ticket]
}

// hold makes a flight use an entry. An entry behind the one held last stands
// for both, unless each has to be refreshed by itself.
func (a *tree) hold(f *flight, id int32) {
	if n := f.holds; n > 0 && a.entries[id].parent == f.held[n-1] && !a.cfg.NoPrefixRefresh {
		f.held[n-1] = id
		return
	}
	f.held[f.holds] = id
	f.holds++
}

// store writes the entries of a request behind its hit and refreshes what it
// uses.
func (a *Anthropic) store(t int64, r *exchange.Request, m *marks, h hit, b *bill, ticket int32) {
	f, prev := &a.flights[ticket], h.id
	if prev != none {
		a.bury(prev, t)
		a.hold(f, prev)
	}
	for i := range m.at[:m.n] {
		k := &m.at[i]
		if k.Position <= h.pos {
			continue
		}
		prev = a.write(t, r, k, prev, a.deletedAt(b, h, k.Position))
		a.hold(f, prev)
		f.written[f.writes] = prev
		f.writes++
	}
	for _, id := range f.held[:f.holds] {
		a.use(id, t)
	}
}

// withhold makes the entry at the last marker hold fewer tokens than its prefix
// has, as the request says.
func (a *tree) withhold(r *exchange.Request, m *marks, f *flight) {
	if r.Unheld == 0 || f.writes == 0 || m.n == 0 {
		return
	}
	e := &a.entries[f.written[f.writes-1]]
	if e.chain == r.Entries[m.at[m.n-1].Position].Chain {
		e.shift = m.at[m.n-1].Shift - r.Unheld
	}
}

// write stores the prefix at a marker behind parent. When another request is
// writing the same prefix at this moment both pay, the entry is shared, lives
// for the longer of the two TTLs and is readable from the first response.
func (a *tree) write(t int64, r *exchange.Request, m *mark, parent int32, deleted int64) int32 {
	k := a.keyAt(r, r.Entries[m.Position].Chain, m.Scope, m.TTL, m.level)
	if !m.new {
		if id, alive := a.rewrite(t, k, m.TTL); alive {
			return id
		}
	}
	return a.insert(t, k, parent, m, int32(deleted))
}

// rewrite returns the entry of a key if it is alive; one that is not gives way.
func (a *tree) rewrite(t int64, k key, ttl exchange.TTL) (id int32, alive bool) {
	if id = a.table.find(a.entries, k); id == none {
		return none, false
	}
	e := &a.entries[id]
	if a.alive(id, t) {
		a.bury(id, t)
		e.ttl = max(e.ttl, ttl)
		return id, true
	}
	e.state = stateDead
	return none, false
}
