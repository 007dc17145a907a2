package promptcache_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// rates are multipliers of the base input price in hundredths, so that all
// costs below are exact integers.
type rates struct{ read, write int64 }

var (
	rates5m = rates{10, 125} // platform.claude.com, pricing: 0.1 and 1.25
	rates1h = rates{10, 200} // 0.1 and 2
)

func (p rates) cost(u prompt.Usage) int64 {
	return p.read*u.Read + p.write*u.Writes() + 100*u.Uncached
}

const second = int64(1e9)

// talk is one conversation on a cache of its own, 20 s between calls.
type talk struct {
	prompt.Context
	arena prompt.Arena
	cache *promptcache.Anthropic
	now   int64
	made  int
	ttl   exchange.TTL
}

func newTalk() *talk {
	k := &talk{cache: promptcache.New(promptcache.Config{})}
	k.Reset(nil, &k.arena)
	return k
}

// add appends blocks with content that stands nowhere else in the talk.
func (k *talk) add(kind prompt.Kind, tokens ...int32) {
	for _, n := range tokens {
		k.made++
		k.Add(prompt.Block{Kind: kind, Tokens: n, Digest: prompt.DigestString(fmt.Sprint(k.made))})
	}
}

// clear empties the entry at position i.
func (k *talk) clear(i int) { k.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit) }

// call sends the context with markers at the positions and at the end.
func (k *talk) call(markers ...int) prompt.Usage {
	r := exchange.Request{MinTokens: 1, Entries: k.Seal(), Change: k.MarkSent()}
	for _, p := range markers {
		r.Markers = append(r.Markers, exchange.Marker{Position: int32(p), TTL: k.ttl})
	}
	r.Markers = append(r.Markers, exchange.Marker{Position: int32(k.Len() - 1), TTL: k.ttl})
	o := k.cache.Begin(k.now, &r)
	k.cache.FirstToken(k.now, o.Ticket)
	k.cache.End(k.now, o.Ticket, 0)
	k.now += 20 * second
	return o.Usage
}

// clearing is one clear of C tokens with S tokens behind the last entry that
// stays readable.
type clearing struct {
	name    string
	p       rates
	ttl     exchange.TTL
	removed int32 // C
	behind  int32 // tokens behind the cleared result
	front   int32 // tokens between the system prefix and the result
	marked  bool  // an entry ends right in front of the result
}

func (c clearing) surviving() int64 {
	if c.marked {
		return int64(c.behind)
	}
	return int64(c.behind + c.front)
}

// run returns the cost of the call that clears, if it does, and of each of n
// calls behind it.
func (c clearing) run(clear, cold bool, n int) []int64 {
	k := newTalk()
	k.ttl = c.ttl
	k.add(prompt.KindSystem, 10000)
	k.add(prompt.KindPrompt, c.front)
	k.add(prompt.KindToolResult, c.removed)
	for range 50 {
		k.add(prompt.KindText, c.behind/50)
	}
	markers := []int{0}
	if c.marked {
		markers = append(markers, 1)
	}
	k.call(markers...)
	if cold {
		k.now += 3600 * second
	}
	if clear {
		k.clear(2)
	}
	var costs []int64
	for range n {
		k.add(prompt.KindPrompt, 70)
		costs = append(costs, c.p.cost(k.call(markers...)))
	}
	return costs
}

var clearings = []clearing{
	{name: "marked in front", p: rates5m, removed: 5000, behind: 10000, front: 900, marked: true},
	// One marker on the messages: the edit is further than the look-back, so
	// everything behind the system prefix is written again.
	{name: "falls to the system prefix", p: rates5m, removed: 5000, behind: 9000, front: 1000},
	{name: "1h", p: rates1h, ttl: exchange.TTL1h, removed: 19000, behind: 10000, front: 900, marked: true},
}

// Closed form 1: a clear on a warm cache costs (w−r)·S once and saves r·C on
// this call and every later one; it breaks even after (w−r)·S/(r·C) calls:
// 11.5 S/C at 5m, 19 S/C at 1h.
func TestClearOnWarmCache(t *testing.T) {
	for _, c := range clearings {
		t.Run(c.name, func(t *testing.T) {
			s, removed := c.surviving(), int64(c.removed)
			even := (c.p.write - c.p.read) * s / (c.p.read * removed)
			kept, cleared := c.run(false, false, int(even)), c.run(true, false, int(even))
			var sum int64
			for i := range kept {
				want := -c.p.read * removed
				if i == 0 {
					want += (c.p.write - c.p.read) * s
				}
				if got := cleared[i] - kept[i]; got != want {
					t.Fatalf("call %d costs %d more, want %d", i, got, want)
				}
				sum += want
			}
			if sum != 0 {
				t.Errorf("after %d calls the clear has cost %d, want to break even", even, sum)
			}
		})
	}
}

// Closed form 2: on a cold cache the same clear saves w·C at once, then r·C a
// call, and never loses.
func TestClearOnColdCache(t *testing.T) {
	for _, c := range clearings {
		if c.ttl == exchange.TTL1h {
			continue // one hour after the end a 1h entry is warm: the pause is 5m's
		}
		t.Run(c.name, func(t *testing.T) {
			kept, cleared := c.run(false, true, 4), c.run(true, true, 4)
			for i := range kept {
				want := -c.p.read * int64(c.removed)
				if i == 0 {
					want = -c.p.write * int64(c.removed)
				}
				if got := cleared[i] - kept[i]; got != want {
					t.Errorf("call %d costs %d more, want %d", i, got, want)
				}
			}
		})
	}
}

// Closed form 3: rewriting the context every turn breaks even with reading it
// whole only if the cut is at least 1 − r/w: 92 % at 5m, 95 % at 1h, 90 % at
// w = 1 and r = 0.1, 50 % at r = 0.5.
func TestRewriteEveryTurn(t *testing.T) {
	const full = 100000
	for _, c := range []struct {
		p    rates
		ttl  exchange.TTL
		left int32 // per cent
	}{
		{rates5m, exchange.TTL5m, 8}, {rates1h, exchange.TTL1h, 5},
		{rates{10, 100}, exchange.TTL5m, 10}, {rates{50, 100}, exchange.TTL5m, 50},
	} {
		read, rewrite := newTalk(), newTalk()
		read.ttl, rewrite.ttl = c.ttl, c.ttl
		read.add(prompt.KindPrompt, full)
		read.call()
		for range 5 {
			rewrite.Truncate(0, prompt.CauseCompaction)
			rewrite.add(prompt.KindSummary, full/100*c.left)
			if r, w := c.p.cost(read.call()), c.p.cost(rewrite.call()); r != w {
				t.Errorf("rates %v: reading costs %d, rewriting %d %% costs %d, want the same", c.p, r, c.left, w)
			}
		}
	}
}

// Closed form 4 (NousResearch/hermes-agent#62389): results of g tokens come
// with c others in each call; all but the newest P tokens of results are
// cleared whenever M can be. With λ the share of calls that find the cache
// cold, the cheapest M is √(2·b·P·(g+c)/a), a = r(1−λ)+wλ, b = (w−r)(1−λ).
func TestBatchSize(t *testing.T) {
	const g, c, calls = 600, 400, 25200 // divisible by every batch of 1 to 10 calls
	for _, x := range []struct {
		protected int // P in calls
		coldEvery uint64
	}{{1, 0}, {4, 5}} {
		lambda := 0.0
		if x.coldEvery > 0 {
			lambda = 1 / float64(x.coldEvery)
		}
		a := 0.1*(1-lambda) + 1.25*lambda
		b := 1.15 * (1 - lambda)
		want := math.Sqrt(2*b*float64(x.protected)*g*(g+c)/a) / g
		best, least := 0, int64(math.MaxInt64)
		for batch := 1; batch <= 10; batch++ {
			if cost := batchCost(batch, x.protected, calls, g, c, x.coldEvery); cost < least {
				best, least = batch, cost
			}
		}
		if math.Abs(float64(best)-want) > 1 {
			t.Errorf("P %d calls, λ %.1f: batches of %d calls are cheapest, the closed form says %.2f ± 1", x.protected, lambda, best, want)
		}
	}
}

// batchCost is the cost of a conversation that clears the results of batch
// calls at a time. The newest protected calls that were sent before keep theirs.
func batchCost(batch, protected, calls int, g, c int32, coldEvery uint64) int64 {
	k := newTalk()
	k.add(prompt.KindSystem, 100)
	var cost int64
	oldest := 1 // position of the oldest result that is not cleared
	draw := uint64(1)
	for range calls {
		k.add(prompt.KindToolResult, g)
		k.add(prompt.KindText, c)
		if (k.Len()-oldest)/2-protected-1 >= batch {
			for range batch {
				k.clear(oldest)
				oldest += 2
			}
		}
		draw = draw*6364136223846793005 + 1442695040888963407
		if coldEvery > 0 && draw>>33%coldEvery == 0 {
			k.now += 3600 * second
		}
		cost += rates5m.cost(k.call(oldest - 1))
	}
	return cost
}

// Closed form 6: a summary made anew each turn by a model without a cache pays
// only if it compresses by more than the cache discount, and a removal of H
// tokens that makes I others be read anew at the plain price pays after
// (I/H)·(P_in − P_cache)/P_cache calls.
func TestCheapSummary(t *testing.T) {
	const history = 50000
	read, summary := newTalk(), newTalk()
	read.add(prompt.KindPrompt, history)
	read.call()
	u := prompt.Usage{Uncached: history / 10}
	summary.add(prompt.KindSummary, history/10)
	r := exchange.Request{MinTokens: 1, Entries: summary.Seal()}
	if got := summary.cache.Begin(0, &r).Usage; got != u {
		t.Fatalf("a request without markers is billed %+v, want %+v", got, u)
	}
	if a, b := rates5m.cost(read.call()), rates5m.cost(u); a != b {
		t.Errorf("at a compression of 10 and a discount of 10 the cached history costs %d, the summary %d, want the same", a, b)
	}

	c := clearing{p: rates{10, 100}, removed: 1000, behind: 2000, front: 500, marked: true}
	kept, cleared := c.run(false, false, 18), c.run(true, false, 18) // (2000/1000)·(1 − 0.1)/0.1
	var sum int64
	for i := range kept {
		sum += cleared[i] - kept[i]
	}
	if sum != 0 {
		t.Errorf("after 18 calls the removal has cost %d, want to break even", sum)
	}
}

// The worked example 7 gives 289,768 tokens in 24 steps for the full history
// and 57,017 units. Whatever the steps are, an append-only history pays w for
// its final length and r for the rest, so the final length is 24,383.
func TestFullHistoryExample(t *testing.T) {
	k := newTalk()
	var tokens, cost int64
	size := int32(0)
	for i := range int32(24) {
		next := 1000*(i+1) - 462
		switch i {
		case 22:
			next += 11
		case 23:
			next = 24383
		}
		k.add(prompt.KindToolResult, next-size)
		size = next
		u := k.call()
		tokens += u.Input()
		cost += rates5m.cost(u)
	}
	if tokens != 289768 || cost/100 != 57017 {
		t.Errorf("%d tokens cost %d units, want 289768 and 57017", tokens, cost/100)
	}
}
