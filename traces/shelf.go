package traces

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// shelf keeps values out of memory. It is safe for concurrent use.
type shelf interface {
	// Put keeps the value that a pointer points to and returns its number.
	Put(from any) (n int, err error)
	// Get reads the value with a number into what a pointer points to.
	Get(n int, into any) error
}

// body is what a shelf keeps of a session: nearly all of its size.
type body struct {
	Blocks         []prompt.Block
	Tools, Objects []string
	Threads        []Thread
	Summaries      []SummaryCall
	Index          any
}

// shelved says where the body of a session is, and answers what is asked of every session.
type shelved struct {
	shelf       shelf
	n           int
	models      []int32 // calls by model
	first, last int64   // unix ns of calls, see callTimes
	peak        int64
	usage       prompt.Usage
}

// Shelve moves blocks, threads, tables and index of a session to a shelf; Load brings them back. On an error the
// session stays as it is.
func (s *Session) Shelve(to shelf) error {
	n, err := to.Put(s.body())
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	s.away = s.shelved()
	s.away.shelf, s.away.n = to, n
	new(body).give(s)
	return nil
}

// Load returns the whole session: s itself, or a copy if its body is on a shelf.
func (s *Session) Load() (*Session, error) {
	if s.away == nil {
		return s, nil
	}
	var b body
	if err := s.away.shelf.Get(s.away.n, &b); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	whole := *s
	whole.away = nil
	b.give(&whole)
	return &whole, nil
}

// give makes b the body of a session.
func (b *body) give(s *Session) {
	s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Index = b.Blocks, b.Tools, b.Objects, b.Threads, b.Summaries, b.Index
}

// body returns what a shelf keeps.
func (s *Session) body() *body {
	return &body{s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Index}
}

// shelved returns the answers that are needed of every session.
func (s *Session) shelved() *shelved {
	first, last := s.callTimes()
	return &shelved{models: s.ModelCalls(), first: first, last: last, peak: s.PeakInput(), usage: s.Usage()}
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
	a := s.shelved()
	h := Head{*s, a.models, a.first, a.last, a.peak, a.usage}
	new(body).give(&h.Session)
	h.Session.away = nil
	return h
}

// Shelved returns the session of a head; load reads it again when its body is needed.
func (h *Head) Shelved(load func() (*Session, error)) *Session {
	s := h.Session
	s.away = &shelved{shelf: loader(load), models: h.Models, first: h.First, last: h.Last, peak: h.Peak, usage: h.Usage}
	return &s
}

// loader is a shelf with one session, which it reads again.
type loader func() (*Session, error)

// Put implements shelf: there is no room.
func (loader) Put(any) (int, error) { return 0, errors.ErrUnsupported }

// Get implements shelf.
func (l loader) Get(_ int, into any) error {
	s, err := l()
	if err == nil {
		*into.(*body) = *s.body()
	}
	return err
}

// inStore is the shelf of a session whose body a store has too.
type inStore struct {
	shelf
	key string
}

// StoreKey returns the key under which a store has the body of the session, "" if none has. Bodies of one key are equal.
func (s *Session) StoreKey() string {
	if s.away == nil {
		return ""
	}
	of, _ := s.away.shelf.(inStore)
	return of.key
}

// Keep puts the body of a session into a store under a key, which must identify the state of the recordings that it was
// read from.
func (s *Session) Keep(to Store, key string) error {
	whole, err := s.Load()
	if err != nil {
		return err
	}
	to.Put(key, whole.body())
	if s.away != nil {
		s.away.shelf = inStore{s.away.shelf, key}
	}
	return nil
}

// FromStore returns the session of a head, whose body Keep has put into a store. again reads the session again if the
// store has lost it meanwhile.
func (h *Head) FromStore(from Store, key string, again func() (*Session, error)) *Session {
	s := h.Shelved(func() (*Session, error) {
		var b body
		if !from.Get(key, &b) {
			return again()
		}
		s := new(Session)
		b.give(s)
		return s, nil
	})
	s.away.shelf = inStore{s.away.shelf, key}
	return s
}
