package backend

import (
	"context"
	"time"
)

// Clock measures and waits. A test gives one of its own.
type Clock interface {
	// Elapsed returns the time since some fixed moment. It is not the time of
	// day: that may be set while a call waits.
	Elapsed() time.Duration
	// Sleep returns after d, with the context's error if that ends before.
	Sleep(ctx context.Context, d time.Duration) error
}

// monotonic is the clock of the machine.
type monotonic struct{ start time.Time }

// NewClock returns the machine's clock, which setting the time of day does not
// move.
func NewClock() Clock { return monotonic{time.Now()} }

// Elapsed returns the time since NewClock.
func (m monotonic) Elapsed() time.Duration { return time.Since(m.start) }

// Sleep waits for d.
func (m monotonic) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
