package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// ErrBreaker says that no more calls are made since the ones before all failed.
var ErrBreaker = errors.New("no more live calls")

// DefaultBreaker is how many calls may fail in a row: the number of Claude
// Code's own breaker, from 2.1.76 on.
const DefaultBreaker = 3

// Breaker makes no more calls once Limit of them have failed in a row, whoever
// made them. What a server refuses for what stands in the one request, a prompt
// that is too long for instance, is an answer like any other here: the server
// works. Calls whose caller gave up do not count.
type Breaker struct {
	Backend Backend
	Limit   int // 0 for DefaultBreaker, negative for no breaker

	mu   sync.Mutex
	run  int    // failures in a row
	last string // the last of them
}

// Do makes a call, or returns ErrBreaker with the failure that was the last.
func (b *Breaker) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	reply, err := b.Backend.Do(ctx, r)
	b.note(err, ctx.Err() != nil)
	return reply, err
}

func (b *Breaker) limit() int {
	if b.Limit == 0 {
		return DefaultBreaker
	}
	return b.Limit
}

func (b *Breaker) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit := b.limit(); limit > 0 && b.run >= limit {
		return fmt.Errorf("%w: %d in a row failed, the last with: %s", ErrBreaker, b.run, b.last)
	}
	return nil
}

// refusedAlone reports whether a server refused a request for what it holds.
func refusedAlone(f *wire.Failure) bool {
	if f.Cause == wire.CauseTooLong {
		return true
	}
	return f.Cause == wire.CauseRequest && (f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity)
}

// note counts how a call ended.
func (b *Breaker) note(err error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var f *wire.Failure
	switch {
	case err == nil:
		b.run, b.last = 0, ""
	case gone || !errors.As(err, &f):
	case refusedAlone(f):
		b.run, b.last = 0, ""
	default:
		b.run++
		b.last = err.Error()
	}
}
