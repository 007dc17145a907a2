package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// Limits of a gate for which waiting does not help.
var (
	ErrBudget   = errors.New("the budget for live calls is used up")
	ErrMaxCalls = errors.New("the number of live calls is used up")
	errUnpriced = errors.New("a budget needs the price of every model")
)

// Quota says how much may be sent. A zero field sets no limit.
type Quota struct {
	Concurrency int // requests in flight
	Calls       int // requests in all, repeated attempts included
	// BudgetUSD bounds the cost: a request is sent only if its estimate fits into what is left after those in flight.
	BudgetUSD float64
	// Price returns the price in USD of a usage. A budget needs one.
	Price func(model string, u wire.Usage) float64
	// Priced reports whether Price knows a model, nil for all: with a budget no other model is called.
	Priced func(model string) bool
}

// Gate lets requests through in order, within its quota. Requests wait for those in
// flight, until their context ends. An exhausted limit (calls, budget) is an error.
type Gate struct {
	backend Backend
	quota   Quota
	turn    chan struct{} // held by the request that waits at the gate; others queue for it
	settled chan struct{} // a request in flight has ended

	mu       sync.Mutex
	spent    Spent
	reserved float64 // USD, for requests in flight
}

// Spent is what went through a gate.
type Spent struct {
	Calls    int        // requests sent
	InFlight int        // of them without an answer yet
	USD      float64    // of those that ended, 0 without prices
	Usage    wire.Usage // of those that ended
}

// NewGate returns a gate in front of b. A budget needs prices.
func NewGate(b Backend, q Quota) *Gate {
	return &Gate{backend: b, quota: q, turn: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
}

// Spent returns what has gone through so far.
func (g *Gate) Spent() Spent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spent
}

// Do waits for its turn, sends the request and books its cost, that of a failure in its Billed.
func (g *Gate) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	if q := &g.quota; q.BudgetUSD > 0 && q.Priced != nil && !q.Priced(r.Model) {
		return nil, fmt.Errorf("%w: none is known for %s; --prices FILE or --price-as %s=MODEL gives one", errUnpriced,
			r.Model, r.Model)
	}
	estimate := Estimate(r)
	cost := g.price(r.Model, estimate)
	if err := g.enter(ctx, r.Model, cost); err != nil {
		return nil, err
	}
	reply, err := g.backend.Do(ctx, r)
	booked := actual(estimate, reply, err)
	g.leave(r.Model, booked, cost)
	if f := (*wire.Failure)(nil); errors.As(err, &f) {
		f.Billed = booked
	}
	return reply, err
}

func (g *Gate) price(model string, u wire.Usage) float64 {
	if g.quota.Price == nil {
		return 0
	}
	return g.quota.Price(model, u)
}

// enter returns when the request may be sent. One request at a time waits at the gate, so that none is overtaken.
func (g *Gate) enter(ctx context.Context, model string, cost float64) error {
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
func (g *Gate) take(model string, cost float64) (full bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q, s := &g.quota, &g.spent
	if q.Calls > 0 && s.Calls >= q.Calls {
		return false, fmt.Errorf("%w: %d were sent; allow more with --set live.max_calls=N, or replay what was recorded",
			ErrMaxCalls, s.Calls)
	}
	if q.BudgetUSD > 0 && s.USD+cost > q.BudgetUSD {
		return false, fmt.Errorf("%w: $%.4f of $%.2f are spent and the next call of %s may cost $%.4f; "+
			"allow more with --budget-usd, or replay what was recorded", ErrBudget, s.USD, q.BudgetUSD, model, cost)
	}
	if q.Concurrency > 0 && s.InFlight >= q.Concurrency ||
		q.BudgetUSD > 0 && s.USD+g.reserved+cost > q.BudgetUSD && s.InFlight > 0 {
		return true, nil
	}
	s.Calls++
	s.InFlight++
	g.reserved += cost
	return false, nil
}

// leave books a finished request.
func (g *Gate) leave(model string, u wire.Usage, reserved float64) {
	cost := g.price(model, u)
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
func actual(estimate wire.Usage, r *wire.Reply, err error) wire.Usage {
	var f *wire.Failure
	switch {
	case err == nil && r.Billed() != wire.Usage{}:
		return r.Billed()
	case err == nil:
		estimate.Output = int64(len(r.Text)) / bytesPerToken
		return estimate
	case !errors.As(err, &f):
		return wire.Usage{}
	case f.Billed.Input() > 0:
		return f.Billed
	}
	switch f.Cause {
	case wire.CauseBroken, wire.CauseTimeout, wire.CauseTooLarge: // the server may have begun to work
		estimate.Output = f.Billed.Output
		return estimate
	}
	return f.Billed
}

// bytesPerToken converts uncounted output into tokens: text of recorded sessions has 0.26 tokens a byte.
const bytesPerToken = 4

// tokensPerByte bounds the tokens of a request: recorded sessions have 0.26 to 0.33 a
// byte, and the tokenizer of newer models makes 30 % more of the same text.
const tokensPerByte = 0.4

// overhead is what a block or a tool adds to its text, tokens; a tool call adds the most, 54 in recorded sessions.
const overhead = 60

// Estimate returns an upper estimate of a request's bill: nothing is in the cache, everything is
// written with the longest requested lifetime, and the output is as long as allowed.
func Estimate(r *wire.Request) wire.Usage {
	size, blocks, longest := 0, 0, wire.CacheNone
	add := func(c wire.Cache, texts ...string) {
		for _, t := range texts {
			size += len(t)
		}
		blocks++
		if c == wire.Cache1h || longest == wire.CacheNone {
			longest = c
		}
	}
	for _, t := range r.Tools {
		add(t.Cache, t.Name, t.Description, string(t.InputSchema))
	}
	for _, list := range append([]wire.Message{{Blocks: r.System}}, r.Messages...) {
		for i := range list.Blocks {
			b := &list.Blocks[i]
			add(b.Cache, b.Text, b.Name, string(b.Input))
		}
	}
	input := int64(float64(size)*tokensPerByte) + int64(blocks)*overhead
	u := wire.Usage{Output: int64(r.MaxTokens)}
	switch longest {
	case wire.Cache1h:
		u.Write1h = input
	case wire.Cache5m:
		u.Write5m = input
	default:
		u.Uncached = input
	}
	return u
}

// outputOf estimates the tokens of an output of so many bytes, within what the request allows.
func outputOf(bytes, most int64) int64 {
	return min((bytes+bytesPerToken-1)/bytesPerToken, most)
}

// estimateUncounted estimates what a server did not count of a complete answer, because gateways
// omit usage in streams: the input as its upper estimate, the output from its bytes.
func estimateUncounted(r *wire.Request, reply *wire.Reply, bytes int64) {
	if len(reply.Iterations) > 0 {
		return
	}
	u := &reply.Usage
	if u.Input() == 0 {
		output := u.Output
		*u = Estimate(r)
		u.Output, reply.Estimated = output, true
	}
	if u.Output == 0 && bytes > 0 {
		u.Output, reply.Estimated = outputOf(bytes, int64(r.MaxTokens)), true
	}
}
