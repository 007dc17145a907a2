package devserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/nearest"
)

// The kinds of faults beside HTTP statuses.
const (
	FaultReset      = "reset"           // the connection is cut in the middle of the response
	FaultCut        = "cut"             // the response ends in good order, ahead of its last event
	FaultLoris      = "loris"           // the response goes on for ever, without content
	FaultStall      = "stall"           // the response begins and stands still
	FaultMalformed  = "malformed"       // an event is no JSON
	FaultTruncated  = "truncated"       // the JSON of the last event is cut off
	FaultErrorEvent = "error-event"     // an error comes in the middle of the stream
	FaultFlood      = "flood"           // far more text than was asked for
	FaultTooLong    = "too-long"        // the prompt is refused, with its size
	FaultTooLongNo  = "too-long-no-gap" // the prompt is refused, without its size
	FaultEmpty      = "empty"           // an answer without text
	FaultToolCall   = "tool-call"       // a tool call in the place of text
	FaultRefusal    = "refusal"         // the model declines
)

var faultKinds = []string{FaultReset, FaultCut, FaultLoris, FaultStall, FaultMalformed, FaultTruncated, FaultErrorEvent,
	FaultFlood, FaultTooLong, FaultTooLongNo, FaultEmpty, FaultToolCall, FaultRefusal}

// FaultKinds returns the kinds of faults beside HTTP statuses.
func FaultKinds() []string { return slices.Clone(faultKinds) }

// Fault is what goes wrong with some requests.
type Fault struct {
	Kind   string // one of the Fault…, or "" for Status
	Status int    // of HTTP, 400…599
	// After is the Retry-After of a status, Date says that it is sent as a date.
	After time.Duration
	Date  bool
	Every time.Duration // FaultLoris: time from one ping to the next; 0 for 100 ms
	Calls []Calls       // which requests by ordinal, from 1; with no Share either, all
	Share float64       // of requests that are drawn, 0…1
}

// Calls is a range of ordinals, both ends included.
type Calls struct{ From, To int }

// ParseFaults reads faults as ParseFault does, and returns all that is wrong with
// them.
func ParseFaults(texts ...string) ([]Fault, error) {
	var list []Fault
	var errs []error
	for _, text := range texts {
		f, err := ParseFault(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, f)
	}
	return list, errors.Join(errs...)
}

// ParseFault reads a fault written as KIND[:PARAM=VALUE…][@WHICH]. KIND is an
// HTTP status or one of FaultKinds; parameters are retry-after and
// retry-after-date in seconds, and every as a duration. WHICH lists ordinals
// (2,5-7) or is a share of all requests (10%).
//
//	429:retry-after=1@2,5    529@10%    reset@3
func ParseFault(s string) (Fault, error) {
	head, which, some := strings.Cut(s, "@")
	kind, params, _ := strings.Cut(head, ":")
	var f Fault
	if n, err := strconv.Atoi(kind); err == nil {
		f.Status = n
		if n < 400 || n > 599 {
			return f, fmt.Errorf("fault %q: status %d is no error", s, n)
		}
	} else if f.Kind = kind; !slices.Contains(faultKinds, kind) {
		return f, fmt.Errorf("fault %q: unknown kind %q%s; known: an HTTP status, %s", s, kind, nearest.Hint(kind, faultKinds), strings.Join(faultKinds, ", "))
	}
	if err := f.parameters(params); err != nil {
		return f, fmt.Errorf("fault %q: %w", s, err)
	}
	if !some {
		return f, nil
	}
	if err := f.which(which); err != nil {
		return f, fmt.Errorf("fault %q: %w", s, err)
	}
	return f, nil
}

func (f *Fault) parameters(s string) error {
	if s == "" {
		return nil
	}
	names := []string{"retry-after", "retry-after-date", "every"}
	for _, p := range strings.Split(s, ":") {
		name, value, _ := strings.Cut(p, "=")
		var err error
		switch name {
		case "retry-after", "retry-after-date":
			var n float64
			n, err = strconv.ParseFloat(value, 64)
			if err == nil && !(n >= 0 && n <= 1e9) {
				err = errors.New("want seconds")
			}
			f.After, f.Date = time.Duration(n*float64(time.Second)), name == "retry-after-date"
		case "every":
			f.Every, err = time.ParseDuration(value)
			if err == nil && f.Every <= 0 {
				err = errors.New("want more than nothing")
			}
		default:
			return fmt.Errorf("unknown parameter %q%s; known: %s", name, nearest.Hint(name, names), strings.Join(names, ", "))
		}
		if err != nil {
			return fmt.Errorf("%s %q: %w", name, value, err)
		}
	}
	return nil
}

func (f *Fault) which(s string) error {
	if share, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.ParseFloat(share, 64)
		f.Share = n / 100
		if err != nil || !(f.Share > 0 && n <= 100) { // of the smallest numbers a hundredth is 0, which would be all
			return fmt.Errorf("share %q: want a number above 0 and up to 100", s)
		}
		return nil
	}
	for _, part := range strings.Split(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 1 || to < from {
			return fmt.Errorf("requests %q: want ordinals from 1, as in 2,5-7, or a share, as in 10%%", part)
		}
		f.Calls = append(f.Calls, Calls{from, to})
	}
	return nil
}

// faulty is the purpose of the draws here.
const faulty draws.Purpose = 2 << 16

// pick returns the first fault that meets a request.
func pick(faults []Fault, ordinal int, seed uint64) *Fault {
	for i := range faults {
		f := &faults[i]
		switch {
		case f.Share > 0:
			if draws.Unit(draws.Source{Seed: seed, Session: uint64(i)}.Uint64(faulty, uint64(ordinal))) < f.Share {
				return f
			}
		case len(f.Calls) == 0, slices.ContainsFunc(f.Calls, func(c Calls) bool { return c.From <= ordinal && ordinal <= c.To }):
			return f
		}
	}
	return nil
}

// is reports whether a fault, if any, is of a kind.
func (f *Fault) is(kind string) bool { return f != nil && f.Kind == kind }

// refuses reports whether the fault is an error in the place of an answer.
func (f *Fault) refuses() bool {
	return f.Kind == "" || f.Kind == FaultTooLong || f.Kind == FaultTooLongNo
}

// statusKinds are the types of errors by status.
var statusKinds = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}

// refusal returns the error. A prompt of the tokens is always too long here: a
// window that it would fit into is made smaller.
func (f *Fault) refusal(tokens, window int64) *apiError {
	if f.Kind != "" {
		return tooLong(tokens, min(window, tokens*3/4), f.Kind == FaultTooLongNo)
	}
	e := &apiError{status: f.Status, kind: statusKinds[f.Status], message: http.StatusText(f.Status), after: f.After, date: f.Date}
	switch {
	case e.kind != "":
	case f.Status < http.StatusInternalServerError:
		e.kind = "invalid_request_error"
	default:
		e.kind = "api_error"
	}
	if e.message == "" {
		e.message = "Overloaded"
	}
	return e
}
