package promptcache_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// A cache that has room for everything is one without a limit.
func TestCapacityAboveAllIsUnlimited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Of 120 requests none has more than 2,000 blocks of 40 tokens.
		w := newWorld(promptcache.Config{Capacity: 120 * 2000 * 40})
		free := promptcache.New(promptcache.Config{})
		actions := []func(*rapid.T){w.append, w.append, w.edit, w.replace, w.rewind, w.fork, w.wait}
		for range 120 {
			if k := below(t, len(actions)+5, "action"); k < len(actions) {
				actions[k](t)
				continue
			}
			r := w.request(t, below(t, len(w.threads), "thread"))
			a, b := w.cache.Begin(w.now, &r), free.Begin(w.now, &r)
			if a != b {
				t.Fatalf("with room for everything %+v, without a limit %+v", a, b)
			}
			if below(t, 3, "fails") > 0 {
				w.cache.FirstToken(w.now, a.Ticket)
				free.FirstToken(w.now, b.Ticket)
			}
			if below(t, 3, "stays") > 0 {
				w.cache.End(w.now, a.Ticket, 0)
				free.End(w.now, b.Ticket, 0)
			}
		}
		if free.Stored() != 0 {
			t.Fatalf("a cache without a capacity counts %d tokens", free.Stored())
		}
	})
}

// prompts sends prompts of one entry each, by number, 1 s apart, to caches of
// several capacities, and returns what each request reads in each cache.
func prompts(numbers []int, size func(int) int32, capacities ...int64) [][]int64 {
	var arena prompt.Arena
	reads := make([][]int64, len(capacities))
	for i, capacity := range capacities {
		a := promptcache.New(promptcache.Config{Capacity: capacity})
		for k, n := range numbers {
			var c prompt.Context
			c.Reset(nil, &arena)
			c.Add(prompt.Block{Kind: prompt.KindSystem, Tokens: size(n), Digest: prompt.DigestString(fmt.Sprint(n))})
			r := prompt.Request{Entries: c.Seal(), Markers: []prompt.Marker{{TTL: prompt.TTL1h}}, Change: prompt.NoChange}
			o := a.Begin(int64(k)*second, &r)
			a.FirstToken(int64(k)*second, o.Ticket)
			a.End(int64(k)*second, o.Ticket, 0)
			reads[i] = append(reads[i], o.Usage.Read)
		}
	}
	return reads
}

// Least recently used is a stack algorithm (Mattson, Gecsei, Slutz, Traiger:
// Evaluation techniques for storage hierarchies, 1970): with entries of one size
// a larger cache holds what a smaller one does, so no request reads less there.
func TestLargerCacheNeverReadsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 10
		numbers := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(t, "prompts")
		entries := rapid.IntRange(1, 9).Draw(t, "entries")
		reads := prompts(numbers, func(int) int32 { return size }, int64(entries)*size, int64(entries+1)*size)
		last := map[int]int{} // when a prompt was sent last
		for i, n := range numbers {
			if reads[1][i] < reads[0][i] {
				t.Fatalf("request %d reads %d tokens with room for %d entries, %d with room for one more", i, reads[0][i], entries, reads[1][i])
			}
			// It reads if fewer others than there is room for were sent since.
			between := map[int]bool{}
			at, sent := last[n]
			for _, other := range numbers[at:i] {
				between[other] = true
			}
			if want := sent && len(between) <= entries; want != (reads[0][i] > 0) {
				t.Fatalf("request %d reads %d tokens, %d others since the same was sent, room for %d", i, reads[0][i], len(between)-1, entries)
			}
			last[n] = i
		}
	})
}

// With sizes that differ it is none: what is too large for the smaller cache
// pushes out of the larger one what the smaller one keeps.
func TestLargerCacheMayReadLess(t *testing.T) {
	sizes := []int32{10, 30}
	reads := prompts([]int{0, 1, 0}, func(n int) int32 { return sizes[n] }, 20, 30)
	if reads[0][2] != 10 || reads[1][2] != 0 {
		t.Errorf("the small prompt is read with %d tokens of 20 and %d of 30, want 10 and 0", reads[0][2], reads[1][2])
	}
}
