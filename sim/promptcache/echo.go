package promptcache

import "github.com/compactsim/compactsim/sim/prompt"

// Caches of one provider may be several, in lanes that work beside each other, when
// each party sends to one of them only: what stands ahead of messages is in all of
// them, the messages of a party in its own. A lane tells the others of each request
// that does not go ahead, by its Echo, which they Follow; of those that do it tells
// what they keep alive, by Kept, from time to time. The result is that of one cache
// when
//
//   - a request that Ahead does not let pass is sent when no lane will send anything
//     from before it, and all that others have told is followed;
//   - the floor of Serve is a time from before which no lane tells anything more;
//   - what a request has read lives on from its end (AnchorEnd), with all that stands
//     on its prefix;
//   - Meets finds no two that hold messages of one conversation.

// Echo is what a request has read and written ahead of messages.
type Echo struct {
	read    key
	party   uint32
	written [prompt.MaxMarkers]echoed
	reads   bool
	writes  int8
}

// echoed is an entry as a marker has asked for it.
type echoed struct {
	key   key
	ttl   prompt.TTL
	level prompt.Level
	shift int32
}

// Kept is an entry ahead of messages. The zero value is none.
type Kept struct {
	key key
	is  bool
}

// Echo returns what the request that Begin has served last has read and written
// ahead of messages; its ticket is still open.
func (a *Anthropic) Echo(ticket int32) Echo {
	e := Echo{party: a.parties.now}
	if id := a.headOf(a.hit); id != none {
		e.read, e.reads = a.entries[id].key, true
	}
	f := a.flight(ticket)
	if f == nil {
		return e
	}
	for _, id := range f.written[:f.writes] {
		if w := &a.entries[id]; w.level != prompt.LevelMessages {
			e.written[e.writes] = echoed{w.key, w.ttl, w.level, w.shift}
			e.writes++
		}
	}
	return e
}

// Kept returns what the request that Begin has served last keeps alive ahead of the
// messages it has read.
func (a *Anthropic) Kept() Kept {
	if id := a.headOf(a.hit); id != none {
		return Kept{a.entries[id].key, true}
	}
	return Kept{}
}

// headOf returns the last entry on the prefix of id that is ahead of messages and
// has not been replaced.
func (a *Anthropic) headOf(id int32) int32 {
	if id == none {
		return none
	}
	for id = a.entries[id].head; id != none && a.entries[id].state == stateDead; {
		id = a.entries[id].parent
	}
	return id
}

// Follow does at t what a request in another lane has done there, and returns a
// ticket for its first token and its end.
func (a *Anthropic) Follow(t int64, e *Echo) int32 {
	a.found.request = nil
	a.reserve(t, prompt.MaxMarkers)
	ticket := a.open()
	f, prev := &a.flights[ticket], none
	f.party = e.party
	if e.reads {
		prev = a.table.find(a.entries, e.read)
	}
	if prev != none {
		a.bury(prev, t)
		a.hold(f, prev)
	}
	for _, w := range e.written[:e.writes] {
		m := mark{prompt.Marker{TTL: w.ttl, Shift: w.shift}, w.level}
		prev = a.writeKey(t, w.key, prev, &m, 0, 0) // lanes have no capacity
		a.hold(f, prev)
		f.written[f.writes] = prev
		f.writes++
	}
	for _, id := range f.held[:f.holds] {
		a.use(id, t)
	}
	return ticket
}

// Keep marks what a request in another lane has kept alive as used at t.
func (a *Anthropic) Keep(t int64, k Kept) {
	if !k.is {
		return
	}
	a.found.request = nil
	if id := a.table.find(a.entries, k.key); id != none {
		a.use(id, t)
	}
}

// Meets reports whether a party of one lane has begun a conversation that one of the
// other has begun as well.
func (a *Anthropic) Meets(b *Anthropic) bool {
	for chain, party := range a.parties.roots {
		if other, ok := b.parties.roots[chain]; ok && other != party {
			return true
		}
	}
	return false
}
