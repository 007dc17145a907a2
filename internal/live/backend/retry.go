package backend

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// What Retry does when its fields are zero.
const (
	DefaultAttempts = 4
	DefaultBase     = time.Second
	DefaultCeiling  = 30 * time.Second
	DefaultMaxAfter = 2 * time.Minute
	DefaultDeadline = 20 * time.Minute
)

// Retry sends a request again after a failure that may pass. Before attempt n+1
// it waits between nothing and Base·2^(n−1), drawn evenly ("full jitter"), so
// that calls which failed together do not come back together; or for as long as
// the server asks and up to a tenth more. A zero field takes its default.
type Retry struct {
	Backend  Backend
	Attempts int           // requests for one call, the first one included
	Base     time.Duration // the longest wait after the first failure
	Ceiling  time.Duration // the longest wait that is drawn
	// MaxAfter is the longest wait that a server may ask for: a call whose server
	// asks for more fails and says so.
	MaxAfter time.Duration
	// Deadline bounds all attempts of one call and the waits between them, without
	// the time that it queues at a gate.
	Deadline time.Duration
	Jitter   draws.Source // of the waits
	Clock    Clock        // nil for the machine's

	waits atomic.Uint64 // waited for, by all calls: each has a draw of its own
}

// afterShare is how much longer than a server asks is waited for at most.
const afterShare = 0.1

// waiting is the purpose of the draws here.
const waiting draws.Purpose = 1 << 16

// settings are the fields of r with their defaults.
type settings struct {
	attempts                          int
	base, ceiling, maxAfter, deadline time.Duration
	clock                             Clock
}

func (r *Retry) settings() settings {
	s := settings{r.Attempts, r.Base, r.Ceiling, r.MaxAfter, r.Deadline, r.Clock}
	if s.attempts <= 0 {
		s.attempts = DefaultAttempts
	}
	for _, f := range []struct {
		d   *time.Duration
		def time.Duration
	}{{&s.base, DefaultBase}, {&s.ceiling, DefaultCeiling}, {&s.maxAfter, DefaultMaxAfter}, {&s.deadline, DefaultDeadline}} {
		if *f.d <= 0 {
			*f.d = f.def
		}
	}
	if s.clock == nil {
		s.clock = NewClock()
	}
	return s
}

// Do sends the request until it is answered, fails for good, or may not be sent
// again. Attempts of reply and failure count all requests; Billed of a failure is
// what all of them were billed, Wasted of a reply what those that failed were.
// When a gate lets no more through between two attempts, the error is the gate's,
// and only its Spent knows what the first ones were billed.
func (r *Retry) Do(ctx context.Context, q *wire.Request) (*wire.Reply, error) {
	s := r.settings()
	limited, allowed, release := allow(ctx, s.clock, s.deadline)
	defer release()
	began, spent := s.clock.Elapsed(), time.Duration(0)
	var billed wire.Usage
	for n := 1; ; n++ {
		reply, err := r.Backend.Do(limited, q)
		if err == nil {
			reply.Attempts, reply.Wasted = n, billed
			return reply, nil
		}
		var f *wire.Failure
		known, sent := errors.As(err, &f), n
		if known {
			billed.Add(f.Billed)
		} else {
			sent-- // it was turned away ahead of the server
		}
		switch {
		case ctx.Err() != nil:
			return nil, ended(ctx, sent, billed)
		case limited.Err() != nil:
			late := &wire.Failure{Cause: wire.CauseTimeout, Message: "no answer in time"}
			return nil, gaveUp(late, n, billed, fmt.Sprintf("the deadline of %v has passed", s.deadline))
		case !known:
			return nil, err
		}
		wait, stop := r.wait(&s, f, n)
		// A clock that was stopped or set back shows no less than what was waited.
		spent = max(spent, s.clock.Elapsed()-began-allowed.waited())
		if stop == "" && wait > s.deadline-spent {
			stop = fmt.Sprintf("the next attempt would come after the deadline of %v", s.deadline)
		}
		if stop != "" {
			return nil, gaveUp(f, n, billed, stop)
		}
		spent += wait
		if err := s.clock.Sleep(limited, wait); err != nil && ctx.Err() != nil {
			return nil, ended(ctx, n, billed)
		}
	}
}

// wait returns how long to wait after the nth attempt, or why there is no other.
func (r *Retry) wait(s *settings, f *wire.Failure, n int) (d time.Duration, stop string) {
	switch {
	case !f.Passing():
		return 0, "it will not pass"
	case n >= s.attempts:
		return 0, tries(n)
	case f.After > s.maxAfter:
		return 0, fmt.Sprintf("the server asks to wait %v, longer than the %v that are waited for", f.After.Round(time.Second), s.maxAfter)
	}
	u := draws.Unit(r.Jitter.Uint64(waiting, r.waits.Add(1)))
	if f.After > 0 {
		return f.After + time.Duration(u*afterShare*float64(f.After)), ""
	}
	limit := s.ceiling
	if shift := n - 1; shift < 32 && s.base<<shift > 0 {
		limit = min(limit, s.base<<shift)
	}
	return time.Duration(u * float64(limit)), ""
}

// gaveUp returns the failure of a call: that of its last attempt.
func gaveUp(f *wire.Failure, attempts int, billed wire.Usage, why string) error {
	last := *f
	last.Attempts, last.Billed = attempts, billed
	if last.Passing() {
		if last.Message != "" {
			last.Message += "; "
		}
		last.Message += "gave up: " + why
	}
	return &last
}

// tries says how many attempts there were.
func tries(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
