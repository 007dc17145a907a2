package traces

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// body is nearly all of the size of a session.
type body struct {
	Blocks         []prompt.Block
	Tools, Objects []string
	Threads        []Thread
	Summaries      []SummaryCall
	Unshown        []UnshownCall
	Advice         []AdviceCall
	Searches       []Search
	Index          any
}

// StoreVersion identifies what the body of a session is read by.
func (*body) StoreVersion() string { return Readers() }

// away says where the body of a session is, and answers what is asked of every session.
type away struct {
	from        source
	models      []int32 // calls by model
	first, last int64   // unix ns of calls, see callTimes
	peak        int64
	usage       prompt.Usage
}

// source has the body of a session.
type source interface{ fetch() (*body, error) }

// Load returns the whole session: s itself, or a copy if its body is not in memory.
func (s *Session) Load() (*Session, error) {
	if s.away == nil {
		return s, nil
	}
	b, err := s.away.from.fetch()
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	whole := s.having(b)
	if in, kept := s.away.from.(inStore); kept && !whole.fits(s.away) {
		if b, err = in.again.fetch(); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		whole = s.having(b)
	}
	return whole, nil
}

// having returns a copy of a session with a body.
func (s *Session) having(b *body) *Session {
	whole := *s
	whole.away = nil
	b.give(&whole)
	return &whole
}

// fits reports whether the body of a session is the one that its head was made of, by what the head knows of calls.
func (s *Session) fits(head *away) bool {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			if m := s.Threads[i].Rounds[r].Model; int(m) >= len(s.Models) {
				return false
			}
		}
	}
	return s.Usage() == head.usage && slices.Equal(s.ModelCalls(), head.models)
}

// give makes b the body of a session.
func (b *body) give(s *Session) {
	s.Blocks, s.Tools, s.Objects, s.Threads, s.Index = b.Blocks, b.Tools, b.Objects, b.Threads, b.Index
	s.Summaries, s.Unshown, s.Advice, s.Searches = b.Summaries, b.Unshown, b.Advice, b.Searches
}

// body returns the body of a session that is in memory.
func (s *Session) body() *body {
	return &body{s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Unshown, s.Advice, s.Searches, s.Index}
}

// Head is a session without its body, in a form that one program can write and another read.
type Head struct {
	Session           Session
	Models            []int32 // as Session.ModelCalls
	First, Last, Peak int64   // unix ns of calls, and tokens
	Usage             prompt.Usage
}

// Head returns the head of a session.
func (s *Session) Head() Head {
	first, last := s.callTimes()
	h := Head{*s, s.ModelCalls(), first, last, s.PeakInput(), s.Usage()}
	new(body).give(&h.Session)
	h.Session.away = nil
	return h
}

// Without returns the session of a head; load reads it again when its body is needed.
func (h *Head) Without(load func() (*Session, error)) *Session { return h.with(loader(load)) }

// with returns the session of a head, whose body is elsewhere.
func (h *Head) with(from source) *Session {
	s := h.Session
	s.away = &away{from: from, models: h.Models, first: h.First, last: h.Last, peak: h.Peak, usage: h.Usage}
	return &s
}

// loader reads a session again.
type loader func() (*Session, error)

func (l loader) fetch() (*body, error) {
	s, err := l()
	if err != nil {
		return nil, err
	}
	return s.body(), nil
}

// inStore is the body of a session in a store.
type inStore struct {
	store Store
	key   string
	again loader // if the store has lost it
}

func (k inStore) fetch() (*body, error) {
	var b body
	if k.store.Get(k.key, &b) {
		return &b, nil
	}
	return k.again.fetch()
}

// StoreKey returns the key under which a store has the body of the session, "" if the body is in memory. Bodies of one
// key are equal.
func (s *Session) StoreKey() string {
	if s.away == nil {
		return ""
	}
	in, _ := s.away.from.(inStore)
	return in.key
}

// Keep puts the body of a session that is in memory into a store, and reports whether it is there. The key must identify
// the state of the recordings that the session was read from.
func (s *Session) Keep(to Store, key string) bool { return to.Put(key, s.body()) }

// FromStore returns the session of a head, whose body Keep has put into a store. again reads the session again if the
// store has lost it meanwhile.
func (h *Head) FromStore(from Store, key string, again func() (*Session, error)) *Session {
	return h.with(inStore{from, key, again})
}
