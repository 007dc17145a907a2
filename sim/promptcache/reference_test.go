package promptcache_test

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// reference is the same cache written for the eye: a list of everything ever
// written, searched from its end, and a walk over all prefixes at every use. It
// takes only valid requests.
type reference struct {
	cfg     promptcache.Config // with every number set
	life    [2]int64           // ns
	written []*refEntry
	open    map[int32]*refFlight
	threads map[uint32]*refThread
}

type refEntry struct {
	chain   prompt.Digest
	owner   uint32
	model   uint32
	global  bool
	ttl     exchange.TTL
	keyTTL  exchange.TTL
	message bool
	cum     int64
	deleted int64
	begun   bool  // some writer's response has begun
	ready   int64 // at this time
	lastUse int64
	pins    int // requests in flight that use it
	gone    bool
	evicted bool
	prefix  *refEntry // next entry in front, as its writer read or wrote it
}

type refFlight struct {
	uses   []*refEntry
	writes []*refEntry
}

type refThread struct {
	entries []prompt.Digest // chains of the last request with a marker
	pos     int
	cum     int64
	deleted int64
	owner   uint32
	model   uint32
	ttl     exchange.TTL
}

func newReference(c promptcache.Config) *reference {
	c = c.Filled()
	life := [2]int64{int64(c.Lifetime5m), int64(c.Lifetime1h)}
	return &reference{cfg: c, life: life, open: map[int32]*refFlight{}, threads: map[uint32]*refThread{}}
}

func (c *reference) ttl(e *refEntry) int64 { return c.life[e.ttl] }

// alive: used within its TTL, or in use now.
func (c *reference) alive(e *refEntry, t int64) bool {
	return !e.gone && !e.evicted && (t-e.lastUse <= c.ttl(e) || e.pins > 0)
}

// newest returns the latest entry written under a key.
func (c *reference) newest(r *exchange.Request, chain prompt.Digest, global bool, ttl exchange.TTL) *refEntry {
	for i := len(c.written) - 1; i >= 0; i-- {
		e := c.written[i]
		if e.chain == chain && e.model == r.Model && e.global == global &&
			(global || e.owner == r.Owner) && (!c.cfg.TTLInKey || e.keyTTL == ttl) {
			return e
		}
	}
	return nil
}

// find returns the entry a request reads and its position.
func (c *reference) find(t int64, r *exchange.Request) (*refEntry, int) {
	global := -1
	for _, m := range r.Markers {
		if m.Scope == exchange.ScopeGlobal && r.Entries[m.Position].Cum >= r.MinTokens {
			global = int(m.Position)
		}
	}
	for i := len(r.Markers) - 1; i >= 0; i-- {
		m := r.Markers[i]
		seen := 0
		for p := int(m.Position); p >= 0; p-- {
			sameRun := !c.cfg.EveryBlockCounts && p < int(m.Position) && r.Entries[p].Kind == r.Entries[p+1].Kind &&
				(r.Entries[p].Kind == prompt.KindToolUse || r.Entries[p].Kind == prompt.KindToolResult)
			if !sameRun {
				seen++
			}
			if seen > c.cfg.Lookback || r.Entries[p].Cum < r.MinTokens {
				break
			}
			for _, g := range []bool{false, true} {
				if g && p > global {
					continue
				}
				e := c.newest(r, r.Entries[p].Chain, g, m.TTL)
				if e != nil && c.alive(e, t) && e.begun && e.ready <= t {
					return e, p
				}
			}
		}
	}
	return nil, -1
}

// deleted returns the declared deletions in positions (from, to].
func refDeleted(r *exchange.Request, from, to int) int64 {
	var n int64
	for _, d := range r.Deletions {
		if int(d.Position) > from && int(d.Position) <= to {
			n += int64(d.Tokens)
		}
	}
	return n
}

// use refreshes an entry and, unless switched off, every entry on its prefix that
// has not expired. What was lost is not found again, but known as lost for as long
// as it would have lived.
func (c *reference) use(t int64, e *refEntry, f *refFlight) {
	for ; e != nil; e = e.prefix {
		if !c.alive(e, t) && !e.evicted {
			e.gone = true
			continue
		}
		e.lastUse = t
		if c.cfg.Anchor == promptcache.AnchorEnd {
			e.pins++
			f.uses = append(f.uses, e)
		}
		if c.cfg.NoPrefixRefresh {
			return
		}
	}
}

func (c *reference) begin(t int64, r *exchange.Request, ticket int32) (prompt.Usage, int, exchange.MissClass, int64) {
	hit, at := c.find(t, r)
	if float64(r.Draw>>11)/(1<<53) < c.cfg.EvictPerCall {
		for hit != nil && hit.message {
			for e := hit; e != nil && e.message; e = e.prefix {
				e.evicted = true
			}
			hit, at = c.find(t, r)
		}
	}
	u, inHit := c.bill(r, hit, at)
	class, expected := c.classify(t, r, at, u.Read)
	f := &refFlight{}
	c.open[ticket] = f
	c.use(t, hit, f)
	prev := hit
	for _, m := range r.Markers {
		if int(m.Position) <= at || r.Entries[m.Position].Cum < r.MinTokens {
			continue
		}
		deleted := inHit
		if c.cfg.DeleteUncached {
			deleted += refDeleted(r, at, int(m.Position))
		}
		prev = c.write(t, r, m, prev, deleted)
		c.use(t, prev, f)
		f.writes = append(f.writes, prev)
		c.threads[r.Thread] = &refThread{ttl: m.TTL, pos: int(m.Position), cum: int64(r.Entries[m.Position].Cum),
			deleted: deleted, owner: r.Owner, model: r.Model, entries: chains(r)}
	}
	c.remember(r, inHit, at)
	return u, at, class, expected
}

func chains(r *exchange.Request) []prompt.Digest {
	var out []prompt.Digest
	for _, e := range r.Entries {
		out = append(out, e.Chain)
	}
	return out
}

// remember sets the thread's prefix when the request wrote nothing: the last
// marker is where the hit is, or there is none.
func (c *reference) remember(r *exchange.Request, inHit int64, at int) {
	last, ttl := -1, exchange.TTL5m
	for _, m := range r.Markers {
		if r.Entries[m.Position].Cum >= r.MinTokens {
			last, ttl = int(m.Position), m.TTL
		}
	}
	switch {
	case last >= 0 && last == at:
		c.threads[r.Thread] = &refThread{ttl: ttl, pos: last, cum: int64(r.Entries[last].Cum),
			deleted: inHit, owner: r.Owner, model: r.Model, entries: chains(r)}
	case last < 0:
		if th := c.threads[r.Thread]; th != nil && c.changed(r, th) != exchange.MissNone {
			delete(c.threads, r.Thread)
		}
	}
}

// bill adds up the input block by block.
func (c *reference) bill(r *exchange.Request, hit *refEntry, at int) (prompt.Usage, int64) {
	var u prompt.Usage
	var inHit int64
	if hit != nil {
		inHit = max(hit.deleted, refDeleted(r, -1, at))
		u.Read = hit.cum - inHit
	}
	for i := at + 1; i < len(r.Entries); i++ {
		n := int64(r.Entries[i].Tokens)
		if c.cfg.DeleteUncached {
			n -= refDeleted(r, i-1, i)
		}
		long, short := false, false
		for _, m := range r.Markers {
			if int(m.Position) >= i && r.Entries[m.Position].Cum >= r.MinTokens {
				long = long || m.TTL == exchange.TTL1h
				short = short || m.TTL == exchange.TTL5m
			}
		}
		switch {
		case long:
			u.Write1h += n
		case short:
			u.Write5m += n
		default:
			u.Uncached += n
		}
	}
	return u, inHit
}

func (c *reference) write(t int64, r *exchange.Request, m exchange.Marker, prefix *refEntry, deleted int64) *refEntry {
	e := r.Entries[m.Position]
	old := c.newest(r, e.Chain, m.Scope == exchange.ScopeGlobal, m.TTL)
	if old != nil && c.alive(old, t) {
		old.ttl = max(old.ttl, m.TTL)
		return old
	}
	if old != nil {
		old.gone = true
	}
	w := &refEntry{chain: e.Chain, owner: r.Owner, model: r.Model, global: m.Scope == exchange.ScopeGlobal,
		ttl: m.TTL, keyTTL: m.TTL, message: e.Kind.Level() == prompt.LevelMessages,
		cum: int64(e.Cum), deleted: deleted, lastUse: t, prefix: prefix}
	c.written = append(c.written, w)
	return w
}

func (c *reference) changed(r *exchange.Request, th *refThread) exchange.MissClass {
	switch {
	case r.Model != th.model:
		return exchange.MissModel
	case r.Change.At >= 0 && int(r.Change.At) <= th.pos:
		return []exchange.MissClass{exchange.MissEdit, exchange.MissEdit, exchange.MissCompaction, exchange.MissRewind, exchange.MissHead}[r.Change.Cause]
	case r.Owner != th.owner:
		return exchange.MissHead
	case th.pos >= len(r.Entries):
		return exchange.MissRewind
	case r.Entries[th.pos].Chain != th.entries[th.pos]:
		return exchange.MissEdit
	}
	return exchange.MissNone
}

// gone reports whether nothing of the prefix a thread left is in the cache or was
// lost there inside its lifetime.
func (c *reference) gone(t int64, th *refThread) bool {
	last := exchange.Request{Owner: th.owner, Model: th.model}
	for _, global := range []bool{false, true} {
		e := c.newest(&last, th.entries[th.pos], global, th.ttl)
		if e != nil && (e.evicted && t-e.lastUse <= c.ttl(e) || c.alive(e, t)) {
			return false
		}
	}
	return true
}

// classify returns why less was read than the thread had left; for a prefix
// that is unchanged only the classes that the entry itself shows.
func (c *reference) classify(t int64, r *exchange.Request, at int, read int64) (exchange.MissClass, int64) {
	th := c.threads[r.Thread]
	if th == nil {
		return exchange.MissNone, 0
	}
	class := c.changed(r, th)
	if (class == exchange.MissEdit || class == exchange.MissHead) && c.gone(t, th) {
		class = exchange.MissExpiry
	}
	changed := class != exchange.MissNone
	expected := th.cum - th.deleted
	if !changed {
		expected = min(expected, th.cum-refDeleted(r, -1, th.pos))
		if at >= th.pos {
			expected = min(expected, read)
		}
	}
	if read >= expected {
		return exchange.MissNone, expected
	}
	if changed {
		return class, expected
	}
	if th.cum < int64(r.MinTokens) {
		return exchange.MissMinimum, expected
	}
	class = exchange.MissExpiry
	for _, e := range c.written {
		if e.chain != th.entries[th.pos] || e.model != r.Model || !e.global && e.owner != r.Owner {
			continue
		}
		switch {
		case c.alive(e, t) && e.begun && e.ready <= t:
			// Readable, but no marker led to it.
			return exchange.MissLookback, expected
		case c.alive(e, t):
			class = exchange.MissNotReadable
		}
	}
	return class, expected
}

func (c *reference) firstToken(t int64, ticket int32) {
	for _, e := range c.open[ticket].writes {
		if !e.begun {
			e.begun, e.ready = true, t
		}
	}
}

func (c *reference) end(t int64, ticket int32) {
	for _, e := range c.open[ticket].uses {
		e.pins--
		e.lastUse = t
	}
	delete(c.open, ticket)
}
