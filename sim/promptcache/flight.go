package promptcache

import "github.com/compactsim/compactsim/sim/prompt"

// flight is a request between Begin and End.
type flight struct {
	held      [prompt.MaxMarkers + 1]int32 // entries whose prefixes it uses
	written   [prompt.MaxMarkers]int32     // entries that its response makes readable
	effective int64                        // input tokens after deletions
	party     uint32                       // who sent it, see Serve
	holds     int8
	writes    int8
	open      bool
}

// open returns the number of a new flight.
func (a *Anthropic) open() int32 {
	if n := len(a.free); n > 0 {
		i := a.free[n-1]
		a.free = a.free[:n-1]
		a.flights[i] = flight{open: true, party: a.parties.now}
		return i
	}
	a.flights = append(a.flights, flight{open: true, party: a.parties.now})
	return int32(len(a.flights) - 1)
}

// flight returns an open flight, or nil.
func (a *Anthropic) flight(ticket int32) *flight {
	if ticket < 0 || int(ticket) >= len(a.flights) || !a.flights[ticket].open {
		return nil
	}
	return &a.flights[ticket]
}

// hold makes a flight use an entry. An entry behind the one held last stands
// for both, unless each has to be refreshed by itself.
func (a *Anthropic) hold(f *flight, id int32) {
	if n := f.holds; n > 0 && a.entries[id].parent == f.held[n-1] && !a.cfg.NoPrefixRefresh {
		f.held[n-1] = id
		return
	}
	f.held[f.holds] = id
	f.holds++
}

// store writes the entries of a request behind its hit and refreshes what it
// uses.
func (a *Anthropic) store(t int64, r *prompt.Request, m *marks, h hit, b *bill, ticket int32) {
	f, prev := &a.flights[ticket], h.id
	if a.room != nil {
		a.room.openPins(ticket)
	}
	if prev != none {
		a.bury(prev, t)
		a.hold(f, prev)
		if a.room != nil {
			a.room.pin(ticket, prev)
		}
	}
	for i := range m.at[:m.n] {
		k := &m.at[i]
		if k.Position <= h.pos {
			continue
		}
		prev = a.write(t, r, k, prev, a.deletedAt(r, b, h, k.Position))
		a.hold(f, prev)
		if a.room != nil {
			a.room.pin(ticket, prev)
		}
		f.written[f.writes] = prev
		f.writes++
	}
	for _, id := range f.held[:f.holds] {
		a.use(id, t)
	}
}

// withhold makes the entry at the last marker hold fewer tokens than its prefix
// has, as the request says of it.
func (a *Anthropic) withhold(r *prompt.Request, m *marks, f *flight) {
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
func (a *Anthropic) write(t int64, r *prompt.Request, m *mark, parent int32, deleted int64) int32 {
	k := a.keyAt(r, r.Entries[m.Position].Chain, m.Scope, m.TTL, m.level)
	return a.writeKey(t, k, parent, m, deleted, cum(r, m.Position)+int64(m.Shift)-deleted)
}

// writeKey stores a prefix of so many tokens under k.
func (a *Anthropic) writeKey(t int64, k key, parent int32, m *mark, deleted, size int64) int32 {
	if id := a.table.find(a.entries, k); id != none {
		e := &a.entries[id]
		a.parties.meet(e)
		if a.alive(id, t) {
			a.bury(id, t)
			e.ttl = max(e.ttl, m.TTL)
			return id
		}
		e.state = stateDead
		if a.room != nil {
			a.release(id)
		}
	}
	id := a.insert(t, k, parent, m, int32(deleted))
	if a.room != nil {
		a.admit(t, id, size)
	}
	return id
}
