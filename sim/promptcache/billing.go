package promptcache

import "github.com/compactsim/compactsim/sim/prompt"

// bill is the input of one request by class, and what was deleted from it.
type bill struct {
	usage   prompt.Usage
	inHit   int64 // tokens deleted from the prefix that is read
	deleted int64 // tokens deleted from the whole request
}

// bill splits the input of r by the positions of the provider's page: A is the
// end of the hit, B the last 1h marker behind it, else A, and C the last
// marker. A is read, A to B written for 1h, B to C for 5m; the rest is plain.
func (a *Anthropic) bill(r *prompt.Request, m *marks, h hit) bill {
	end := int32(len(r.Entries)) - 1
	posB, posC := h.pos, h.pos
	for k := range m.at[:m.n] {
		if p := m.at[k].Position; p > h.pos {
			posC = p
			if m.at[k].TTL == prompt.TTL1h {
				posB = p
			}
		}
	}
	var b bill
	b.inHit = a.deletedThrough(r, h)
	b.usage.Read = cum(r, h.pos) - b.inHit
	b.usage.Write1h = a.fresh(r, h.pos, posB)
	b.usage.Write5m = a.fresh(r, posB, posC)
	b.usage.Uncached = a.fresh(r, posC, end) + int64(r.Tail)
	b.deleted = r.Tokens() - b.usage.Input()
	return b
}

// cum returns the tokens of r through a position, 0 for -1.
func cum(r *prompt.Request, pos int32) int64 {
	if pos < 0 {
		return 0
	}
	return int64(r.Entries[pos].Cum)
}

// fresh returns the tokens of r behind position from through to that are
// processed without the cache.
func (a *Anthropic) fresh(r *prompt.Request, from, to int32) int64 {
	n := cum(r, to) - cum(r, from)
	if a.cfg.DeleteUncached {
		n -= declared(r, from, to)
	}
	return n
}

// declared returns the tokens that the deletions of r take out behind position
// from through to. A deletion takes out no more than its entry holds, and only
// the first of one position, or in order, counts.
func declared(r *prompt.Request, from, to int32) int64 {
	var n int64
	last := int32(-1)
	for i := range r.Deletions {
		d := &r.Deletions[i]
		if d.Position <= last || int(d.Position) >= len(r.Entries) {
			continue
		}
		last = d.Position
		if last > from && last <= to {
			n += int64(max(0, min(d.Tokens, r.Entries[last].Tokens)))
		}
	}
	return n
}

// deletedThrough returns the tokens that are missing from the prefix a request
// reads: those deleted when its entry was written, and those declared since.
// Deletions stay declared as long as they are in force, so the larger count
// holds the other.
func (a *Anthropic) deletedThrough(r *prompt.Request, h hit) int64 {
	if h.id == none {
		return 0
	}
	return max(int64(a.entries[h.id].deleted), declared(r, -1, h.pos))
}

// deletedAt returns the tokens that are missing from the prefix through a
// position behind the hit, as this request writes it.
func (a *Anthropic) deletedAt(r *prompt.Request, b *bill, h hit, pos int32) int64 {
	if a.cfg.DeleteUncached {
		return b.inHit + declared(r, h.pos, pos)
	}
	return b.inHit
}
