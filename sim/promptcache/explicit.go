package promptcache

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// ExplicitConfig says how a client keeps caches that it makes and pays for itself.
type ExplicitConfig struct {
	// MinTokens is the shortest prefix that a cache is made of; a larger minimum of the request
	// counts instead.
	MinTokens int32
	// Lifetime is how long a cache is kept after the last request that reads it, ns.
	Lifetime int64
	// Renew is how many tokens a thread sends behind its cache before it has another made with all its tokens.
	Renew int64
}

// Validate reports the first field that is out of its range.
func (c ExplicitConfig) Validate() error {
	if c.MinTokens < 0 || c.Lifetime <= 0 || c.Renew < 0 {
		return fmt.Errorf("promptcache: an explicit cache of %d tokens and more, kept %d ns, made anew after %d tokens", c.MinTokens, c.Lifetime, c.Renew)
	}
	return nil
}

// Explicit is a server on which clients make caches themselves, as Gemini's explicit context caching
// (ai.google.dev, context caching). A cache does not change and holds one prefix. Making it costs the
// input, keeping it costs by token and hour (exchange.Outcome.Stored), and a request that names it
// reads the whole cache. The client keeps one cache for a thread, with all of the request that makes it, puts off its
// end with every use, and drops it for the next. A last request of a thread makes none. Use NewExplicit.
type Explicit struct {
	cfg     ExplicitConfig
	caches  []explicitCache
	threads map[uint32]explicitThread
}

// explicitCache is a prefix that is kept.
type explicitCache struct {
	chain        prompt.Digest
	tokens       int64
	used         int64  // ns: when it was last read, or made
	pos          int32  // of its last entry
	thread       uint32 // that made it
	owner, model uint32
}

// explicitThread is what is remembered of a thread: the prefix that its last request left in a cache.
type explicitThread struct {
	thread
	kept int64 // its tokens in the cache
}

// NewExplicit returns a server without caches.
func NewExplicit(cfg ExplicitConfig) *Explicit {
	return &Explicit{cfg: cfg, threads: map[uint32]explicitThread{}}
}

// Reset drops all caches and threads.
func (e *Explicit) Reset() {
	e.caches = e.caches[:0]
	clear(e.threads)
}

// Begin serves the input of a request that arrives at t, ns. Markers and deletions are ignored. What a
// request does not read because its client has a new cache made is no miss.
func (e *Explicit) Begin(t int64, r *exchange.Request) exchange.Outcome {
	out := exchange.Outcome{HitAt: -1, Effective: r.Tokens()}
	th := e.threads[r.Thread]
	k := e.find(t, r)
	if k >= 0 {
		out.Usage.Read, out.HitAt = e.caches[k].tokens, e.caches[k].pos
	}
	class, moved := exchange.MissNone, false
	if th.left {
		class, moved = th.moved(r)
	}
	long := out.Effective >= max(int64(e.cfg.MinTokens), int64(r.MinTokens))
	switch {
	case long && !r.Last && (k < 0 || out.Effective-out.Usage.Read > e.cfg.Renew):
		if k < 0 || moved {
			out.Expected = th.kept
		}
		out.Usage.Read, out.HitAt = 0, -1
		out.Stored = e.renew(t, r, &th)
	case k >= 0:
		out.Expected, out.Stored = th.kept, e.prolong(t, &e.caches[k])
		th.kept = e.caches[k].tokens
	default:
		out.Expected, th.kept = th.kept, 0
	}
	if out.Usage.Read < out.Expected {
		if out.Miss = exchange.MissExpiry; moved {
			out.Miss = class
		}
	}
	out.Usage.Uncached = out.Effective - out.Usage.Read
	if r.Last {
		delete(e.threads, r.Thread)
	} else if n := len(r.Entries); n > 0 {
		th.chain, th.pos, th.owner, th.model, th.left = r.Entries[n-1].Chain, int32(n-1), r.Owner, r.Model, true
		e.threads[r.Thread] = th
	}
	return out
}

// find returns the index of the longest cache that a request begins with, -1 for none.
func (e *Explicit) find(t int64, r *exchange.Request) int {
	best := -1
	for i := range e.caches {
		c := &e.caches[i]
		if c.owner == r.Owner && c.model == r.Model && e.alive(t, c) && int(c.pos) < len(r.Entries) && r.Entries[c.pos].Chain == c.chain &&
			(best < 0 || c.tokens > e.caches[best].tokens) {
			best = i
		}
	}
	return best
}

func (e *Explicit) alive(t int64, c *explicitCache) bool { return t-c.used <= e.cfg.Lifetime }

// renew makes a cache of a request in place of the thread's own, and returns the million token-hours
// that are to be paid for.
func (e *Explicit) renew(t int64, r *exchange.Request, th *explicitThread) float64 {
	stored, n := 0.0, len(r.Entries)
	if own := slices.IndexFunc(e.caches, func(c explicitCache) bool { return c.thread == r.Thread }); own >= 0 {
		c := &e.caches[own]
		stored = -kept(c.tokens, max(0, c.used+e.cfg.Lifetime-t))
		e.caches = slices.Delete(e.caches, own, own+1)
	}
	e.caches = append(e.caches, explicitCache{thread: r.Thread, chain: r.Entries[n-1].Chain, tokens: r.Tokens(), used: t, pos: int32(n - 1), owner: r.Owner, model: r.Model})
	th.kept = r.Tokens()
	return stored + kept(r.Tokens(), e.cfg.Lifetime)
}

// prolong puts off the end of a cache, and returns the million token-hours that it is kept longer.
func (e *Explicit) prolong(t int64, c *explicitCache) float64 {
	longer := t - c.used
	c.used = t
	return kept(c.tokens, longer)
}

// kept returns the million token-hours of so many tokens over a time, ns.
func kept(tokens, ns int64) float64 { return float64(tokens) / 1e6 * float64(ns) / 3.6e12 }

// FirstToken does nothing: a cache is made before the request that reads it first.
func (e *Explicit) FirstToken(int64, int32) {}

// End does nothing.
func (e *Explicit) End(int64, int32, int64) {}
