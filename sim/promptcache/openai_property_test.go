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

// TestOpenAIAgainstReference runs random conversations (forks, edits, rewinds,
// requests in flight beside each other, several owners and models) through the
// cache and a reference that keeps every prefix by itself: they must agree on
// what is read.
func TestOpenAIAgainstReference(t *testing.T) {
	for name, cfg := range map[string]promptcache.OpenAIConfig{
		"defaults": {MinTokens: 1},
		"short":    {MinTokens: 1, Retention: int64(5 * time.Minute)},
		"start":    {MinTokens: 1, Retention: int64(5 * time.Minute), Anchor: promptcache.AnchorStart},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newOpenAIWorld(cfg)
				actions := []func(*rapid.T){
					w.append, w.append, w.append, w.edit, w.replace, w.rewind, w.fork, w.wait, w.wait,
					w.begin, w.begin, w.first, w.end, w.end, w.call, w.call, w.call, w.call, w.sweep, w.clone,
				}
				for range 120 {
					actions[below(t, len(actions), "action")](t)
					if err := w.cache.CheckStructure(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// prefix is one prefix the reference knows.
type prefix struct {
	ready, last int64
	flights     int // in flight
}

type prefixKey struct {
	chain        prompt.Digest
	owner, model uint32
}

// sent is a request in flight as the reference remembers it.
type sent struct {
	ticket int32
	all    []*prefix
	new    []*prefix
}

type openAIWorld struct {
	world
	cfg   promptcache.OpenAIConfig
	cache *promptcache.OpenAI
	known map[prefixKey]*prefix
	open  []sent
}

func newOpenAIWorld(cfg promptcache.OpenAIConfig) *openAIWorld {
	w := &openAIWorld{world: *newWorld(promptcache.Config{}), cfg: cfg, known: map[prefixKey]*prefix{}}
	if w.cfg.Retention == 0 {
		w.cfg.Retention = int64(10 * time.Minute) // the default
	}
	// A step of one token makes every boundary show.
	w.cfg.Serving = func(string) exchange.Serving { return exchange.Serving{Step: 1} }
	w.cache = promptcache.NewOpenAI(w.cfg)
	w.cache.NameModel(0, "a")
	w.cache.NameModel(1, "b")
	return w
}

// read returns what the reference says a request reads.
func (w *openAIWorld) read(r *exchange.Request) (read int64) {
	for i := range r.Entries {
		p := w.known[prefixKey{r.Entries[i].Chain, r.Owner, r.Model}]
		if p == nil || !w.alive(p) || p.ready > w.now {
			continue
		}
		read = int64(r.Entries[i].Cum)
	}
	return read
}

func (w *openAIWorld) alive(p *prefix) bool {
	return w.now-p.last <= w.cfg.Retention || p.flights > 0 && w.cfg.Anchor == promptcache.AnchorEnd
}

// send makes the reference know what a request sent.
func (w *openAIWorld) send(r *exchange.Request, ticket int32) {
	s := sent{ticket: ticket}
	for i := range r.Entries {
		k := prefixKey{r.Entries[i].Chain, r.Owner, r.Model}
		p := w.known[k]
		if p == nil || !w.alive(p) {
			p = &prefix{ready: 1 << 62}
			w.known[k] = p
			s.new = append(s.new, p)
		}
		p.last = w.now
		p.flights++
		s.all = append(s.all, p)
	}
	w.open = append(w.open, s)
}

func (w *openAIWorld) begin(t *rapid.T) {
	r := w.request(t, below(t, len(w.threads), "thread"))
	r.Deletions, r.MinTokens, r.Last = nil, 0, below(t, 8, "last of its thread") == 0
	want := w.read(&r)
	o := w.cache.Begin(w.now, &r)
	w.send(&r, o.Ticket)
	if o.Usage.Read != want {
		t.Fatalf("read %d, the reference says %d", o.Usage.Read, want)
	}
	if o.Usage.Input() != r.Tokens() || o.Effective != r.Tokens() {
		t.Fatalf("usage %+v of a request of %d tokens", o.Usage, r.Tokens())
	}
	if (o.Miss != exchange.MissNone) != (o.Shortfall() > 0) {
		t.Fatalf("miss %v with a shortfall of %d", o.Miss, o.Shortfall())
	}
}

func (w *openAIWorld) first(t *rapid.T) {
	if len(w.open) > 0 {
		w.answer(&w.open[below(t, len(w.open), "first")])
	}
}

func (w *openAIWorld) answer(s *sent) {
	w.cache.FirstToken(w.now, s.ticket)
	for _, p := range s.new {
		p.ready = min(p.ready, w.now)
	}
}

func (w *openAIWorld) end(t *rapid.T) {
	if len(w.open) > 0 {
		w.finish(below(t, len(w.open), "end"))
	}
}

func (w *openAIWorld) finish(i int) {
	w.cache.End(w.now, w.open[i].ticket, 7)
	for _, p := range w.open[i].all {
		p.flights--
		if w.cfg.Anchor == promptcache.AnchorEnd {
			p.last = w.now
		}
	}
	w.open = slices.Delete(w.open, i, i+1)
}

func (w *openAIWorld) call(t *rapid.T) {
	w.begin(t)
	w.answer(&w.open[len(w.open)-1])
	w.finish(len(w.open) - 1)
}

// sweep drops what has expired, which must not show.
func (w *openAIWorld) sweep(*rapid.T) { w.cache.Sweep(w.now) }

func (w *openAIWorld) clone(*rapid.T) {
	old := w.cache
	w.cache = old.Clone()
	old.Reset() // must not show in the copy
}

// What a cache was told before Reset does not show after it.
func TestOpenAIReset(t *testing.T) {
	c, replay := steady(3)
	replay()
	c.Reset()
	var ctx prompt.Context
	ctx.Reset(nil, &prompt.Arena{})
	ctx.Add(prompt.Block{Kind: prompt.KindTools, Tokens: 3000, Digest: prompt.DigestString("x")})
	r := exchange.Request{Entries: ctx.Seal(), Change: prompt.NoChange}
	if o := c.Begin(10, &r); o.Usage.Read != 0 || o.Expected != 0 {
		t.Errorf("after a reset: %s", fmt.Sprint(o))
	}
	if o := c.Begin(11, &exchange.Request{Thread: 9}); o.Usage.Input() != 0 || o.HitAt != -1 {
		t.Errorf("an empty request: %s", fmt.Sprint(o))
	}
	c.FirstToken(12, 99)
	c.End(12, -1, 0)
}
