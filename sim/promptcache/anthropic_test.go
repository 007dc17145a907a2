package promptcache_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// What was read and written extends: read(n+1) = read(n) + written(n), and at
// the end all has been written once (facts of recorded sessions: exact in
// 99.79 % of calls after a tool result). 1,000 calls pass several sweeps.
func TestPrefixExtension(t *testing.T) {
	s := newSession(1000)
	a := promptcache.New(promptcache.Config{})
	var prev, sum prompt.Usage
	for i, end := range s.ends {
		r := exchange.Request{MinTokens: 1024, Entries: s.entries[:end], Change: prompt.NoChange,
			Markers: []exchange.Marker{{Position: 0}, {Position: 1}, {Position: int32(end - 1)}}}
		now := int64(i) * 290 * second
		o := a.Begin(now, &r)
		a.FirstToken(now, o.Ticket)
		a.End(now, o.Ticket, 0)
		if o.Usage.Read != prev.Read+prev.Writes() {
			t.Fatalf("call %d reads %d after %+v", i, o.Usage.Read, prev)
		}
		prev = o.Usage
		sum.Add(&o.Usage)
	}
	if want := int64(s.entries[len(s.entries)-1].Cum); sum.Writes() != want || sum.Uncached != 0 {
		t.Errorf("written %d and %d plain, want each of %d tokens once", sum.Writes(), sum.Uncached, want)
	}
	if a.Lineages() != 1 {
		t.Errorf("%d lineages for one conversation, want 1", a.Lineages())
	}
}

// Expired entries are dropped: a hundred conversations, each after the last has
// expired, need no more room than a few.
func TestSweep(t *testing.T) {
	a := promptcache.New(promptcache.Config{})
	for i := range 100 {
		s := newSession(20)
		for j, end := range s.ends {
			r := exchange.Request{Thread: uint32(i), Owner: uint32(i), MinTokens: 1024, Entries: s.entries[:end],
				Markers: []exchange.Marker{{Position: 0}, {Position: int32(end - 1)}}, Change: prompt.NoChange}
			now := int64(i)*1000*second + int64(j)*second
			o := a.Begin(now, &r)
			a.FirstToken(now, o.Ticket)
			a.End(now, o.Ticket, 0)
			if j > 0 && o.Miss != exchange.MissNone {
				t.Fatalf("conversation %d, call %d: miss %v", i, j, o.Miss)
			}
		}
	}
	if n := a.Entries(); n > 128 {
		t.Errorf("%d entries are stored of 2,100 written, 21 at a time; want at most half of the smallest table, 128", n)
	}
}

// After Reset a cache serves a session as a new one does.
func TestReset(t *testing.T) {
	s := newSession(200)
	run := func(a *promptcache.Anthropic) (u prompt.Usage) {
		for i, end := range s.ends {
			r := exchange.Request{MinTokens: 1024, Entries: s.entries[:end], Change: prompt.NoChange,
				Markers: []exchange.Marker{{Position: int32(end - 1)}}}
			o := a.Begin(int64(i), &r)
			a.FirstToken(int64(i), o.Ticket)
			if i%2 == 0 {
				a.End(int64(i), o.Ticket, 0)
			}
			u.Add(&o.Usage)
		}
		return u
	}
	a := promptcache.New(promptcache.Config{})
	want := run(a)
	a.Reset()
	if got := run(a); got != want {
		t.Errorf("after Reset %+v, before %+v", got, want)
	}
}

// The append-only path does not allocate once the storage has grown.
func TestNoAllocations(t *testing.T) {
	s := newSession(500)
	a := promptcache.New(promptcache.Config{})
	markers := []exchange.Marker{{}}
	r := exchange.Request{Markers: markers, Change: prompt.NoChange}
	session := func() {
		a.Reset()
		for i, end := range s.ends {
			r.Entries = s.entries[:end]
			markers[0].Position = int32(end - 1)
			o := a.Begin(int64(i), &r)
			a.FirstToken(int64(i), o.Ticket)
			a.End(int64(i), o.Ticket, 0)
		}
	}
	session()
	if n := testing.AllocsPerRun(5, session); n != 0 {
		t.Errorf("%v allocations in a session of 500 calls, want 0", n)
	}
}

// Tickets that name no request in flight, and requests without entries, are
// harmless.
func TestUnknownTicket(t *testing.T) {
	a := promptcache.New(promptcache.Config{})
	for _, k := range []int32{-1, 0, 7} {
		a.FirstToken(0, k)
		a.End(0, k, 0)
	}
	o := a.Begin(0, &exchange.Request{Markers: []exchange.Marker{{}, {Position: -3}}, Deletions: []exchange.Deletion{{Position: 2, Tokens: 9}}})
	if o.Usage != (prompt.Usage{}) || o.HitAt != -1 {
		t.Errorf("an empty request is billed %+v, hit at %d", o.Usage, o.HitAt)
	}
	a.End(0, o.Ticket, 0)
	a.End(0, o.Ticket, 0)
	if p, q := a.Begin(1, &exchange.Request{}), a.Begin(1, &exchange.Request{}); p.Ticket == q.Ticket {
		t.Errorf("two requests in flight share ticket %d", p.Ticket)
	}
}

// Bounds are the documents': up to four markers, lifetimes above zero, of which one hour is the
// longer.
func TestConfigBounds(t *testing.T) {
	for want, change := range map[string]func(*promptcache.Config){
		"":                                              func(*promptcache.Config) {},
		"lookback -1 must be at least 1":                func(c *promptcache.Config) { c.Lookback = -1 },
		"max_markers 5 must lie in 1…4":                 func(c *promptcache.Config) { c.MaxMarkers = 5 },
		"lifetime_5m -1ns must be above 0s":             func(c *promptcache.Config) { c.Lifetime5m = -1 },
		"evict_per_call 1.5 must lie in 0…1":            func(c *promptcache.Config) { c.EvictPerCall = 1.5 },
		"evict_per_call .nan must lie in 0…1":           func(c *promptcache.Config) { c.EvictPerCall = math.NaN() },
		"lifetime_5m 5m is longer than lifetime_1h 1ns": func(c *promptcache.Config) { c.Lifetime1h = 1 },
	} {
		c, got := promptcache.Config{}.Filled(), ""
		change(&c)
		for _, p := range spec.Validate(&c) {
			got += p.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// Markers and deletions stand on an entry from the first to the last, each behind the one
// before, and a deletion takes no more than its entry has: 300 tokens.
func TestValidateBounds(t *testing.T) {
	s := newSession(1)
	last := int32(s.ends[0] - 1)
	for want, r := range map[string]exchange.Request{
		"": {
			Markers:   []exchange.Marker{{Position: 0}, {Position: last}},
			Deletions: []exchange.Deletion{{Position: 0, Tokens: 0}, {Position: last, Tokens: 300}},
		},
		"marker 0 at position 6, the request has 6 entries":    {Markers: []exchange.Marker{{Position: last + 1}}},
		"marker 0 at position -1, the request has 6 entries":   {Markers: []exchange.Marker{{Position: -1}}},
		"marker 1 at position 3 is not after the one at 3":     {Markers: []exchange.Marker{{Position: 3}, {Position: 3}}},
		"deletion 0 at position 6, the request has 6 entries":  {Deletions: []exchange.Deletion{{Position: last + 1}}},
		"deletion 0 at position -1, the request has 6 entries": {Deletions: []exchange.Deletion{{Position: -1}}},
		"deletion 1 at position 3 is not after the one at 3":   {Deletions: []exchange.Deletion{{Position: 3}, {Position: 3}}},
		"deletion 0 at position 5 takes 301 tokens of 300":     {Deletions: []exchange.Deletion{{Position: last, Tokens: 301}}},
		"deletion 0 at position 5 takes -1 tokens of 300":      {Deletions: []exchange.Deletion{{Position: last, Tokens: -1}}},
	} {
		r.Entries = s.entries
		if want != "" {
			want = "promptcache: request of thread 0: " + want
		}
		got := ""
		if err := promptcache.New(promptcache.Config{}).Validate(&r); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Equal lifetimes contradict nothing, and neither does one that is left to its default.
// Five markers are more than the four there are; four stay four.
func TestConfigFillsWhatIsOutOfRange(t *testing.T) {
	for _, c := range []promptcache.Config{{Lifetime5m: time.Hour, Lifetime1h: time.Hour}, {Lifetime5m: 2 * time.Hour}} {
		if got := c.Rules(); got != nil {
			t.Errorf("%v and %v: %v, want no problem", c.Lifetime5m, c.Lifetime1h, got)
		}
	}
	for given, want := range map[int]int{-1: 4, 0: 4, 1: 1, 4: 4, 5: 4} {
		if got := (promptcache.Config{MaxMarkers: given}).Filled().MaxMarkers; got != want {
			t.Errorf("%d markers are filled as %d, want %d", given, got, want)
		}
	}
}

// The switch is written and read under the opposite of what the field says.
func TestSwitchThatIsOn(t *testing.T) {
	for text, want := range map[string]string{
		"prefix_refresh: false": "", "prefix_refresh: true": "", "prefix_refresh: maybe": `want true or false, not "maybe"`,
	} {
		var c promptcache.Config
		got := ""
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			got = err.Error()
		}
		if got != want || bool(c.NoPrefixRefresh) != strings.HasSuffix(text, "false") {
			t.Errorf("%s: %q, no refresh: %v; want %q", text, got, c.NoPrefixRefresh, want)
		}
	}
}
