package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Limits of a gate for which waiting does not help.
var (
	ErrBudget   = errors.New("the budget for live calls is used up")
	ErrMaxCalls = errors.New("the number of live calls is used up")
	errUnpriced = errors.New("a budget needs the price of every model")
)

// gate lets requests through in order, within the limits of its configuration. Requests wait for those in flight,
// until their context ends. An exhausted limit (calls, budget) is an error.
type gate struct {
	config  *Config
	turn    chan struct{} // held by the request that waits at the gate; others queue for it
	settled chan struct{} // a request in flight has ended

	mu       sync.Mutex
	spent    Spent
	reserved float64 // USD, for requests in flight
}

// Spent is what has been sent.
type Spent struct {
	Calls    int          // requests sent
	InFlight int          // of them without an answer yet
	USD      float64      // of those that ended, 0 without prices
	Usage    prompt.Usage // of those that ended
}

func newGate() gate {
	return gate{turn: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
}

func (g *gate) sum() Spent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spent
}

// pass waits for its turn, sends a request and books its cost, that of a failure in its Billed. A request is sent only
// if its estimate fits into what is left of the budget after those in flight.
func (g *gate) pass(ctx context.Context, r *Request, send func() (*Reply, error)) (*Reply, error) {
	if c := g.config; c.Budget > 0 && c.Priced != nil && !c.Priced(r.Model) {
		return nil, fmt.Errorf("%w: none is known for %s; --prices FILE or --price-as %s=MODEL gives one", errUnpriced,
			r.Model, r.Model)
	}
	estimate := r.most()
	cost := g.config.Price(r.Model, estimate)
	if err := g.enter(ctx, r.Model, cost); err != nil {
		return nil, err
	}
	reply, err := send()
	booked := actual(estimate, reply, err)
	g.leave(r.Model, booked, cost)
	if f := (*Failure)(nil); errors.As(err, &f) {
		f.Billed = booked
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
	q, s := g.config, &g.spent
	if q.MaxCalls > 0 && s.Calls >= q.MaxCalls {
		return false, fmt.Errorf("%w: %d were sent; allow more with --set live.max_calls=N, or replay what was recorded",
			ErrMaxCalls, s.Calls)
	}
	if q.Budget > 0 && s.USD+cost > q.Budget {
		return false, fmt.Errorf("%w: $%.4f of $%.2f are spent and the next call of %s may cost $%.4f; "+
			"allow more with --budget-usd, or replay what was recorded", ErrBudget, s.USD, q.Budget, model, cost)
	}
	if q.Concurrency > 0 && s.InFlight >= q.Concurrency ||
		q.Budget > 0 && s.USD+g.reserved+cost > q.Budget && s.InFlight > 0 {
		return true, nil
	}
	s.Calls++
	s.InFlight++
	g.reserved += cost
	return false, nil
}

// leave books a finished request.
func (g *gate) leave(model string, u prompt.Usage, reserved float64) {
	cost := g.config.Price(model, u)
	g.mu.Lock()
	g.spent.InFlight--
	g.spent.USD += cost
	g.spent.Usage.Add(&u)
	g.reserved -= reserved
	if g.spent.InFlight == 0 {
		g.reserved = 0 // removes rounding errors
	}
	g.mu.Unlock()
	select {
	case g.settled <- struct{}{}:
	default:
	}
}

// actual returns what to book for a request: the estimated input if a server
// counts none, so that a budget holds.
func actual(estimate prompt.Usage, r *Reply, err error) prompt.Usage {
	var f *Failure
	switch {
	case err == nil:
		return r.Billed()
	case !errors.As(err, &f):
		return prompt.Usage{}
	case f.Billed.Input() > 0:
		return f.Billed
	}
	switch f.Cause {
	case CauseBroken, CauseTimeout, CauseTooLarge: // the server may have begun to work
		estimate.Output = f.Billed.Output
		return estimate
	}
	return f.Billed
}

// ErrBreaker says that calls have stopped because the previous ones all failed.
var ErrBreaker = errors.New("no more live calls")

// maxFailed is how many calls may fail in a row, as in Claude Code's own breaker from 2.1.76 on.
const maxFailed = 3

// breaker stops calls once three in a row have failed, whoever made them. A refusal of one request's content, such as
// a prompt that is too long, is an answer: the server works. Calls whose caller gave up do not count.
type breaker struct {
	mu   sync.Mutex
	run  int    // failures in a row
	last string // the last of them
}

// open returns ErrBreaker with the last failure if no call may be made.
func (b *breaker) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run >= maxFailed {
		return fmt.Errorf("%w: %d in a row failed, the last with: %s", ErrBreaker, b.run, b.last)
	}
	return nil
}

// note counts the outcome of a call; gone says that its caller gave up.
func (b *breaker) note(err error, gone bool) {
	var f *Failure
	known := errors.As(err, &f)
	refused := known && (f.Cause == CauseTooLong || f.Cause == CauseRequest &&
		(f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity))
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil, refused && !gone:
		b.run = 0
	case known && !gone:
		b.run, b.last = b.run+1, err.Error()
	}
}
