package promptcache

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// side is a party with one conversation: the same system prompt of 2,000 tokens as
// everybody's, and messages of 100 tokens that are its own.
type side struct {
	party   uint32
	context prompt.Context
	cache   *Anthropic
	markers []prompt.TTL // on the parts of the system prompt and on the last message
}

func newSide(cache *Anthropic, party uint32, head, messages prompt.TTL) *side {
	s := &side{party: party, cache: cache, markers: []prompt.TTL{head, messages}}
	s.context.Reset(nil, new(prompt.Arena))
	s.context.Add(prompt.Block{Kind: prompt.KindSystem, Tokens: 2000, Digest: prompt.Digest{Lo: 1}, Object: -1})
	return s
}

// request appends a message and returns the request that sends it.
func (s *side) request() *prompt.Request {
	s.context.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: 100, Digest: prompt.Digest{Hi: uint64(s.party), Lo: uint64(s.context.Len())}, Object: -1})
	entries := s.context.Seal()
	r := &prompt.Request{Thread: s.party, Owner: 1, Model: 1, MinTokens: 1024, Entries: entries, Change: prompt.NoChange}
	for i, ttl := range s.markers {
		r.Markers = append(r.Markers, prompt.Marker{Position: int32(i), TTL: ttl})
	}
	r.Markers[len(r.Markers)-1].Position = int32(len(entries) - 1)
	return r
}

// call sends the next request, for one nanosecond, and returns the tokens it reads
// and whether it may have been sent ahead of others.
func (s *side) call(at time.Duration) (read int64, ahead bool) {
	r := s.request()
	s.cache.Serve(s.party, 0)
	ahead = s.cache.Ahead(int64(at), r)
	out := s.cache.Begin(int64(at), r)
	s.cache.FirstToken(int64(at), out.Ticket)
	s.cache.End(int64(at), out.Ticket, 0)
	return out.Usage.Read, ahead
}

// A request may go ahead when it reads its own messages and has itself kept alive
// what stands on their prefix.
func TestAhead(t *testing.T) {
	const short, long = prompt.TTL5m, prompt.TTL1h
	for name, tc := range map[string]struct {
		head, messages prompt.TTL
		gap            time.Duration
		want           bool
	}{
		"within five minutes":             {short, short, 5 * time.Minute, true},
		"behind them":                     {short, short, 5*time.Minute + 1, false},
		"messages of an hour behind 5m":   {short, long, 5*time.Minute + 1, false},
		"the same within five minutes":    {short, long, 5 * time.Minute, true},
		"messages and prompt of an hour":  {long, long, time.Hour, true},
		"behind the hour":                 {long, long, time.Hour + 1, false},
		"messages of 5m behind a prompt":  {long, short, 5*time.Minute + 1, false},
		"the same, within five minutes":   {long, short, 5 * time.Minute, true},
		"at the time of the last request": {short, short, 0, true},
	} {
		s := newSide(New(Config{}), 1, tc.head, tc.messages)
		const start = time.Hour
		if _, ahead := s.call(start); ahead {
			t.Errorf("%s: the first request goes ahead, with nothing of its own to read", name)
		}
		if _, ahead := s.call(start + tc.gap); ahead != tc.want {
			t.Errorf("%s: ahead is %v, want %v", name, ahead, tc.want)
		}
	}
	for name, cfg := range map[string]Config{"lost at random": {EvictPerCall: 1e-9}} {
		s := newSide(New(cfg), 1, short, short)
		s.call(0)
		if _, ahead := s.call(1); ahead {
			t.Errorf("%s: goes ahead, where all depends on all", name)
		}
	}
	s := newSide(New(Config{}), 1, short, short)
	s.call(0)
	r := s.request()
	s.cache.Serve(1, 0)
	if !s.cache.Ahead(1, r) {
		t.Error("a request of its own does not go ahead")
	}
	if r.Loss = 0.1; s.cache.Ahead(1, r) {
		t.Error("a request that others may lose entries of goes ahead")
	}
}

// What Ahead has looked up holds for the time it was asked about: ten minutes later the
// entry is gone.
func TestBeginAtAnotherTime(t *testing.T) {
	s := newSide(New(Config{}), 1, prompt.TTL5m, prompt.TTL5m)
	s.call(0)
	r := s.request()
	s.cache.Serve(1, 0)
	s.cache.Ahead(int64(time.Minute), r)
	if out := s.cache.Begin(int64(10*time.Minute), r); out.Usage.Read != 0 {
		t.Errorf("%d tokens are read", out.Usage.Read)
	}
}

// A use from before stands in order of time, takes the place of earlier ones that go no
// deeper, and is none where a later one goes as deep.
func TestUseEarlierKeepsTheOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		uses, want []use
		depth      int32
	}{
		"between":              {[]use{{3, 0}, {1, 4}}, []use{{3, 0}, {2, 2}, {1, 4}}, 2},
		"in the place of one":  {[]use{{3, 0}, {2, 1}, {1, 4}}, []use{{3, 0}, {2, 2}, {1, 4}}, 2},
		"in the place of two":  {[]use{{3, 0}, {2, 1}, {1, 4}}, []use{{3, 2}, {1, 4}}, 3},
		"a later one as deep":  {[]use{{3, 0}, {2, 4}}, []use{{3, 0}, {2, 4}}, 2},
		"one at the same time": {[]use{{3, 0}, {1, 2}, {0, 4}}, []use{{3, 0}, {2, 2}, {0, 4}}, 2},
	} {
		l := lineage{uses: slices.Clone(tc.uses)}
		if l.useEarlier(tc.depth, 2); !slices.Equal(l.uses, tc.want) {
			t.Errorf("%s: %v, want %v", name, l.uses, tc.want)
		}
	}
}

// Two parties meet that begin with the same message, though nothing stands ahead of it.
func TestMetWithoutAPrompt(t *testing.T) {
	entries := []prompt.Entry{{Kind: prompt.KindPrompt, Chain: prompt.Digest{Lo: 1}}}
	p := parties{now: 1}
	p.root(&prompt.Request{Entries: entries})
	if p.met {
		t.Error("one alone has met somebody")
	}
	if p.now = 2; p.met {
		t.Error("met before the second has begun")
	}
	if p.root(&prompt.Request{Entries: entries}); !p.met {
		t.Error("the same first message of two goes unnoticed")
	}
}

// A conversation that left no more than what all share must wait: why it misses
// depends on others.
func TestSharedPrefixWaits(t *testing.T) {
	s := newSide(New(Config{}), 1, prompt.TTL5m, prompt.TTL5m)
	s.call(0)
	r := s.request()
	r.Markers = r.Markers[:1]
	s.cache.Begin(1, r)
	if _, ahead := s.call(2); ahead {
		t.Error("goes ahead of others that may have kept the prompt alive")
	}
}

// The first party runs ahead to 4 min. Who comes in from before that, and writes
// messages of its own behind the prompt, does not shorten its life to 9 min.
func TestUseFromBefore(t *testing.T) {
	cache := New(Config{})
	first := newSide(cache, 1, prompt.TTL5m, prompt.TTL5m)
	first.call(0)
	first.call(4 * time.Minute)
	for party, tc := range []struct {
		at   time.Duration
		want int64
	}{{time.Minute, 2000}, {2 * time.Minute, 2000}, {9 * time.Minute, 2000}, {14*time.Minute + 1, 0}} {
		s := newSide(cache, uint32(party)+2, prompt.TTL5m, prompt.TTL5m)
		if read, _ := s.call(tc.at); read != tc.want {
			t.Errorf("at %s: %d tokens are read, want %d", tc.at, read, tc.want)
		}
	}
	if cache.Met() {
		t.Error("the parties have met; their messages differ")
	}
}

// Parties meet when they write, or read, the same messages.
func TestMet(t *testing.T) {
	for name, leave := range map[string]bool{"while the other is there": false, "when the other has left and is swept": true} {
		cache := New(Config{})
		a, b := newSide(cache, 7, prompt.TTL5m, prompt.TTL5m), newSide(cache, 7, prompt.TTL5m, prompt.TTL5m)
		a.call(0)
		if cache.Met() {
			t.Errorf("%s: one party alone has met somebody", name)
		}
		if leave {
			cache.Leave(7)
			cache.Sweep(0)
			if n := cache.Entries(); n != 1 {
				t.Errorf("%d entries are kept of a party that has left, want the prompt", n)
			}
		}
		r := b.request()
		cache.Serve(8, 0)
		cache.Begin(1, r)
		if !cache.Met() {
			t.Errorf("%s: the same messages of two parties go unnoticed", name)
		}
	}
}

// The first party has run ahead to 8 min and left, and its messages are swept. The
// messages of who comes in behind the prompt from before that are not used until then.
func TestUsesOfWhatIsSwept(t *testing.T) {
	cache := New(Config{})
	first, second := newSide(cache, 1, prompt.TTL5m, prompt.TTL5m), newSide(cache, 2, prompt.TTL5m, prompt.TTL5m)
	for _, at := range []time.Duration{0, 4 * time.Minute, 8 * time.Minute} {
		first.call(at)
	}
	cache.Leave(1)
	cache.Sweep(0)
	for _, tc := range []struct {
		at   time.Duration
		want int64
	}{{time.Minute, 2000}, {6 * time.Minute, 2100}, {11*time.Minute + 1, 2000}} {
		if read, _ := second.call(tc.at); read != tc.want {
			t.Errorf("at %s: %d tokens are read, want %d", tc.at, read, tc.want)
		}
	}
}

// At one time a party does not find what a higher one sends, even if that is readable at once; a higher one finds what
// is of a lower one, and everyone what was sent before.
func TestFirstTokenAtTheSameTime(t *testing.T) {
	for _, tc := range []struct {
		sent    time.Duration // when the writers' requests arrive
		writers []uint32      // in the order in which their first tokens are told
		reader  uint32
		want    int64
	}{
		{time.Second, []uint32{1}, 2, 2000}, {time.Second, []uint32{3}, 2, 0}, {time.Second, []uint32{3, 1}, 2, 2000},
		{time.Second, []uint32{1, 3}, 2, 2000}, {time.Second, []uint32{3}, 4, 2000}, {0, []uint32{3}, 2, 2000},
	} {
		cache := New(Config{})
		for i, tickets := 0, make([]int32, len(tc.writers)); i < 2*len(tickets); i++ {
			party := tc.writers[i%len(tickets)]
			if i < len(tickets) {
				cache.Serve(party, 0)
				request := newSide(cache, party, prompt.TTL5m, prompt.TTL5m).request()
				tickets[i] = cache.Begin(int64(tc.sent), request).Ticket
				continue
			}
			cache.FirstToken(int64(time.Second), tickets[i-len(tickets)])
		}
		if read, _ := newSide(cache, tc.reader, prompt.TTL5m, prompt.TTL5m).call(time.Second); read != tc.want {
			t.Errorf("party %d behind %v of %s: %d tokens are read, want %d", tc.reader, tc.writers, tc.sent, read, tc.want)
		}
	}
}
