package promptcache

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
)

// moment is a request of a party, or the first token or the end of its last one.
type moment struct {
	at    int64
	party int
	what  int // 0 begins, 1 first token, 2 ends
}

// drawMoments draws calls of parties that overlap in time, those of one party one
// after another.
func drawMoments(t *rapid.T, parties int) []moment {
	gaps := []time.Duration{time.Second, time.Minute, 4 * time.Minute, 5*time.Minute + 1, 20 * time.Minute, 61 * time.Minute}
	lengths := []time.Duration{1, time.Second, 6 * time.Minute}
	var list []moment
	for p := range parties {
		at := int64(rapid.IntRange(0, 3600).Draw(t, "begin")) * int64(time.Second)
		for range rapid.IntRange(1, 12).Draw(t, "calls") {
			at += int64(rapid.SampledFrom(gaps).Draw(t, "gap")) + int64(p) // never two at once
			first := at + int64(rapid.SampledFrom(lengths).Draw(t, "until its first token"))
			end := first + int64(rapid.SampledFrom(lengths).Draw(t, "until its end"))
			list = append(list, moment{at, p, 0}, moment{first, p, 1}, moment{end, p, 2})
			at = end
		}
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return list
}

// inLane is a party with its conversation in one cache for all, and in its lane.
type inLane struct {
	one, own *side
	others   []*Anthropic
	tickets  [2]int32 // in the one cache and in its lane
	follows  []int32  // of its request in the other lanes, none where it went ahead
	kept     Kept     // of its request that went ahead
	flying   bool     // that is in flight
}

// do does what is due at a moment everywhere and returns what the one cache and the
// lane say of a request.
func (p *inLane) do(m moment) (one, lane prompt.Usage) {
	switch m.what {
	case 0:
		r := p.one.request()
		out := p.one.cache.Begin(m.at, r)
		one, p.tickets[0] = out.Usage, out.Ticket
		r = p.own.request()
		cache := p.own.cache
		cache.Serve(p.own.party, m.at)
		ahead := cache.Ahead(m.at, r)
		out = cache.Begin(m.at, r)
		lane, p.tickets[1] = out.Usage, out.Ticket
		p.kept, p.flying, p.follows = cache.Kept(), ahead, p.follows[:0]
		echo := cache.Echo(out.Ticket)
		for _, o := range p.others {
			if ahead {
				o.Keep(m.at, p.kept)
			} else {
				p.follows = append(p.follows, o.Follow(m.at, &echo))
			}
		}
	case 1:
		p.one.cache.FirstToken(m.at, p.tickets[0])
		p.own.cache.FirstToken(m.at, p.tickets[1])
		for i, ticket := range p.follows {
			p.others[i].FirstToken(m.at, ticket)
		}
	case 2:
		p.one.cache.End(m.at, p.tickets[0], 0)
		p.own.cache.End(m.at, p.tickets[1], 0)
		for i, ticket := range p.follows {
			p.others[i].End(m.at, ticket, 0)
		}
	}
	return one, lane
}

// keep tells the other lanes what a request in flight that went ahead keeps alive.
func (p *inLane) keep(m moment) {
	if p.flying && p.own.cache.cfg.Anchor == AnchorEnd {
		for _, o := range p.others {
			o.Keep(m.at, p.kept)
		}
	}
}

// Parties in lanes are served as by one cache, when each lane is told in time what
// the others do.
func TestLanesAreOneCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttl := func(name string) prompt.TTL { return prompt.TTL(rapid.IntRange(0, 1).Draw(t, name)) }
		cfg := Config{TTLInKey: rapid.Bool().Draw(t, "in key"), Anchor: Anchor(rapid.IntRange(0, 1).Draw(t, "anchor"))}
		lanes := make([]*Anthropic, rapid.IntRange(2, 3).Draw(t, "lanes"))
		for i := range lanes {
			lanes[i] = New(cfg)
		}
		one := New(cfg)
		parties := make([]inLane, rapid.IntRange(2, 5).Draw(t, "parties"))
		for i := range parties {
			own := lanes[i%len(lanes)]
			markers := []prompt.TTL{ttl("tools"), ttl("system"), ttl("messages")}
			p := &parties[i]
			p.one, p.own = newSide(one, uint32(i)+1, 0, 0), newSide(own, uint32(i)+1, 0, 0)
			for _, s := range []*side{p.one, p.own} {
				s.context.Add(prompt.Block{Kind: prompt.KindSystem, Tokens: 1000, Digest: prompt.Digest{Lo: 2}, Object: -1})
				s.markers = markers
			}
			for _, o := range lanes {
				if o != own {
					p.others = append(p.others, o)
				}
			}
		}
		for _, m := range drawMoments(t, len(parties)) {
			for i := range parties {
				parties[i].keep(m)
			}
			p := &parties[m.party]
			if want, got := p.do(m); got != want {
				t.Fatalf("party %d at %s: %+v, want %+v", m.party+1, time.Duration(m.at), got, want)
			}
			if m.what == 2 {
				p.flying = false
			}
			if rapid.IntRange(0, 7).Draw(t, "sweep") == 0 {
				p.own.cache.Sweep(m.at)
			}
		}
		for i, a := range lanes {
			if err := a.CheckStructure(); err != nil {
				t.Fatal(err)
			}
			for _, b := range lanes[:i] {
				if a.Meets(b) {
					t.Fatal("parties have met; their messages differ")
				}
			}
		}
	})
}

// Conversations of two parties with the same messages meet, also across lanes.
func TestLanesMeet(t *testing.T) {
	a, b := newSide(New(Config{}), 7, prompt.TTL5m, prompt.TTL5m), newSide(New(Config{}), 7, prompt.TTL5m, prompt.TTL5m)
	a.call(0)
	if a.cache.Meets(b.cache) {
		t.Error("a party has met nobody")
	}
	r := b.request()
	b.cache.Serve(8, 0)
	b.cache.Begin(1, r)
	if !a.cache.Meets(b.cache) {
		t.Error("the same messages of two parties go unnoticed")
	}
}
