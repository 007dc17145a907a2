// Package backend sends requests in the vocabulary of package wire to models
// and returns their answers. A Client speaks the Messages API or the chat
// completions that many servers offer. Around it are, from the inside out,
//
//	Gate     limits what is sent: at once, per minute, in all, and its price
//	Retry    sends again what failed for the moment
//	Breaker  stops when everything fails
//
// each a Backend itself:
//
//	Breaker{Backend: &Retry{Backend: gate}}
//
// With the gate inside, every attempt counts against the limits, and the usage
// of every attempt is booked, including that of a stream that broke off.
//
// An error caused by a server or the network is a [wire.Failure]. When the
// caller's context ends, the error wraps the context's error and a Failure with
// what had been billed by then.
package backend

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/serving/live/api"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// Backend makes calls. Its methods are safe for concurrent use.
type Backend interface {
	// Do sends one request and returns the complete answer. The error is a *wire.Failure, the context's, or one of
	// this package's Err…, wrapped.
	Do(ctx context.Context, r *wire.Request) (*wire.Reply, error)
}

// Config says how to reach a server.
type Config struct {
	Key     Key    // may be empty for chat completions of servers that need none
	BaseURL string // "" for Anthropic's own Messages API
	Limits  Limits
}

// Default limits of one attempt.
const (
	// defaultIdle bounds the time without a byte. Servers send pings in between.
	defaultIdle = 90 * time.Second
	// defaultMaxResponse is in bytes: the longest available output (128,000 tokens) makes about 4 MB of events.
	defaultMaxResponse = 8 << 20
)

// Limits bound one attempt; a zero field takes the default.
type Limits struct {
	MaxResponse int64         // bytes of the response's body, decompressed
	Timeout     time.Duration // from the request to the end of the response
	// Idle bounds the time without a byte of the response. Its default is Timeout if that exceeds
	// [wire.DefaultTimeout]: a longer timeout implies a server that is silent for long over a prompt.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = wire.DefaultTimeout
	}
	if l.Idle <= 0 {
		l.Idle = defaultIdle
		if l.Timeout > wire.DefaultTimeout {
			l.Idle = l.Timeout
		}
	}
	l.MaxResponse = cmp.Or(max(l.MaxResponse, 0), defaultMaxResponse)
	return l
}

// protocol is one of the two APIs.
type protocol struct {
	endpoint string
	header   func(h http.Header, k Key, r *wire.Request)
	encode   func(r *wire.Request) (any, error)  // the body of a request
	take     func(p *partial, data []byte) error // an event of its answer
}

// Client calls one server. The zero value is not usable.
type Client struct {
	protocol protocol
	http     *http.Client
	key      Key
	limits   Limits
}

func newClient(c Config, p protocol) *Client {
	return &Client{
		protocol: p, key: c.Key, limits: c.Limits.withDefaults(),
		// A redirection would send the key to another address.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// partial is an answer while its events arrive.
type partial struct {
	reply   wire.Reply
	text    strings.Builder
	bytes   int64 // of output so far
	most    int64 // tokens of output that the request allows
	thought bool  // a block of thinking has arrived
	refused bool  // a refusal has arrived
	done    bool  // the last event has arrived
	first   time.Duration
}

// Do sends one request, once, and reads the stream to its end.
func (c *Client) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	value, err := c.protocol.encode(r)
	if err != nil {
		return nil, fmt.Errorf("backend: request to %s: %w", r.Model, err)
	}
	// Recordings need not be valid text; invalid bytes are sent as U+FFFD.
	body, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("backend: request to %s: %w", r.Model, err)
	}
	p := &partial{most: int64(r.MaxTokens)}
	began := time.Now()
	err = c.exchange(ctx, r, body, func(data []byte) error {
		err := c.protocol.take(p, data)
		if p.first == 0 && (p.bytes > 0 || len(p.reply.ToolCalls) > 0) {
			p.first = time.Since(began)
		}
		if err == nil && p.done {
			return io.EOF // some servers keep the connection open
		}
		return err
	})
	counted := p.trust()
	var said *refusal
	switch {
	case p.done && counted != nil:
		return nil, &wire.Failure{Cause: wire.CauseServer, Attempts: 1, Message: counted.Error(), Billed: p.billed()}
	case p.done:
		reply := p.finish(time.Since(began))
		c.key.redactReply(reply)
		estimateUncounted(r, reply, p.bytes)
		return reply, nil
	case ctx.Err() != nil && !errors.As(err, &said):
		return nil, ended(ctx, 1, p.billed())
	}
	f := c.failure(err)
	f.Billed = p.billed()
	return nil, f
}

// errCut is the error of a stream that was cut between two events.
var errCut = errors.New("the stream ended before its last event")

// exchange posts a body and calls take with the data of each event of the
// answer. It never returns nil: take ends a complete stream with io.EOF.
func (c *Client) exchange(ctx context.Context, r *wire.Request, body []byte, take func(data []byte) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Timeout, errTimeout)
	defer cancel()
	w := watch(ctx, c.limits)
	defer w.stop()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, c.protocol.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	c.protocol.header(req.Header, c.key, r)
	resp, err := c.http.Do(req)
	if err != nil {
		return w.cause(err)
	}
	defer resp.Body.Close()
	w.begun = true
	w.body = resp.Body
	if err := c.refused(resp, w); err != nil {
		return err
	}
	err = events(w, c.limits.MaxResponse, take)
	var said *refusal
	if errors.As(err, &said) {
		said.status = resp.StatusCode
		return said
	}
	return w.cause(cmp.Or(err, errCut))
}

// refused returns why a response is not a stream of events, nil if it is one.
func (c *Client) refused(resp *http.Response, body io.Reader) error {
	r := &refusal{status: resp.StatusCode, header: resp.Header}
	switch {
	case r.status >= http.StatusBadRequest:
		text, err := io.ReadAll(io.LimitReader(body, maxRead))
		if err != nil && len(text) == 0 {
			text = []byte(http.StatusText(r.status))
		}
		r.message = string(text)
		var e api.ErrorBody
		if json.Unmarshal(text, &e) == nil {
			r.take(e.Error)
		}
		return r
	case r.status >= http.StatusMultipleChoices:
		r.message = "the server points elsewhere, where the key is not sent"
		return r
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "text/event-stream" {
		return nil
	}
	return &wire.Failure{
		Cause: wire.CauseRequest, Status: r.status, Attempts: 1,
		Message: fmt.Sprintf("the answer is %q, not a stream of events: is the base URL that of such an API?", clip(c.key.redact(kind))),
	}
}

// events calls take with the data of each event until it returns an error or the stream ends. A last event without a
// blank line after it is incomplete and dropped, except for the end mark, which some gateways send that way.
func events(r io.Reader, limit int64, take func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(limit)+1)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		if err := take(data); err != nil {
			return err
		}
		data = data[:0]
	}
	if err := lines.Err(); err != nil || string(data) != api.ChatEnd {
		return err
	}
	return take(data)
}

// decode reads an event. Servers are not strict about their JSON.
func decode(data []byte, event any) error {
	err := json.Unmarshal(data, event, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("an event is no JSON: %w", err)
	}
	return nil
}

// maxTokens is the largest plausible count from a server.
const maxTokens = 100_000_000

// trust drops a usage with an impossible count and returns an error: its bill
// is not credible, and the answer is not used.
func (p *partial) trust() error {
	r := &p.reply
	usages := []wire.Usage{r.Usage, r.Billed()}
	for i := range r.Iterations {
		usages = append(usages, r.Iterations[i].Usage)
	}
	for _, u := range usages {
		for _, n := range []int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output} {
			if n < 0 || n > maxTokens {
				r.Usage, r.Iterations, r.Thinking = wire.Usage{}, nil, 0
				return fmt.Errorf("the server counts %d tokens, which no call has", n)
			}
		}
	}
	return nil
}

// billed returns the known cost of a stream that broke off: the counted input, and the output so far.
func (p *partial) billed() wire.Usage {
	u := p.reply.Billed()
	u.Output = max(u.Output, outputOf(p.bytes, p.most))
	return u
}

// finish returns the reply of a complete stream.
func (p *partial) finish(total time.Duration) *wire.Reply {
	r := &p.reply
	r.Text = p.text.String()
	r.First, r.Total, r.Attempts = cmp.Or(p.first, total), total, 1
	if p.refused {
		r.StopReason = "refusal"
	}
	// The visible thinking may be shorter than the actual one, or empty. If the
	// server does not count thinking, it is the output minus the rest.
	output := r.Billed().Output
	r.Thinking = min(max(r.Thinking, 0), output)
	if r.Thinking == 0 && p.thought {
		r.Thinking = max(0, output-int64(len(r.Text)+len(r.Compaction)+bytesPerToken-1)/bytesPerToken)
	}
	return r
}

var (
	errTooLarge = errors.New("the response exceeds the limit for responses")
	errIdle     = errors.New("no byte came for too long")
	errTimeout  = errors.New("the response took too long")
)

// watcher ends an exchange that is silent for too long or whose response is too large, and records its progress.
type watcher struct {
	ctx    context.Context // of the exchange
	cancel context.CancelCauseFunc
	body   io.Reader
	idle   time.Duration
	timer  *time.Timer
	left   int64       // bytes of the response that may still be read
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

// Read reads on and extends the time for the response.
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

// brokenError is the error of an incomplete response that the server may still bill.
type brokenError struct{ error }

// Unwrap returns the cause.
func (e *brokenError) Unwrap() error { return e.error }

// cause returns the error of an exchange: the reason why it was ended, else the error it met.
func (w *watcher) cause(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	if w.begun || w.sent.Load() {
		return &brokenError{err}
	}
	return err
}
