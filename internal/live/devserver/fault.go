package devserver

import (
	"cmp"
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
	faultReset      = "reset"           // the connection is cut in the middle of the response
	faultCut        = "cut"             // the response ends in good order, ahead of its last event
	faultTruncated  = "truncated"       // the JSON of the last event is cut off
	faultMalformed  = "malformed"       // an event is no JSON
	faultErrorEvent = "error-event"     // an error comes in the middle of the stream
	faultStall      = "stall"           // the response begins and stands still
	faultLoris      = "loris"           // the response goes on for ever, without content
	faultFlood      = "flood"           // far more text than was asked for
	faultTooLong    = "too-long"        // the prompt is refused, with its size
	faultTooLongNo  = "too-long-no-gap" // the prompt is refused, without its size
	faultEmpty      = "empty"           // an answer without text
	faultToolCall   = "tool-call"       // a tool call in the place of text
	faultRefusal    = "refusal"         // the model declines
)

// moment says when a fault strikes.
type moment uint8

const (
	never    moment = iota
	refusing        // an error in the place of an answer
	opening         // behind the head of the stream, without end
	midway          // in the middle of the response
	speaking        // the answer is complete, and odd
)

// faults are the kinds of faults by what they do.
var faults = []struct {
	at    moment
	kinds []string
	does  string
}{
	{midway, []string{faultReset, faultCut, faultTruncated, faultMalformed, faultErrorEvent},
		"the response breaks off, or is garbled"},
	{opening, []string{faultStall, faultLoris}, "it stands still, or never ends"},
	{opening, []string{faultFlood}, "it is far too large"},
	{refusing, []string{faultTooLong, faultTooLongNo}, "the prompt is refused, with its size or without"},
	{speaking, []string{faultEmpty, faultToolCall, faultRefusal}, "there is no text in it"},
}

// FaultKinds returns the kinds of faults beside HTTP statuses.
func FaultKinds() []string {
	var list []string
	for _, f := range faults {
		list = append(list, f.kinds...)
	}
	return list
}

// FaultHelp lists the kinds of faults with what they do, a line for each sort.
func FaultHelp() string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "  %-43s %s\n", strings.Join(f.kinds, " "), f.does)
	}
	return b.String()
}

// Fault is what goes wrong with some requests.
type Fault struct {
	Kind   string // one of FaultKinds, or "" for Status
	Status int    // of HTTP, 400…599
	// After is the Retry-After of a status, Date says that it is sent as a date.
	After time.Duration
	Date  bool
	Every time.Duration // loris: time from one ping to the next; 0 for 100 ms
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
		list, errs = append(list, f), append(errs, err)
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
	err := f.kind(kind)
	if err == nil && params != "" {
		err = f.parameters(params)
	}
	if err == nil && some {
		err = f.which(which)
	}
	if err != nil {
		return f, fmt.Errorf("fault %q: %w", s, err)
	}
	return f, nil
}

func (f *Fault) kind(kind string) (err error) {
	if f.Status, err = strconv.Atoi(kind); err == nil {
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("status %d is no error", f.Status)
		}
		return nil
	}
	known := FaultKinds()
	if f.Kind = kind; !slices.Contains(known, kind) {
		return fmt.Errorf("unknown kind %q%s; known: an HTTP status, %s", kind, nearest.Hint(kind, known),
			strings.Join(known, ", "))
	}
	return nil
}

func (f *Fault) parameters(s string) error {
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

// pick returns the first fault that meets a request, nil for none.
func pick(faults []Fault, ordinal int, seed uint64) *Fault {
	for i := range faults {
		f := &faults[i]
		among := func(c Calls) bool { return c.From <= ordinal && ordinal <= c.To }
		meets := len(f.Calls) == 0 || slices.ContainsFunc(f.Calls, among)
		if f.Share > 0 {
			meets = draws.Unit(draws.Source{Seed: seed, Session: uint64(i)}.Uint64(faulty, uint64(ordinal))) < f.Share
		}
		if meets {
			return f
		}
	}
	return nil
}

// is reports whether a fault, if any, is of a kind.
func (f *Fault) is(kind string) bool { return f != nil && f.Kind == kind }

// when returns the moment at which a fault strikes, never for nil.
func (f *Fault) when() moment {
	if f == nil {
		return never
	}
	for _, k := range faults {
		if slices.Contains(k.kinds, f.Kind) {
			return k.at
		}
	}
	return refusing
}

// statusKinds are the types of errors by status.
var statusKinds = map[int]string{
	401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}

// refusal returns the error. A prompt of the tokens is always too long here: a
// window that it would fit into is made smaller.
func (f *Fault) refusal(tokens, window int64) *apiError {
	if f.Kind != "" {
		return tooLong(tokens, min(window, tokens*3/4), f.Kind == faultTooLongNo)
	}
	kind := "invalid_request_error"
	if f.Status >= http.StatusInternalServerError {
		kind = "api_error"
	}
	return &apiError{
		status: f.Status, kind: cmp.Or(statusKinds[f.Status], kind), message: cmp.Or(http.StatusText(f.Status), "Overloaded"),
		after: f.After, date: f.Date,
	}
}
