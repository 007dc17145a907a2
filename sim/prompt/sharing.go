package prompt

import "slices"

// Branches of a conversation, and copies of a simulation under way, go on from what a context has at a point. They share its
// entries, so that a branch costs what it adds: a context copies them when it is to change one that another context has too,
// or to append where another one has. All that share entries belong to one goroutine.

// view is how many entries of a shared array a context has.
type view struct {
	array *array
	n     int
}

// array is the storage that contexts share.
type array struct {
	views []*view
	tip   *view // the one that may append; no other view has more entries. nil for none known
}

// join adds a view of the first n entries.
func (a *array) join(n int) *view {
	v := &view{array: a, n: n}
	a.views = append(a.views, v)
	return v
}

// most returns the largest number of entries of other views.
func (v *view) most() int {
	n := 0
	for _, o := range v.array.views {
		if o != v {
			n = max(n, o.n)
		}
	}
	return n
}

// CopyFrom makes c an independent copy of d, keeping c's storage. The copy has
// the same entry ids and counts as not sent yet.
func (c *Context) CopyFrom(d *Context) {
	entries := append(c.storage(), d.entries...)
	*c = *d
	c.entries, c.view, c.from, c.spare, c.branched = entries, nil, 0, nil, false
	c.sent, c.change = 0, NoChange
}

// Branch makes c go on from d as CopyFrom does, in time and memory that do not depend on the length of d unless c changes
// what d has.
func (c *Context) Branch(d *Context) {
	c.Become(d, d.arena)
	c.sent, c.change = 0, NoChange
	c.branched, d.branched = true, true
}

// Become makes c a copy of d over arena, which must be a copy of d's arena or d's arena itself. Both share d's entries until one
// changes them; keeping them takes no time that depends on their number.
func (c *Context) Become(d *Context, arena *Arena) {
	d.Seal()
	spare, n := c.storage(), len(d.entries)
	if d.view == nil {
		d.view = new(array).join(n)
	}
	d.from = max(d.from, n)
	*c = *d
	c.view, c.from, c.spare, c.branched, c.arena = d.view.array.join(n), n, spare, false, arena
}

// Leave gives up the entries that c shares, so that another context may go on where they end; entries of its own are kept. Nobody
// may look at a context that has left before it is begun anew.
func (c *Context) Leave() {
	if c.view != nil {
		c.entries = c.storage()
		c.view, c.from, c.spare, c.sealed = nil, 0, nil, 0
	}
}

// Release is Leave for a context that has come to its end: where conversations have branched, entries of its own are given up, too.
func (c *Context) Release() {
	c.Leave()
	if c.branched {
		c.arena.give(c.entries)
		c.entries, c.sealed, c.branched = nil, 0, false
	}
}

// storage returns an empty slice over c's own storage, which c no longer uses for its entries.
func (c *Context) storage() []Entry {
	if c.view == nil {
		return c.entries[:0]
	}
	c.leave()
	return c.spare[:0]
}

// leave takes c's view out of the array that it shares.
func (c *Context) leave() {
	a := c.view.array
	a.views = slices.DeleteFunc(a.views, func(v *view) bool { return v == c.view })
	if a.tip == c.view {
		a.tip = nil
	}
	if len(a.views) == 0 {
		c.arena.give(c.entries)
	}
}

// give keeps storage that no context uses any more for the next one that parts from the entries it shares: the larger of two. A long
// session with many branches then copies contexts, but has no need to make storage for each.
func (a *Arena) give(storage []Entry) {
	if cap(storage) > cap(a.spare) {
		a.spare = storage[:0]
	}
}

// take returns storage for so many entries, and for more behind them where it is new.
func (a *Arena) take(entries int) []Entry {
	if cap(a.spare) >= entries {
		storage := a.spare
		a.spare = nil
		return storage
	}
	return make([]Entry, 0, entries+entries/8)
}

// part makes c's entries its own, with room for more.
func (c *Context) part(grow int) {
	n := len(c.entries)
	grow = max(grow, 0)
	entries := c.spare[:0]
	if cap(entries) <= n+grow {
		entries = c.arena.take(n + grow + 1)
	}
	entries = append(entries, c.entries...)
	c.leave()
	c.entries, c.view, c.from, c.spare = entries, nil, 0, nil
}

// own makes the entries from position i on such that c may change them, and their number by grow.
func (c *Context) own(i, grow int) {
	if c.view == nil {
		return
	}
	if i < c.from {
		c.from = c.view.most()
	}
	switch n := len(c.entries) + grow; {
	case len(c.view.array.views) == 1:
		c.view, c.from = nil, 0
	case i < c.from || n > cap(c.entries) || grow > 0 && !c.last():
		c.part(grow)
	case grow > 0:
		c.view.n, c.view.array.tip = n, c.view
	case grow < 0:
		c.view.n = n
	}
}

// last reports whether no other view has more entries than c.
func (c *Context) last() bool {
	return c.view.array.tip == c.view || len(c.entries) >= c.view.most()
}

// extend makes room for one more entry at c's end.
func (c *Context) extend() {
	n, v := len(c.entries), c.view
	switch {
	case len(v.array.views) == 1:
		c.view, c.from = nil, 0
	case n == cap(c.entries) || !c.last():
		c.part(1)
	default:
		v.n, v.array.tip = n+1, v
	}
}

// shrink notes that c has dropped entries at its end.
func (c *Context) shrink() {
	if c.view != nil {
		c.view.n, c.view.array.tip = len(c.entries), nil
	}
}
