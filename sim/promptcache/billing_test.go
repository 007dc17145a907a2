package promptcache

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// twoEntries returns the request of a system prompt of 2,000 tokens and a message of 100.
func twoEntries() *exchange.Request {
	var c prompt.Context
	c.Reset(nil, new(prompt.Arena))
	c.Add(prompt.Block{Kind: prompt.KindSystem, Tokens: 2000, Digest: prompt.Digest{Lo: 1}, Object: -1})
	c.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: 100, Digest: prompt.Digest{Lo: 2}, Object: -1})
	return &exchange.Request{MinTokens: 1024, Entries: c.Seal(), Change: prompt.NoChange}
}

// The tail of a request, which no entry has, is plain input: it adds to what is sent,
// and stays when other requests keep all that stands before it in the cache.
func TestTailStaysPlain(t *testing.T) {
	for shared, want := range map[int32]prompt.Usage{0: {Uncached: 2100 + 50}, 2100: {Read: 2100, Uncached: 50}, 9000: {Read: 2100, Uncached: 50}} {
		r := twoEntries()
		r.Tail, r.Shared = 50, shared
		if out := New(Config{}).Begin(0, r); out.Usage != want || out.Deleted != 0 {
			t.Errorf("%d shared: %+v, %d deleted; want %+v", shared, out.Usage, out.Deleted, want)
		}
	}
}

// What a hit gives back is written anew where anything is, for an hour first, and is plain
// input else; no more is given back than was read.
func TestGivenBack(t *testing.T) {
	for _, tc := range []struct{ before, want prompt.Usage }{
		{prompt.Usage{Read: 100, Uncached: 7}, prompt.Usage{Read: 70, Uncached: 37}},
		{prompt.Usage{Read: 100, Write5m: 5, Uncached: 7}, prompt.Usage{Read: 70, Write5m: 35, Uncached: 7}},
		{prompt.Usage{Read: 100, Write1h: 2, Write5m: 5}, prompt.Usage{Read: 70, Write1h: 32, Write5m: 5}},
		{prompt.Usage{Read: 20, Write5m: 5}, prompt.Usage{Write5m: 25}},
	} {
		b := bill{usage: tc.before}
		if b.move(-30, 0); b.usage != tc.want {
			t.Errorf("30 of %+v: %+v, want %+v", tc.before, b.usage, tc.want)
		}
	}
}

// Of markers the first of a position takes part, of those that stand on an entry, in order,
// behind the least that can be cached: 1,024 tokens. No more than the limit are looked at.
func TestMarkersThatTakePart(t *testing.T) {
	r := twoEntries()
	for _, tc := range []struct {
		at    []int32
		least int32
		limit int
		want  int
	}{
		{[]int32{0, 1}, 1024, 4, 2}, {[]int32{0, 0, 1}, 1024, 4, 2}, {[]int32{1, 0}, 1024, 4, 1}, {[]int32{0, 2}, 1024, 4, 1},
		{[]int32{0, 1}, 2000, 4, 2}, {[]int32{0, 1}, 2001, 4, 1}, {[]int32{0, 0, 1}, 1024, 2, 1},
	} {
		r.Markers, r.MinTokens = nil, tc.least
		for _, p := range tc.at {
			r.Markers = append(r.Markers, exchange.Marker{Position: p})
		}
		var m marks
		if m.collect(r, tc.limit); m.n != tc.want {
			t.Errorf("%+v: %d take part", tc, m.n)
		}
	}
}
