package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/serving/live/api"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// maxMessage is how many bytes of a server's message a failure keeps.
const maxMessage = 300

// maxRead is how many bytes of a server's message are read.
const maxRead = 8 << 10

// refusal is an error answer of a server.
type refusal struct {
	status  int
	kind    string // the type of the error, in the provider's words
	message string
	header  http.Header
}

// Error returns the server's message.
func (r *refusal) Error() string { return r.message }

// take takes over an error of the API. Its code counts as the kind if it is a known one.
func (r *refusal) take(e *api.Error) {
	if e == nil {
		return
	}
	r.kind = cmp.Or(e.Type, r.kind)
	if code, ok := e.Code.(string); ok {
		if _, known := kinds[code]; known {
			r.kind = code
		}
	}
	r.message = cmp.Or(e.Message, r.message)
}

// failure turns the error of an exchange into a failure. Errors that no server
// sent are reported without the address, which may hold a key.
func (c *Client) failure(err error) *wire.Failure {
	var known *wire.Failure
	if errors.As(err, &known) {
		return known
	}
	f := &wire.Failure{Cause: wire.CauseNetwork, Attempts: 1}
	var said *refusal
	if errors.As(err, &said) {
		said.message = said.message[:min(len(said.message), maxRead)]
		f.Status, f.Cause, f.After = said.status, said.cause(), retryAfter(said.header, time.Now())
		if f.Cause == wire.CauseTooLong {
			f.Excess = excess(said.message)
		}
		f.Message = clip(c.key.redact(said.message))
		return f
	}
	var begun *brokenError
	if errors.As(err, &begun) {
		f.Cause, err = wire.CauseBroken, begun.error
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var t interface{ Timeout() bool }
	switch {
	case errors.Is(err, errTooLarge):
		f.Cause = wire.CauseTooLarge
	case errors.Is(err, errIdle), errors.Is(err, errTimeout), errors.As(err, &t) && t.Timeout():
		f.Cause = wire.CauseTimeout
	}
	f.Message = clip(c.key.redact(err.Error()))
	return f
}

// kinds are causes by the type of an error, which is more specific than the
// status: an error inside a stream has status 200.
var kinds = map[string]wire.Cause{
	"overloaded_error":        wire.CauseOverloaded,
	"rate_limit_error":        wire.CauseRate,
	"rate_limit_exceeded":     wire.CauseRate,
	"authentication_error":    wire.CauseAuth,
	"permission_error":        wire.CauseAuth,
	"billing_error":           wire.CauseAuth,
	"insufficient_quota":      wire.CauseAuth,
	"invalid_api_key":         wire.CauseAuth,
	"not_found_error":         wire.CauseModel,
	"model_not_found":         wire.CauseModel,
	"request_too_large":       wire.CauseTooLong,
	"context_length_exceeded": wire.CauseTooLong,
	"timeout_error":           wire.CauseTimeout,
	"api_error":               wire.CauseServer,
	"server_error":            wire.CauseServer,
}

// statuses are the causes by the status of an answer.
var statuses = map[int]wire.Cause{
	http.StatusUnauthorized:          wire.CauseAuth,
	http.StatusForbidden:             wire.CauseAuth,
	http.StatusPaymentRequired:       wire.CauseAuth,
	http.StatusNotFound:              wire.CauseModel,
	http.StatusRequestEntityTooLarge: wire.CauseTooLong,
	http.StatusRequestTimeout:        wire.CauseTimeout,
	http.StatusConflict:              wire.CauseServer, // passes, as in the provider's own clients
	http.StatusTooManyRequests:       wire.CauseRate,
	529:                              wire.CauseOverloaded,
}

func (r *refusal) cause() wire.Cause {
	sized := r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge
	if (sized || r.status < http.StatusMultipleChoices) && tooLong.MatchString(r.message) {
		return wire.CauseTooLong
	}
	// An account without credit gets a bad-request error; every other request would
	// get it too.
	if strings.Contains(r.message, "credit balance is too low") {
		return wire.CauseAuth
	}
	if c, ok := kinds[r.kind]; ok {
		return c
	}
	if c, ok := statuses[r.status]; ok {
		return c
	}
	if r.status >= http.StatusInternalServerError || r.status < http.StatusMultipleChoices {
		return wire.CauseServer
	}
	return wire.CauseRequest
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

// retryAfter returns how long a response asks to wait, 0 for no value or a past time. A date is
// compared with the server's clock if the response shows it, because ours may be wrong.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return max(at.Sub(now), 0)
}

// seconds returns s as a duration from 0 to the longest there is.
func seconds(s float64) time.Duration {
	switch {
	case !(s > 0):
		return 0
	case s >= math.MaxInt64/float64(time.Second):
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}

// ended returns the error of a call whose context ended: the context's error, with what the attempts were billed.
func ended(ctx context.Context, attempts int, billed wire.Usage) error {
	return fmt.Errorf("%w: %w", ctx.Err(),
		&wire.Failure{Cause: wire.CauseBroken, Message: "the caller gave up", Attempts: attempts, Billed: billed})
}

// clip returns s in one line of at most maxMessage bytes.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
