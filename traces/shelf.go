package traces

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// shelf keeps values out of memory. It is safe for concurrent use.
type shelf interface {
	// Put keeps the value that a pointer points to and returns its number.
	Put(from any) (n int, err error)
	// Get reads the value of a number into what a pointer points to.
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

// Shelve moves blocks, threads, tables and index of a session to a shelf; Load brings them back. With an error the
// session stays as it is.
func (s *Session) Shelve(to shelf) error {
	n, err := to.Put(&body{s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Index})
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	first, last := s.callTimes()
	s.away = &shelved{to, n, s.ModelCalls(), first, last, s.PeakInput(), s.Usage()}
	s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Index = nil, nil, nil, nil, nil, nil
	return nil
}

// Load returns a session with all that was read of it: s itself, or a copy if its body is on a shelf.
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
	whole.Blocks, whole.Tools, whole.Objects, whole.Threads = b.Blocks, b.Tools, b.Objects, b.Threads
	whole.Summaries, whole.Index = b.Summaries, b.Index
	return &whole, nil
}
