package live

import (
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

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Config says how to reach a server, and how much may be sent to it.
type Config struct {
	Settings        // Provider, Attempts, Timeout, and the limits
	Key      Secret // may be empty for chat completions of servers that need none
	BaseURL  string // "" for Anthropic's own Messages API
	// Price returns the price of a usage, USD; nil for 0. Priced reports whether Price knows a model, nil for all:
	// with a budget no other model is called.
	Price  func(model string, u prompt.Usage) float64
	Priced func(model string) bool
	// Transport sends the requests; nil for http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits for a time or until the context ends, whose error it then returns; nil for a real wait.
	Sleep func(context.Context, time.Duration) error
}

const (
	// DefaultTimeout bounds one request. A summary of 20,000 tokens takes minutes.
	DefaultTimeout = 10 * time.Minute
	// maxResponse is in bytes: the longest available output (128,000 tokens) makes about 1 MB of JSON.
	maxResponse  = 8 << 20
	anthropicURL = "https://api.anthropic.com/"
)

// Client calls one server, through either interface. Each request waits for its turn at the gate; what failed for the
// moment is sent again; and calls stop when everything fails. A Client is safe for concurrent use.
type Client struct {
	config   Config
	endpoint string
	own      bool // the server is OpenAI's
	http     *http.Client
	gate     gate
	jitter   draws.Source
	waits    atomic.Uint64 // of all calls, so that each has its own draw
	// send is once, except in tests of what stands around it.
	send func(ctx context.Context, r *Request, body []byte) (*Reply, error)
}

// NewClient returns a client. It returns an error for an invalid base URL, and for a key that is missing or cannot be
// sent. The base URL of chat completions has the version, if it is not /v1, or the whole path, as in
// http://localhost:8000/chat/completions.
func NewClient(c Config) (*Client, error) {
	api := "the chat completions"
	if c.Provider != OpenAI {
		api, c.BaseURL = "the Messages API", cmp.Or(c.BaseURL, anthropicURL)
	}
	endpoint, host, err := endpointOf(c.Provider, c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL of %s: %w", api, err)
	}
	own := c.Provider == OpenAI && strings.HasSuffix("."+host, ".openai.com")
	switch {
	case c.Key.IsZero() && own:
		return nil, errors.New("OpenAI's own server needs a key")
	case c.Key.IsZero() && c.Provider != OpenAI:
		return nil, errors.New("the Messages API needs a key")
	}
	if err := c.Key.check(); err != nil {
		return nil, fmt.Errorf("key of %s: %w", api, err)
	}
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Price == nil {
		c.Price = func(string, prompt.Usage) float64 { return 0 }
	}
	client := &Client{
		config: c, endpoint: endpoint, own: own, gate: newGate(),
		jitter: draws.Source{Seed: uint64(time.Now().UnixNano())},
		http: &http.Client{Transport: c.Transport,
			// A redirection would send the key to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	client.gate.config, client.send = &client.config, client.once
	return client, nil
}

// Do makes a call: it sends the request until it is answered, fails for good, or may not be sent again. The reply has
// the bill and the number of all requests, beside an error too. An error that a server or the network caused is a
// *Failure; otherwise it wraps the error of the caller's context or one of this package's Err….
func (c *Client) Do(ctx context.Context, r *Request) (*Reply, error) {
	if err := c.gate.working(); err != nil {
		return &Reply{}, err
	}
	reply, err := c.insist(ctx, r)
	c.gate.note(err, ctx.Err() != nil)
	return reply, err
}

// insist sends a request until that makes no more sense.
func (c *Client) insist(ctx context.Context, r *Request) (*Reply, error) {
	sum := &Reply{}
	body, err := r.body(c.config.Provider, c.own)
	if err != nil {
		return sum, err
	}
	for {
		reply, err := c.gate.pass(ctx, r.Model, r.most(body), func() (*Reply, error) { return c.send(ctx, r, body) })
		if reply == nil { // the gate rejected it
			return sum, err
		}
		sum.Attempts++
		if err == nil {
			reply.Attempts, reply.Wasted = sum.Attempts, sum.Wasted
			return reply, nil
		}
		sum.Wasted.Add(&reply.Wasted)
		var f *Failure
		switch {
		case ctx.Err() != nil:
			return sum, ctx.Err()
		case !errors.As(err, &f):
			return sum, err
		}
		wait, stop := c.wait(f, sum.Attempts)
		if stop != "" {
			return sum, gaveUp(f, stop)
		}
		if err := c.config.Sleep(ctx, wait); err != nil {
			return sum, err
		}
	}
}

const (
	// firstWait and longWait are the longest waits after the first failure and after any failure if a server names
	// none.
	firstWait, longWait = time.Second, 30 * time.Second
	// maxAfter is the longest wait that a server may ask for; beyond it the call fails and says so.
	maxAfter = 2 * time.Minute
	// afterShare is the largest additional wait, as a share of what a server asks for.
	afterShare = 0.1
	// waiting is the purpose of the draws here.
	waiting draws.Purpose = 1 << 16
)

// wait returns how long to wait after the nth attempt, or why there is no further one: a random time up to 2^(n−1)
// seconds, at most 30, so that calls which failed together are not repeated together; or as long as the server asks
// and up to a tenth more.
func (c *Client) wait(f *Failure, n int) (d time.Duration, stop string) {
	switch {
	case !f.Passing():
		return 0, "it will not pass"
	case n >= max(c.config.Attempts, 1):
		return 0, document.Count(n, "attempt")
	case f.After > maxAfter:
		return 0, fmt.Sprintf("the server asks to wait %v, longer than the %v that are waited for",
			f.After.Round(time.Second), maxAfter)
	}
	u := draws.Unit(c.jitter.Uint64(waiting, c.waits.Add(1)))
	if f.After > 0 {
		return f.After + time.Duration(u*afterShare*float64(f.After)), ""
	}
	return time.Duration(u * float64(min(longWait, firstWait<<min(n-1, 10)))), ""
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

// once sends a request and reads the answer, in one piece: nothing is shown while it is written. Beside an error it
// returns what was billed.
func (c *Client) once(ctx context.Context, r *Request, body []byte) (*Reply, error) {
	began, most := time.Now(), r.most(body)
	var begun bool
	reply, err := c.exchange(ctx, body, &begun)
	if err == nil {
		err = reply.settle(most)
	}
	if err == nil {
		reply.Total, reply.Attempts = time.Since(began), 1
		c.config.Key.redactReply(reply)
		return reply, nil
	}
	if ctx.Err() != nil && !errors.As(err, new(*refusal)) {
		err = ctx.Err()
	} else {
		err = c.failure(err, begun)
	}
	return &Reply{}, err
}

// exchange posts a body and returns the answer. begun is set if the request went out in full: it may be billed.
func (c *Client) exchange(ctx context.Context, body []byte, begun *bool) (*Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, errTimeout)
	defer cancel()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { sent.Store(false) },
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.address(req)
	resp, err := c.http.Do(req)
	if *begun = err == nil || sent.Load(); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	reply, err := c.answer(resp)
	var said *refusal
	switch {
	case errors.As(err, &said):
		said.status = resp.StatusCode
	case err != nil && !errors.As(err, new(*Failure)):
		err = cmp.Or(context.Cause(ctx), err)
	}
	return reply, err
}

func (c *Client) answer(resp *http.Response) (*Reply, error) {
	if err := c.refused(resp); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxResponse:
		return nil, errTooLarge
	}
	return decodeReply(c.config.Provider, text)
}

// address sets the headers of a request.
func (c *Client) address(req *http.Request) {
	req.Header.Set("Content-Type", "application/json")
	key := c.config.Key.secret()
	switch {
	case c.config.Provider != OpenAI:
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.Header.Set("X-Api-Key", key)
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

var (
	errTooLarge = errors.New("the response exceeds the limit for responses")
	errTimeout  = errors.New("the response took too long")
)
