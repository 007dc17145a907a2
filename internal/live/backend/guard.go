package backend

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits of one attempt that are used when a configuration leaves them zero.
const (
	// DefaultMaxResponse is the largest response in bytes: the longest output on
	// offer (128,000 tokens) makes some 4 MB of events.
	DefaultMaxResponse = 8 << 20
	// DefaultTimeout bounds one attempt. A summary of 20,000 tokens takes some
	// minutes.
	DefaultTimeout = 10 * time.Minute
	// DefaultIdle bounds the time without a byte. Servers send a ping in between.
	DefaultIdle = 90 * time.Second
)

// Limits bound one attempt; a zero field takes the default.
type Limits struct {
	MaxResponse int64         // bytes of the response's body, decompressed
	Timeout     time.Duration // from the request to the end of the response
	// Idle bounds the time without a byte of the response, from the request on. Its
	// default is Timeout where that is longer than DefaultTimeout: who allows more
	// has a server that is long silent over a prompt.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.MaxResponse <= 0 {
		l.MaxResponse = DefaultMaxResponse
	}
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Idle <= 0 {
		l.Idle = DefaultIdle
		if l.Timeout > DefaultTimeout {
			l.Idle = l.Timeout
		}
	}
	return l
}

var (
	errTooLarge = errors.New("the response is larger than is read")
	errIdle     = errors.New("no byte came for too long")
	errTimeout  = errors.New("the response took too long")
)

// guard is a transport that ends a response which is too large, or silent for
// too long.
type guard struct {
	next   http.RoundTripper
	limits Limits
}

// newClient returns a client that keeps the limits and follows no redirection:
// the key would go along to wherever it points.
func newClient(base *http.Client, l Limits) *http.Client {
	c := http.Client{}
	if base != nil {
		c = *base
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = &guard{next: c.Transport, limits: l}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// sentError is why no response came to a request that had gone out in full: the
// server may have begun to work, and bill that.
type sentError struct{ error }

// Unwrap returns why.
func (e *sentError) Unwrap() error { return e.error }

// RoundTrip sends a request and watches over its response.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(g.limits.Idle, func() { cancel(errIdle) })
	r = r.WithContext(ctx)
	sent := declare(r)
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		timer.Stop()
		err = causeOr(ctx, err)
		cancel(nil)
		if sent.Load() {
			err = &sentError{err}
		}
		return nil, err
	}
	resp.Body = &guarded{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, idle: g.limits.Idle, left: g.limits.MaxResponse}
	return resp, nil
}

// guarded is the body of a watched response.
type guarded struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	left   int64
	closed atomic.Bool
}

// Read reads on and gives the response another while.
func (b *guarded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if n > 0 && !b.closed.Load() {
		b.timer.Reset(b.idle)
	}
	switch {
	case b.left < 0:
		return max(n-1, 0), errTooLarge
	case err != nil && !errors.Is(err, io.EOF):
		err = causeOr(b.ctx, err)
	}
	return n, err
}

// Close ends the watch.
func (b *guarded) Close() error {
	b.closed.Store(true)
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// causeOr returns why ctx ended, err when it did not.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
