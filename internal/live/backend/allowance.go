package backend

import (
	"context"
	"sync"
	"time"
)

// allowance is the time that the attempts and waits of a call may take. It stands
// still while the call queues at a gate: how long that takes is for the limits of
// all calls to say, and not for this one.
type allowance struct {
	clock Clock
	end   context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // when the timer was started
	began  time.Time     // then
	paused time.Duration // when it was stopped, by clock
	queued time.Duration // stood still for so long, by clock
}

type allowanceKey struct{}

// allow returns a context that ends when the call has taken d. The function
// releases what it holds.
func allow(ctx context.Context, clock Clock, d time.Duration) (context.Context, *allowance, func()) {
	limited, cancel := context.WithCancelCause(ctx)
	a := &allowance{clock: clock, end: cancel, left: d, began: time.Now()}
	a.timer = time.AfterFunc(d, func() { cancel(errTimeout) })
	stop := func() {
		a.mu.Lock()
		a.timer.Stop()
		a.mu.Unlock()
		cancel(nil)
	}
	return context.WithValue(limited, allowanceKey{}, a), a, stop
}

// queueing stops the time of the call that a context belongs to, if any limits
// it. The function has it go on.
func queueing(ctx context.Context) (admitted func()) {
	a, ok := ctx.Value(allowanceKey{}).(*allowance)
	if !ok {
		return func() {}
	}
	a.pause()
	return a.resume
}

func (a *allowance) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = a.clock.Elapsed()
	a.timer.Stop()
	a.left -= time.Since(a.began)
}

func (a *allowance) resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A clock that was set back has nobody wait for less than nothing.
	a.queued += max(0, a.clock.Elapsed()-a.paused)
	a.began = time.Now()
	a.timer.Reset(max(0, a.left))
}

// waited returns for how long the call has stood in queues.
func (a *allowance) waited() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.queued
}
