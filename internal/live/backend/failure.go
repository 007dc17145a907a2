package backend

import (
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

	"github.com/compactsim/compactsim/internal/live/wire"
)

// maxMessage is how many bytes of a server's message a failure keeps.
const maxMessage = 300

// maxRead is how many bytes of a server's message are looked at.
const maxRead = 8 << 10

// refusal is what a server says when it answers with an error.
type refusal struct {
	status  int
	kind    string // the type of the error, in the provider's words
	message string
	header  http.Header
}

// failure turns a server's answer into a failure.
func (r refusal) failure(k Key) *wire.Failure {
	r.message = r.message[:min(len(r.message), maxRead)]
	f := &wire.Failure{Status: r.status, Message: clip(k.redact(r.message)), Attempts: 1}
	f.Cause = r.cause()
	if f.Cause == wire.CauseTooLong {
		f.Excess = excess(r.message)
	}
	f.After = retryAfter(r.header, time.Now())
	return f
}

// kinds are the causes by the type of an error, which says more than its status:
// an error inside a stream comes with status 200.
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

func (r refusal) cause() wire.Cause {
	if tooLong.MatchString(r.message) && (r.status == 0 || r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge) {
		return wire.CauseTooLong
	}
	// An account without credit is refused as a bad request: no other request
	// will fare better.
	if strings.Contains(r.message, "credit balance is too low") {
		return wire.CauseAuth
	}
	if c, ok := kinds[r.kind]; ok {
		return c
	}
	switch {
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.status == http.StatusPaymentRequired:
		return wire.CauseAuth
	case r.status == http.StatusNotFound:
		return wire.CauseModel
	case r.status == http.StatusRequestEntityTooLarge:
		return wire.CauseTooLong
	case r.status == http.StatusRequestTimeout:
		return wire.CauseTimeout
	case r.status == http.StatusTooManyRequests:
		return wire.CauseRate
	case r.status == 529:
		return wire.CauseOverloaded
	case r.status >= http.StatusInternalServerError, r.status < http.StatusMultipleChoices:
		return wire.CauseServer
	}
	return wire.CauseRequest
}

// tooLong finds what servers say about a prompt beyond the window.
var tooLong = regexp.MustCompile(`(?i)prompt is too long|input is too long|maximum context length|context length exceeded|exceeds? the (available )?context|input tokens exceed|exceed context limit`)

// gaps find the size of a prompt and the limit in such a message, in this order
// or the other.
var gaps = []struct {
	re          *regexp.Regexp
	size, limit int // groups
	output      int // group of the output that is added to the size, 0 for none
}{
	{regexp.MustCompile(`(?i)too long: *([\d,]+) tokens? *> *([\d,]+)`), 1, 2, 0},
	{regexp.MustCompile(`(?i)(?:maximum context length is|configured limit of) *([\d,]+).*?(?:resulted in|requested) *([\d,]+)`), 2, 1, 0},
	{regexp.MustCompile(`(?i)exceed context limit: *([\d,]+) *\+ *([\d,]+) *> *([\d,]+)`), 1, 3, 2},
}

// excess returns by how many tokens a prompt is too long, 0 when the message
// does not tell.
func excess(message string) int64 {
	for _, g := range gaps {
		m := g.re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		size, limit, output := number(m[g.size]), number(m[g.limit]), int64(0)
		if g.output > 0 {
			output = number(m[g.output])
		}
		if size >= 0 && output >= 0 && limit >= 0 && size+output > limit {
			return size + output - limit
		}
	}
	return 0
}

// maxTokens bounds a number of tokens in a message: their sums stay in range.
const maxTokens = 1 << 40

// number reads a number with or without commas, −1 for one that is out of range.
func number(s string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil || n > maxTokens {
		return -1
	}
	return n
}

// retryAfter returns how long a response asks to wait, 0 for no word or for a
// time that has passed. A date is taken against the server's own clock where
// the response shows it: ours may be wrong.
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

// unanswered turns an error that no server sent into a failure: begun says that
// a response had begun. A request that had gone out in full is as good: it may
// have been worked on. The address stays out of the message: it may hold a key.
func unanswered(err error, begun bool, k Key) *wire.Failure {
	f := &wire.Failure{Cause: wire.CauseNetwork, Attempts: 1}
	var sent *sentError
	if begun || errors.As(err, &sent) {
		f.Cause = wire.CauseBroken
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
	f.Message = clip(k.redact(err.Error()))
	return f
}

// ended returns the error of a call whose caller's context ended: the context's
// together with what its attempts had been billed.
func ended(ctx context.Context, attempts int, billed wire.Usage) error {
	return fmt.Errorf("%w: %w", ctx.Err(), &wire.Failure{Cause: wire.CauseBroken, Message: "the caller gave up", Attempts: attempts, Billed: billed})
}

// clip returns s in one line of at most maxMessage bytes.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
