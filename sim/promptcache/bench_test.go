package promptcache_test

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// session is a conversation that only appends: two system blocks, then 4.5
// blocks a call on average, two markers on the system and one at the end.
type session struct {
	entries []prompt.Entry
	ends    []int // entries of each call's request
}

func newSession(calls int) *session {
	var arena prompt.Arena
	var c prompt.Context
	c.Reset(nil, &arena)
	add := func(k prompt.Kind, tokens int32) {
		c.Add(prompt.Block{Kind: k, Tokens: tokens, Digest: prompt.DigestString(fmt.Sprint(c.Len()))})
	}
	add(prompt.KindTools, 12000)
	add(prompt.KindSystem, 4000)
	var s session
	for i := range calls {
		for range 4 + i%2 {
			add(prompt.KindToolResult, 300)
		}
		s.ends = append(s.ends, c.Len())
	}
	s.entries = c.Seal()
	return &s
}

// BenchmarkAppendOnly is Begin, FirstToken and End of one call on the path that
// nearly all calls take, in conversations of 100 and 1,000 calls on one cache.
func BenchmarkAppendOnly(b *testing.B) {
	for _, calls := range []int{100, 1000} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			s := newSession(calls)
			a := promptcache.New(promptcache.Config{})
			markers := []exchange.Marker{{Position: 0}, {Position: 1}, {}}
			r := exchange.Request{MinTokens: 1024, Markers: markers, Change: prompt.NoChange}
			b.ReportAllocs()
			var t int64
			call := 0
			for b.Loop() {
				if call == calls {
					call = 0
					a.Reset()
				}
				end := s.ends[call]
				r.Entries = s.entries[:end]
				markers[2].Position = int32(end - 1)
				o := a.Begin(t, &r)
				a.FirstToken(t+1e9, o.Ticket)
				a.End(t+2e9, o.Ticket, 100)
				t += 20e9
				call++
			}
		})
	}
}

// BenchmarkExpired is the same call when everything has expired: three
// look-backs without a find, and all entries written again.
func BenchmarkExpired(b *testing.B) {
	s := newSession(100)
	a := promptcache.New(promptcache.Config{})
	r := exchange.Request{MinTokens: 1024, Entries: s.entries, Change: prompt.NoChange,
		Markers: []exchange.Marker{{Position: 0}, {Position: 1}, {Position: int32(len(s.entries) - 1)}}}
	b.ReportAllocs()
	var t int64
	for b.Loop() {
		o := a.Begin(t, &r)
		a.FirstToken(t, o.Ticket)
		a.End(t, o.Ticket, 100)
		t += 600e9
	}
}

// BenchmarkDeletions is a call that declares the deletions of all calls before it and one more, up
// to 400, as a client does that clears results through cache_edits at every call.
func BenchmarkDeletions(b *testing.B) {
	const calls = 400
	s := newSession(calls)
	var all []exchange.Deletion
	for i := range s.entries {
		if s.entries[i].Kind == prompt.KindToolResult {
			all = append(all, exchange.Deletion{Position: int32(i), Tokens: 290})
		}
	}
	a := promptcache.New(promptcache.Config{})
	markers := []exchange.Marker{{Position: 0}, {Position: 1}, {}}
	r := exchange.Request{MinTokens: 1024, Markers: markers, Change: prompt.NoChange}
	b.ReportAllocs()
	var t int64
	call := 0
	for b.Loop() {
		if call == calls {
			call = 0
			a.Reset()
		}
		r.Entries, r.Deletions = s.entries[:s.ends[call]], all[:call]
		markers[2].Position = int32(len(r.Entries) - 1)
		o := a.Begin(t, &r)
		a.FirstToken(t+1e9, o.Ticket)
		a.End(t+2e9, o.Ticket, 100)
		t += 20e9
		call++
	}
}
