package promptcache_test

// occupies returns the tokens of an entry beyond those of its prefix.
func (e *refEntry) occupies() int64 {
	n := e.cum - e.deleted
	if e.prefix != nil {
		n -= e.prefix.cum - e.prefix.deleted
	}
	return max(0, n)
}

// stored returns the tokens of everything that takes room.
func (c *reference) stored() int64 {
	var n int64
	for _, e := range c.written {
		if e.stored {
			n += e.occupies()
		}
	}
	return n
}

// leaf reports whether nothing that takes room stands on e.
func (c *reference) leaf(e *refEntry) bool {
	for _, x := range c.written {
		if x.stored && x.prefix == e {
			return false
		}
	}
	return true
}

// tidy takes the room of what is gone, unless something stands on it.
func (c *reference) tidy() {
	for again := true; again; {
		again = false
		for _, e := range c.written {
			if e.stored && (e.gone || e.evicted) && c.leaf(e) {
				e.stored, again = false, true
			}
		}
	}
}

// keep makes a request in flight keep an entry in its room, and the prefix that
// was read with it, which may outlast the entry.
func (c *reference) keep(e *refEntry, f *refFlight) {
	for ; e != nil; e = e.prefix {
		if e.stored {
			e.kept++
			f.keeps = append(f.keeps, e)
		}
	}
}

// admit gives a new entry room: that of what has expired, then that of what was
// used least recently and is nobody's prefix.
func (c *reference) admit(t int64, w *refEntry) {
	if c.cfg.Capacity == 0 {
		return
	}
	c.tidy()
	if w.cum-w.deleted > c.cfg.Capacity || w.prefix != nil && !w.prefix.stored {
		w.evicted = true
		return
	}
	for c.stored()+w.occupies() > c.cfg.Capacity {
		var expired, oldest *refEntry
		for _, e := range c.written {
			if !e.stored || e.kept > 0 || !c.leaf(e) {
				continue
			}
			if t-e.lastUse > c.ttl(e) {
				expired = e
			}
			if oldest == nil || e.lastUse < oldest.lastUse {
				oldest = e
			}
		}
		switch {
		case expired != nil:
			expired.gone = true
		case oldest != nil:
			oldest.evicted = true
		default:
			w.evicted = true
			return
		}
		c.tidy()
	}
	w.stored = true
}
