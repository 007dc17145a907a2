package backend

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

var (
	errTooLarge = errors.New("the response exceeds the limit for responses")
	errIdle     = errors.New("no byte came for too long")
	errTimeout  = errors.New("the response took too long")
)

// watcher watches over one exchange: it ends one that is silent for too long or
// whose response is too large, and knows how far it came. It reads the body.
type watcher struct {
	ctx    context.Context // of the exchange
	cancel context.CancelCauseFunc
	body   io.Reader
	idle   time.Duration
	timer  *time.Timer
	left   int64       // bytes of the response that are still read
	sent   atomic.Bool // the request went out in full
	begun  bool        // a response began
}

func watch(ctx context.Context, l Limits) *watcher {
	w := &watcher{idle: l.Idle, left: l.MaxResponse}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(l.Idle, func() { w.cancel(errIdle) })
	w.ctx = httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { w.sent.Store(false) },
		WroteRequest: func(i httptrace.WroteRequestInfo) { w.sent.Store(i.Err == nil) },
	})
	return w
}

// Read reads on and gives the response another while.
func (w *watcher) Read(p []byte) (int, error) {
	if w.left < 0 {
		return 0, errTooLarge
	}
	n, err := w.body.Read(p[:min(int64(len(p)), w.left+1)])
	w.left -= int64(n)
	if n > 0 {
		w.timer.Reset(w.idle)
	}
	if w.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}

func (w *watcher) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// brokenError is why an exchange has no complete response although the server may
// have begun to work, and bill that.
type brokenError struct{ error }

// Unwrap returns why.
func (e *brokenError) Unwrap() error { return e.error }

// cause returns the error of an exchange: why it was ended, else what it met.
func (w *watcher) cause(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	if w.begun || w.sent.Load() {
		return &brokenError{err}
	}
	return err
}

// newScanner returns the lines of a response.
func newScanner(r io.Reader, limit int64) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(limit)+1)
	return lines
}
