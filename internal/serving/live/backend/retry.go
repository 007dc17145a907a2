package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

const (
	// tries is the default number of requests for one call.
	tries = 4
	// shortWait and longWait are the longest waits after the first failure and after any failure if a server names
	// none.
	shortWait, longWait = time.Second, 30 * time.Second
	// maxAfter is the longest wait that a server may ask for; beyond it the call fails and says so.
	maxAfter = 2 * time.Minute
)

// Retry repeats a request after a failure that may pass. Before attempt n+1 it
// waits a random time up to 2^(n−1) seconds, at most 30 ("full jitter"), so
// that calls which failed together are not repeated together; or as long as the
// server asks and up to a tenth more.
type Retry struct {
	Backend  Backend
	Attempts int          // requests for one call, the first one included; 0 for 4
	Jitter   draws.Source // of the waits
	// Sleep waits for a time or until the context ends, whose error it then returns; nil for a real wait.
	Sleep func(context.Context, time.Duration) error

	waits atomic.Uint64 // of all calls, so that each has its own draw
}

// afterShare is the largest additional wait, as a share of what a server asks for.
const afterShare = 0.1

// waiting is the purpose of the draws here.
const waiting draws.Purpose = 1 << 16

// Do sends the request until it is answered, fails for good, or may not be sent
// again. Attempts of reply and failure count all requests. Billed of a failure
// is the bill of all of them, Wasted of a reply that of the failed ones. If a
// gate rejects the request between two attempts, the error is the gate's, and
// only its Spent knows the bill of earlier attempts.
func (r *Retry) Do(ctx context.Context, q *wire.Request) (*wire.Reply, error) {
	pause := r.Sleep
	if pause == nil {
		pause = sleep
	}
	var billed wire.Usage
	for n := 1; ; n++ {
		reply, err := r.Backend.Do(ctx, q)
		if err == nil {
			reply.Attempts, reply.Wasted = n, billed
			return reply, nil
		}
		var f *wire.Failure
		known, sent := errors.As(err, &f), n
		if known {
			billed.Add(&f.Billed)
		} else {
			sent-- // the gate rejected it
		}
		switch {
		case ctx.Err() != nil:
			return nil, ended(ctx, sent, billed)
		case !known:
			return nil, err
		}
		wait, stop := r.wait(f, n)
		if stop != "" {
			return nil, gaveUp(f, n, billed, stop)
		}
		if pause(ctx, wait) != nil {
			return nil, ended(ctx, n, billed)
		}
	}
}

// wait returns how long to wait after the nth attempt, or why there is no further one.
func (r *Retry) wait(f *wire.Failure, n int) (d time.Duration, stop string) {
	switch {
	case !f.Passing():
		return 0, "it will not pass"
	case n >= cmp.Or(r.Attempts, tries):
		return 0, fmt.Sprintf("%d attempts", n)
	case f.After > maxAfter:
		return 0, fmt.Sprintf("the server asks to wait %v, longer than the %v that are waited for",
			f.After.Round(time.Second), maxAfter)
	}
	u := draws.Unit(r.Jitter.Uint64(waiting, r.waits.Add(1)))
	if f.After > 0 {
		return f.After + time.Duration(u*afterShare*float64(f.After)), ""
	}
	limit := min(longWait, shortWait<<min(n-1, 10))
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

// ErrBreaker says that calls have stopped because the previous ones all failed.
var ErrBreaker = errors.New("no more live calls")

// maxFailed is how many calls may fail in a row, as in Claude Code's own breaker from 2.1.76 on.
const maxFailed = 3

// Breaker stops calls once three in a row have failed, whoever made them. A
// refusal of one request's content, such as a prompt that is too long, is an
// answer: the server works. Calls whose caller gave up do not count.
type Breaker struct {
	Backend Backend

	mu   sync.Mutex
	run  int    // failures in a row
	last string // the last of them
}

// Do makes a call, or returns ErrBreaker with the last failure.
func (b *Breaker) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	reply, err := b.Backend.Do(ctx, r)
	b.note(err, ctx.Err() != nil)
	return reply, err
}

func (b *Breaker) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run >= maxFailed {
		return fmt.Errorf("%w: %d in a row failed, the last with: %s", ErrBreaker, b.run, b.last)
	}
	return nil
}

// refusedAlone reports whether a server refused a request for its content.
func refusedAlone(f *wire.Failure) bool {
	refused := f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity
	return f.Cause == wire.CauseTooLong || f.Cause == wire.CauseRequest && refused
}

// note counts the outcome of a call.
func (b *Breaker) note(err error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var f *wire.Failure
	switch {
	case err == nil:
		b.run = 0
	case gone || !errors.As(err, &f):
	case refusedAlone(f):
		b.run = 0
	default:
		b.run++
		b.last = err.Error()
	}
}

// sleep waits for d, or returns the context's error if that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
