package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/go-json-experiment/json"
)

// Cause says why a call gave no reply.
type Cause string

// The causes of failures.
const (
	CauseTooLong    Cause = "prompt too long"    // the server refuses the prompt
	CauseRate       Cause = "rate limited"       // 429
	CauseOverloaded Cause = "overloaded"         // 529
	CauseServer     Cause = "server error"       // 500 and its like
	CauseBroken     Cause = "broken response"    // cut before its end, or with impossible counts; the server may have begun to work
	CauseNetwork    Cause = "network"            // the server could not be reached
	CauseTimeout    Cause = "timeout"            // the response did not end in time
	CauseAuth       Cause = "authentication"     // 401, 403: wrong key
	CauseModel      Cause = "unknown model"      // 404
	CauseRequest    Cause = "bad request"        // 400, other than too long
	CauseTooLarge   Cause = "response too large" // beyond the limit for a response
)

// Failure is why a call has no answer. It has nothing of the request's headers.
type Failure struct {
	Cause   Cause         `json:"cause"`
	Status  int           `json:"status,omitzero"`   // of HTTP, 0 for none
	Message string        `json:"message,omitzero"`  // of the server, cut to a few hundred bytes
	Excess  int64         `json:"excess,omitzero"`   // CauseTooLong: tokens above the limit, if told
	After   time.Duration `json:"after_ns,omitzero"` // how long the server asks to wait; 0 for no word
}

// Error names cause, status and the server's message.
func (f *Failure) Error() string {
	s := string(f.Cause)
	if f.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	return s
}

// Passing reports whether the same request may succeed later.
func (f *Failure) Passing() bool {
	switch f.Cause {
	case CauseRate, CauseOverloaded, CauseServer, CauseBroken, CauseNetwork, CauseTimeout:
		return true
	}
	return false
}

// Fatal reports whether every other call will fail in the same way, so that the caller should stop.
func (f *Failure) Fatal() bool { return f.Cause == CauseAuth || f.Cause == CauseModel }

// maxMessage is how many bytes of a server's message a failure keeps.
const maxMessage = 300

// maxRead is how many bytes of a server's message are read.
const maxRead = 8 << 10

// refusal is an error answer of a server, in either API.
type refusal struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Code    any    `json:"code,omitzero"` // servers differ in its type

	status int
	header http.Header
}

// Error returns the server's message.
func (r *refusal) Error() string { return r.Message }

// or returns the refusal, with a type and a message where it has none.
func (r *refusal) or(kind, message string) *refusal {
	if r == nil {
		r = &refusal{}
	}
	r.Type, r.Message = cmp.Or(r.Type, kind), cmp.Or(r.Message, message)
	return r
}

// failure turns the error of an exchange into a failure. Errors that no server
// sent are reported without the address, which may hold a key. begun says that the server may bill the call all the same.
func (c *Client) failure(err error, begun bool) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	f := &Failure{Cause: CauseNetwork}
	var said *refusal
	if errors.As(err, &said) {
		said.Message = said.Message[:min(len(said.Message), maxRead)]
		f.Status, f.Cause, f.After = said.status, said.cause(), retryAfter(said.header)
		if f.Cause == CauseTooLong {
			f.Excess = excess(said.Message)
		}
		f.Message = clip(c.config.Key.redact(said.Message))
		return f
	}
	if begun {
		f.Cause = CauseBroken
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var t interface{ Timeout() bool }
	switch {
	case errors.Is(err, errTooLarge):
		f.Cause = CauseTooLarge
	case errors.Is(err, errTimeout), errors.As(err, &t) && t.Timeout():
		f.Cause = CauseTimeout
	}
	f.Message = clip(c.config.Key.redact(err.Error()))
	return f
}

// causes are the causes of errors by their code or type, which is more specific than the status,
// or by their status: some servers send errors with status 200.
var causes = map[string]Cause{
	"overloaded_error":        CauseOverloaded,
	"rate_limit_error":        CauseRate,
	"rate_limit_exceeded":     CauseRate,
	"authentication_error":    CauseAuth,
	"permission_error":        CauseAuth,
	"billing_error":           CauseAuth,
	"insufficient_quota":      CauseAuth,
	"invalid_api_key":         CauseAuth,
	"not_found_error":         CauseModel,
	"model_not_found":         CauseModel,
	"request_too_large":       CauseTooLong,
	"context_length_exceeded": CauseTooLong,
	"timeout_error":           CauseTimeout,
	"api_error":               CauseServer,
	"server_error":            CauseServer,

	"401": CauseAuth, "402": CauseAuth, "403": CauseAuth, "404": CauseModel, "413": CauseTooLong,
	"408": CauseTimeout, "409": CauseServer, "429": CauseRate, "529": CauseOverloaded, // these pass
}

func (r *refusal) cause() Cause {
	sized := r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge
	if (sized || r.status < http.StatusMultipleChoices) && tooLong.MatchString(r.Message) {
		return CauseTooLong
	}
	// An account without credit gets a bad-request error; every other request would
	// get it too.
	if strings.Contains(r.Message, "credit balance is too low") {
		return CauseAuth
	}
	code, _ := r.Code.(string)
	if c := cmp.Or(causes[code], causes[r.Type], causes[strconv.Itoa(r.status)]); c != "" {
		return c
	}
	if r.status >= http.StatusInternalServerError || r.status < http.StatusMultipleChoices {
		return CauseServer
	}
	return CauseRequest
}

// tooLong matches servers' messages about a prompt beyond the window.
var tooLong = regexp.MustCompile(`(?i)(prompt|input) is too long|maximum context length|context length exceeded|` +
	`exceeds? the (available )?context|input tokens exceed|exceed context limit`)

// gaps match the size of a prompt, its output, which is added to it, and the limit in such a message.
var gaps = []*regexp.Regexp{
	regexp.MustCompile(`(?i)too long: *(?P<size>[\d,]+) tokens? *> *(?P<limit>[\d,]+)`),
	regexp.MustCompile(`(?i)(?:maximum context length is|configured limit of) *(?P<limit>[\d,]+).*?` +
		`(?:resulted in|requested) *(?P<size>[\d,]+)`),
	regexp.MustCompile(`(?i)exceed context limit: *(?P<size>[\d,]+) *\+ *(?P<output>[\d,]+) *> *(?P<limit>[\d,]+)`),
}

// excess returns by how many tokens a prompt is too long, 0 if the message does not say.
func excess(message string) int64 {
	const most = 1 << 40 // of tokens in a message, so that sums stay in range
	for _, re := range gaps {
		m := re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		var over int64
		for i, name := range re.SubexpNames()[1:] {
			n, err := strconv.ParseInt(strings.ReplaceAll(m[i+1], ",", ""), 10, 64)
			if err != nil || n > most {
				return 0
			}
			if name == "limit" {
				n = -n
			}
			over += n
		}
		return max(over, 0)
	}
	return 0
}

// retryAfter returns how long a response asks to wait, 0 for no number of seconds.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(s > 0) {
		return 0
	}
	return time.Duration(min(s, math.MaxInt32) * float64(time.Second)) // longer than anybody waits
}

// clip returns s in one line of at most maxMessage bytes.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}

// gaveUp returns the last failure of a call, with why there is no further attempt.
func gaveUp(f *Failure, why string) error {
	last := *f
	if last.Passing() {
		if last.Message != "" {
			last.Message += "; "
		}
		last.Message += "gave up: " + why
	}
	return &last
}

// refused returns why a response is no answer, nil if it may be one.
func (c *Client) refused(resp *http.Response) error {
	switch status := resp.StatusCode; {
	case status >= http.StatusBadRequest:
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxRead))
		if err != nil && len(text) == 0 {
			text = []byte(http.StatusText(status))
		}
		var e struct {
			Error *refusal `json:"error"`
		}
		if json.Unmarshal(text, &e) != nil {
			e.Error = nil
		}
		r := e.Error.or("", string(text))
		r.header = resp.Header
		return r
	case status >= http.StatusMultipleChoices:
		return &refusal{Message: "the server points elsewhere, where the key is not sent", header: resp.Header}
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "application/json" {
		return nil
	}
	return &Failure{
		Cause: CauseRequest, Status: resp.StatusCode,
		Message: fmt.Sprintf("the answer is %q, not JSON: does the base URL lead to such an API?", clip(c.config.Key.redact(kind))),
	}
}

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
