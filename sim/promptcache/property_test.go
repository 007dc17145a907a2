package promptcache_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// TestAgainstReference runs random conversations (forks, edits, rewinds, mixed
// TTLs and scopes, deletions, requests in flight beside each other, several
// owners and models) through the cache and the reference, which must agree in
// every figure. The reference reads only what is in its list: written in the
// same scope, alive, and not before its writer's response began.
func TestAgainstReference(t *testing.T) {
	configs := map[string]promptcache.Config{
		"defaults":        {},
		"short-lookback":  {Lookback: 3},
		"blocks":          {Lookback: 3, EveryBlockCounts: true},
		"start":           {Anchor: promptcache.AnchorStart},
		"no-refresh":      {NoPrefixRefresh: true},
		"ttl-in-key":      {TTLInKey: true},
		"delete-uncached": {DeleteUncached: true},
		"evict":           {EvictPerCall: 0.1},
		"all": {Lookback: 4, EveryBlockCounts: true, Anchor: promptcache.AnchorStart, NoPrefixRefresh: true,
			TTLInKey: true, DeleteUncached: true, EvictPerCall: 0.1},
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(cfg)
				if rapid.Bool().Draw(t, "longer") { // than the reference's: as long as none older than these counts
					w.cache.Live(promptcache.Lifetimes{20 * time.Minute, 2 * time.Hour})
				}
				actions := []func(*rapid.T){
					w.append, w.append, w.append, w.edit, w.replace, w.rewind, w.fork, w.wait, w.wait,
					w.begin, w.begin, w.first, w.end, w.end, w.call, w.call, w.call, w.call, w.sweep, w.clone,
				}
				for i := 0; i < 120 && !w.parted; i++ {
					actions[below(t, len(actions), "action")](t)
					if err := w.cache.CheckStructure(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// below draws from [0, n) evenly; the library's own ranges prefer small numbers.
func below(t *rapid.T, n int, name string) int {
	return int(rapid.Uint64().Draw(t, name) * 0x9e3779b97f4a7c15 >> 32 % uint64(n))
}

func sample[E any](t *rapid.T, from []E, name string) E { return from[below(t, len(from), name)] }

type world struct {
	cache   *promptcache.Anthropic
	ref     *reference
	arena   prompt.Arena
	threads []*prompt.Context
	deleted [4][]exchange.Deletion // by thread: what its last request declared
	open    []int32
	now     int64
	parted  bool // an entry counted as alive that is older than it gets in the reference
}

func newWorld(cfg promptcache.Config) *world {
	w := &world{cache: promptcache.New(cfg)}
	w.ref = newReference(cfg)
	c := &prompt.Context{}
	c.Reset(nil, &w.arena)
	for _, k := range []prompt.Kind{prompt.KindTools, prompt.KindSystem} {
		c.Add(prompt.Block{Kind: k, Tokens: 30, Digest: prompt.DigestString(k.String())})
	}
	w.threads = []*prompt.Context{c}
	return w
}

func (w *world) pick(t *rapid.T) *prompt.Context {
	return w.threads[below(t, len(w.threads), "context")]
}

// block returns new content, or with few variants content that other threads
// may have at the same place too.
func (w *world) block(t *rapid.T) prompt.Block {
	k := sample(t, []prompt.Kind{prompt.KindPrompt, prompt.KindToolUse, prompt.KindToolResult}, "kind")
	n := int32(1 + below(t, 4, "variant"))
	return prompt.Block{Kind: k, Tokens: 10 * n, Digest: prompt.DigestString(fmt.Sprint(k, n))}
}

func (w *world) append(t *rapid.T) {
	c := w.pick(t)
	for range 1 + below(t, 6, "blocks") {
		c.Add(w.block(t))
	}
}

func (w *world) edit(t *rapid.T) {
	c := w.pick(t)
	i := below(t, c.Len(), "at")
	if c.At(i).Kind == prompt.KindPrompt {
		c.SetForm(i, prompt.FormCleared, 1, prompt.CauseEdit)
	}
}

func (w *world) replace(t *rapid.T) {
	c := w.pick(t)
	if c.Len() < 6 {
		return
	}
	to := 3 + below(t, c.Len()-2, "to")
	c.Replace(2, to, []prompt.Ref{w.arena.Add(w.block(t))}, prompt.CauseCompaction)
}

func (w *world) rewind(t *rapid.T) {
	c := w.pick(t)
	c.Truncate(2+below(t, c.Len()-1, "to"), prompt.CauseRewind)
}

func (w *world) fork(t *rapid.T) {
	if len(w.threads) == 4 {
		return
	}
	c := &prompt.Context{}
	c.CopyFrom(w.pick(t))
	w.threads = append(w.threads, c)
}

func (w *world) wait(t *rapid.T) {
	s := sample(t, []int64{1, 60, 240, 300, 301, 301, 1000, 3600, 3601}, "seconds")
	w.now += s * int64(time.Second)
}

func (w *world) request(t *rapid.T, i int) exchange.Request {
	c := w.threads[i]
	r := exchange.Request{
		Thread: uint32(i), Entries: c.Seal(), Change: c.MarkSent(),
		Owner:     sample(t, []uint32{0, 0, 0, 1}, "owner"),
		Model:     sample(t, []uint32{0, 0, 0, 1}, "model"),
		MinTokens: sample(t, []int32{1, 1, 40, 100}, "min"),
		Draw:      rapid.Uint64().Draw(t, "draw") * 0x9e3779b97f4a7c15,
	}
	end := int32(len(r.Entries) - 1)
	pos := []int32{end}
	for range below(t, 4, "markers") {
		pos = append(pos, int32(below(t, int(end)+1, "marker")))
	}
	slices.Sort(pos)
	pos = slices.Compact(pos)
	if below(t, 10, "last") == 0 {
		pos = pos[:len(pos)-1]
	}
	long := below(t, len(pos)+1, "long")
	global := below(t, 3, "global") - 1
	for j, p := range pos {
		m := exchange.Marker{Position: p}
		if j < long {
			m.TTL = exchange.TTL1h
		}
		if j <= global {
			m.Scope = exchange.ScopeGlobal
		}
		r.Markers = append(r.Markers, m)
	}
	r.Deletions = w.deletions(t, i, r.Entries)
	return r
}

// deletions returns none, any, or the deletions of the thread's last request that are still in
// order and more behind them.
func (w *world) deletions(t *rapid.T, thread int, entries []prompt.Entry) []exchange.Deletion {
	var list []exchange.Deletion
	mode := below(t, 5, "deletes")
	if mode > 2 {
		return nil
	}
	from := 0
	if mode > 0 {
		for _, d := range w.deleted[thread] {
			if p := int(d.Position); p < len(entries) && entries[p].Kind == prompt.KindToolResult {
				list, from = append(list, exchange.Deletion{Position: d.Position, Tokens: entries[p].Tokens}), p+1
			}
		}
	}
	for p := from; p < len(entries); p++ {
		if entries[p].Kind == prompt.KindToolResult && rapid.Bool().Draw(t, "delete") {
			list = append(list, exchange.Deletion{Position: int32(p), Tokens: entries[p].Tokens})
		}
	}
	w.deleted[thread] = list
	return list
}

func (w *world) begin(t *rapid.T) {
	r := w.request(t, below(t, len(w.threads), "thread"))
	r.Last = below(t, 8, "last of its thread") == 0
	if err := w.cache.Validate(&r); err != nil {
		t.Fatalf("the test made an invalid request: %v", err)
	}
	o := w.cache.Begin(w.now, &r)
	w.open = append(w.open, o.Ticket)
	u, at, class, expected := w.ref.begin(w.now, &r, o.Ticket)
	if w.parted = !w.cache.Oldest().Within(promptcache.Lifetimes{5 * time.Minute, time.Hour}); w.parted {
		return
	}
	if r.Last {
		delete(w.ref.threads, r.Thread)
	}
	if o.Usage != u || int(o.HitAt) != at {
		t.Fatalf("usage %+v, hit at %d; the reference says %+v, %d", o.Usage, o.HitAt, u, at)
	}
	if o.Expected != expected {
		t.Fatalf("expected %d tokens of the cache, the reference %d", o.Expected, expected)
	}
	if (o.Miss != exchange.MissNone) != (o.Shortfall() > 0) {
		t.Fatalf("miss %v with a shortfall of %d", o.Miss, o.Shortfall())
	}
	if !sameMiss(o.Miss, class) {
		t.Fatalf("miss %v, the reference says %v", o.Miss, class)
	}
	effective := o.Effective
	if u.Input() != effective || effective > r.Tokens() || u.Read < 0 {
		t.Fatalf("input %+v is not the effective %d of %d tokens", u, effective, r.Tokens())
	}
	if len(r.Deletions) == 0 && at < 0 && effective != r.Tokens() {
		t.Fatalf("effective %d of %d tokens without a deletion", effective, r.Tokens())
	}
}

// sameMiss compares classes as far as the reference tells them apart: it does
// not know evictions from expiries, nor head changes (scope, TTL class) from
// other reasons why no marker led to a readable entry.
func sameMiss(got, want exchange.MissClass) bool {
	switch want {
	case exchange.MissExpiry:
		return got == want || got == exchange.MissEviction
	case exchange.MissNotReadable:
		return got == want || got == exchange.MissEviction || got == exchange.MissExpiry
	case exchange.MissLookback:
		return got != exchange.MissNone && got != exchange.MissMinimum
	}
	return got == want
}

func (w *world) first(t *rapid.T) {
	if len(w.open) > 0 {
		k := sample(t, w.open, "ticket")
		w.cache.FirstToken(w.now, k)
		w.ref.firstToken(w.now, k)
	}
}

// end ends a request, of which some failed before their first token.
func (w *world) end(t *rapid.T) {
	if len(w.open) == 0 {
		return
	}
	i := below(t, len(w.open), "ticket")
	k := w.open[i]
	if below(t, 10, "failed") > 0 {
		w.cache.FirstToken(w.now, k)
		w.ref.firstToken(w.now, k)
	}
	w.cache.End(w.now, k, 100)
	w.ref.end(w.now, k)
	w.open = slices.Delete(w.open, i, i+1)
}

// call is a whole request at once.
func (w *world) call(t *rapid.T) {
	w.begin(t)
	k := w.open[len(w.open)-1]
	w.cache.FirstToken(w.now, k)
	w.ref.firstToken(w.now, k)
	w.cache.End(w.now, k, 100)
	w.ref.end(w.now, k)
	w.open = w.open[:len(w.open)-1]
}

func (w *world) sweep(*rapid.T) { w.cache.Sweep(w.now) }

// clone goes on with a copy; what happens to the original must not show.
func (w *world) clone(*rapid.T) {
	old := w.cache
	w.cache = old.Clone()
	old.Sweep(w.now + int64(24*time.Hour))
	old.Reset()
	r := exchange.Request{Entries: w.threads[0].Seal(), Markers: []exchange.Marker{{TTL: exchange.TTL1h, Scope: exchange.ScopeGlobal}}}
	old.FirstToken(w.now, old.Begin(w.now, &r).Ticket)
}
