package promptcache

import (
	"sort"

	"github.com/compactsim/compactsim/sim/prompt"
)

// bill is the input of one request by class, and what was deleted from it.
type bill struct {
	usage   prompt.Usage
	inHit   int64 // tokens deleted from the prefix that is read
	deleted int64 // tokens deleted from the whole request
}

// bill splits the input of r, for b which is empty, by the positions of the provider's page: A is the
// end of the hit, B the last 1h marker behind it, else A, and C the last
// marker. A is read, A to B written for 1h, B to C for 5m; the rest is plain.
func (a *Anthropic) bill(r *prompt.Request, m *marks, h hit, b *bill) {
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
	b.inHit = a.deletedThrough(h)
	b.usage.Read = cum(r, h.pos) - b.inHit
	b.usage.Write1h = a.fresh(r, h.pos, posB)
	b.usage.Write5m = a.fresh(r, posB, posC)
	b.usage.Uncached = a.fresh(r, posC, end) + int64(r.Tail)
	b.deleted = r.Tokens() - b.usage.Input()
	b.move(a.beyond(r, m, h), int64(r.Tail))
	if k := m.last(); k != nil && k.Position > h.pos && k.Shift < 0 {
		b.leave(-int64(k.Shift))
	}
}

// beyond returns by how many tokens the read goes past the end of the hit: where a
// breakpoint lies inside an entry, and for what other conversations keep in the cache.
func (a *Anthropic) beyond(r *prompt.Request, m *marks, h hit) int64 {
	var n int64
	if h.id != none {
		n = int64(a.entries[h.id].shift)
		for i := range m.at[:m.n] {
			if m.at[i].Position == h.pos {
				n = int64(m.at[i].Shift)
			}
		}
	}
	return max(n, -cum(r, h.pos), int64(r.Shared)-cum(r, h.pos))
}

// leave takes n tokens behind the last breakpoint out of what is written.
func (b *bill) leave(n int64) {
	for _, from := range []*int64{&b.usage.Write5m, &b.usage.Write1h} {
		take := min(n, *from)
		*from -= take
		b.usage.Uncached += take
		n -= take
	}
}

// move takes n tokens from what is written and sent plain, in order of position, and adds
// them to what is read; a negative n gives back. The tail stays.
func (b *bill) move(n, tail int64) {
	u := &b.usage
	if n < 0 {
		n = max(n, -u.Read)
		switch {
		case u.Write1h > 0:
			u.Write1h -= n
		case u.Write5m > 0:
			u.Write5m -= n
		default:
			u.Uncached -= n
		}
		u.Read += n
		return
	}
	for _, from := range []struct {
		tokens *int64
		stays  int64
	}{{&u.Write1h, 0}, {&u.Write5m, 0}, {&u.Uncached, tail}} {
		take := max(0, min(n, *from.tokens-from.stays))
		*from.tokens -= take
		u.Read += take
		n -= take
	}
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
		n -= a.declared(from, to)
	}
	return n
}

// cut is a deletion that takes part, with the tokens that it and the deletions before it take out.
type cut struct {
	position int32
	declared int32 // tokens as the request says
	through  int64
}

// cutThrough returns the tokens that the deletions of the request under way take
// out through a position.
func (a *Anthropic) cutThrough(pos int32) int64 {
	n := len(a.cuts)
	switch {
	case n == 0 || pos < a.cuts[0].position:
		return 0
	case pos >= a.cuts[n-1].position:
		return a.cuts[n-1].through
	}
	i := sort.Search(n, func(i int) bool { return a.cuts[i].position > pos })
	return a.cuts[i-1].through
}

// declared returns the tokens that the deletions of the request under way take
// out behind position from through to.
func (a *Anthropic) declared(from, to int32) int64 {
	return max(0, a.cutThrough(to)-a.cutThrough(from))
}

// deletedThrough returns the tokens that are missing from the prefix a request
// reads: those deleted when its entry was written, and those declared since.
// Deletions stay declared as long as they are in force, so the larger count
// holds the other.
func (a *Anthropic) deletedThrough(h hit) int64 {
	if h.id == none {
		return 0
	}
	return max(int64(a.entries[h.id].deleted), a.declared(-1, h.pos))
}

// deletedAt returns the tokens that are missing from the prefix through a
// position behind the hit, as this request writes it.
func (a *Anthropic) deletedAt(b *bill, h hit, pos int32) int64 {
	if a.cfg.DeleteUncached {
		return b.inHit + a.declared(h.pos, pos)
	}
	return b.inHit
}
