package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
)

// What ends calls for which waiting does not help.
var (
	ErrBudget   = errors.New("the budget for live calls is used up")
	ErrMaxCalls = errors.New("the number of live calls is used up")
	errUnpriced = errors.New("a budget needs the price of every model")
	// ErrBreaker says that calls have stopped because the previous ones all failed.
	ErrBreaker = errors.New("no more live calls")
)

// maxFailed is how many calls may fail in a row, as in Claude Code's own breaker from 2.1.76 on.
const maxFailed = 3

// gate lets requests through in order, within the limits of its configuration, until three calls in a row have failed.
// Requests wait for those in flight, until their context ends. An exhausted limit (calls, budget) is an error.
type gate struct {
	config  *Config
	turn    chan struct{} // held by the request that waits at the gate; others queue for it
	settled chan struct{} // a request in flight has ended

	mu       sync.Mutex
	calls    int     // requests sent
	inFlight int     // calls without an answer yet
	usd      float64 // of those that ended, 0 without prices
	reserved float64 // USD, for requests in flight
	failed   int     // calls that failed in a row, whoever made them
	last     string  // the last failure of a call
}

func newGate() gate {
	return gate{turn: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
}

// pass waits for its turn, sends a request and books its cost. A request is sent only if its estimate fits into what is
// left of the budget after those in flight; the reply is nil if it is not sent.
func (g *gate) pass(ctx context.Context, model string, estimate prompt.Usage, send func() (*Reply, error)) (*Reply, error) {
	if c := g.config; c.Budget > 0 && c.Priced != nil && !c.Priced(model) {
		return nil, fmt.Errorf("%w: none is known for %s; --prices FILE or --price-as %s=MODEL gives one", errUnpriced,
			model, model)
	}
	reserved := g.config.Price(model, estimate)
	if err := g.enter(ctx, model, reserved); err != nil {
		return nil, err
	}
	reply, err := send()
	billed := reply.Usage
	if err != nil {
		billed = booked(err, estimate)
		reply.Wasted = billed
	}
	g.mu.Lock()
	g.inFlight--
	g.usd += g.config.Price(model, billed)
	if g.reserved -= reserved; g.inFlight == 0 {
		g.reserved = 0 // removes rounding errors
	}
	g.mu.Unlock()
	select {
	case g.settled <- struct{}{}:
	default:
	}
	return reply, err
}

// enter returns when the request may be sent. One request at a time waits at the gate, so that none is overtaken.
func (g *gate) enter(ctx context.Context, model string, cost float64) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if full, err := g.take(model, cost); !full {
			return err
		}
		select {
		case <-g.settled:
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("waiting to send a request: %w", ctx.Err())
}

// take reserves what a request needs, or returns that one in flight must end first, or why the request can never be
// sent.
func (g *gate) take(model string, cost float64) (full bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.config
	if q.MaxCalls > 0 && g.calls >= q.MaxCalls {
		return false, fmt.Errorf("%w: %d were sent; allow more with --set live.max_calls=N, or replay what was recorded",
			ErrMaxCalls, g.calls)
	}
	if q.Budget > 0 && g.usd+cost > q.Budget {
		return false, fmt.Errorf("%w: $%.4f of $%.2f are spent and the next call of %s may cost $%.4f; "+
			"allow more with --budget-usd, or replay what was recorded", ErrBudget, g.usd, q.Budget, model, cost)
	}
	if q.Concurrency > 0 && g.inFlight >= q.Concurrency ||
		q.Budget > 0 && g.usd+g.reserved+cost > q.Budget && g.inFlight > 0 {
		return true, nil
	}
	g.calls++
	g.inFlight++
	g.reserved += cost
	return false, nil
}

// booked returns what to book for a request that failed, so that a budget holds: its estimate if the server may have
// begun to work.
func booked(err error, estimate prompt.Usage) prompt.Usage {
	var f *Failure
	if !errors.As(err, &f) || f.Cause == CauseBroken || f.Cause == CauseTimeout || f.Cause == CauseTooLarge {
		return estimate
	}
	return prompt.Usage{}
}

// working returns ErrBreaker with the last failure if no call may be made.
func (g *gate) working() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed >= maxFailed {
		return fmt.Errorf("%w: %d in a row failed, the last with: %s", ErrBreaker, g.failed, g.last)
	}
	return nil
}

// note counts the outcome of a call; gone says that its caller gave up, which tells nothing. A refusal of one request's
// content, such as a prompt that is too long, is an answer: the server works.
func (g *gate) note(err error, gone bool) {
	var f *Failure
	known := errors.As(err, &f) && !gone
	refused := known && (f.Cause == CauseTooLong || f.Cause == CauseRequest &&
		(f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity))
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil, refused:
		g.failed = 0
	case known:
		g.failed, g.last = g.failed+1, err.Error()
	}
}
