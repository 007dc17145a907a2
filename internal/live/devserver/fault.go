package devserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/nearest"
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

// faults are the kinds of faults beside HTTP statuses.
var faults = []struct {
	kind string
	at   moment
	does string
}{
	{"reset", midway, "the connection is cut in the middle of the response"},
	{"cut", midway, "the response ends in good order, ahead of its last event"},
	{"truncated", midway, "the JSON of the last event is cut off"},
	{"malformed", midway, "an event is no JSON"},
	{"error-event", midway, "an error comes in the middle of the stream"},
	{"stall", opening, "the response begins and stands still"},
	{"loris", opening, "the response goes on for ever, without content"},
	{"flood", opening, "the response is far too large"},
	{"too-long", refusing, "the prompt is refused, with its size"},
	{"too-long-no-gap", refusing, "the prompt is refused, without its size"},
	{"empty", speaking, "the answer has no text"},
	{"tool-call", speaking, "the answer is a tool call"},
	{"refusal", speaking, "the model declines"},
}

// FaultKinds returns the kinds of faults beside HTTP statuses.
func FaultKinds() []string {
	var list []string
	for _, f := range faults {
		list = append(list, f.kind)
	}
	return list
}

// FaultHelp lists the kinds of faults with what they do, a line for each.
func FaultHelp() string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "  %-16s %s\n", f.kind, f.does)
	}
	return b.String()
}

// Fault is what goes wrong with some requests.
type Fault struct {
	Kind   string        // one of FaultKinds, or "" for Status
	Status int           // of HTTP, 400…599
	After  time.Duration // the Retry-After of a status, 0 for none
	Calls  []Calls       // which requests by ordinal, from 1; with no Share either, all
	Share  float64       // of requests that are drawn, 0…1
}

// Calls is a range of ordinals, both ends included.
type Calls struct{ From, To int }

// ParseFaults reads faults, and returns all that is wrong with them. One is written
// KIND[:retry-after=SECONDS][@WHICH]. KIND is an HTTP status or one of FaultKinds. WHICH lists ordinals (2,5-7) or is a share of all requests (10%).
//
//	429:retry-after=1@2,5    529@10%    reset@3
func ParseFaults(texts ...string) ([]Fault, error) {
	var list []Fault
	var errs []error
	for _, text := range texts {
		var f Fault
		if err := f.parse(text); err != nil {
			errs = append(errs, fmt.Errorf("fault %q: %w", text, err))
		}
		list = append(list, f)
	}
	return list, errors.Join(errs...)
}

func (f *Fault) parse(s string) (err error) {
	head, which, some := strings.Cut(s, "@")
	kind, parameter, _ := strings.Cut(head, ":")
	if f.Status, err = strconv.Atoi(kind); err != nil {
		f.Kind = kind
		if known := FaultKinds(); !slices.Contains(known, f.Kind) {
			return fmt.Errorf("unknown kind %q%s; known: an HTTP status, %s", f.Kind, nearest.Hint(f.Kind, known),
				strings.Join(known, ", "))
		}
	} else if f.Status < 400 || f.Status > 599 {
		return fmt.Errorf("status %d is no error", f.Status)
	}
	if parameter != "" {
		after, ok := strings.CutPrefix(parameter, "retry-after=")
		if f.After, err = time.ParseDuration(after + "s"); !ok || err != nil || f.After < 0 {
			return fmt.Errorf("%q: want retry-after=SECONDS", parameter)
		}
	}
	if some {
		return f.which(which)
	}
	return nil
}

func (f *Fault) which(s string) error {
	if share, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.ParseFloat(share, 64)
		f.Share = n / 100
		if err != nil || !(f.Share > 0 && n <= 100) { // a hundredth of the smallest number is 0, which means all
			return fmt.Errorf("share %q: want a number above 0 and up to 100", s)
		}
		return nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to < from {
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
		if k.kind == f.Kind {
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

// refusal returns the error. A prompt is always too long here: a window that it would fit into is made smaller.
func (f *Fault) refusal(tokens, window int64) *apiError {
	switch f.Kind {
	case "too-long":
		return tooLong(tokens, min(window, tokens*3/4))
	case "too-long-no-gap":
		return invalid("Input is too long for requested model.")
	}
	kind := "invalid_request_error"
	if f.Status >= http.StatusInternalServerError {
		kind = "api_error"
	}
	return &apiError{
		status: f.Status, kind: cmp.Or(statusKinds[f.Status], kind), message: cmp.Or(http.StatusText(f.Status), "Overloaded"),
		after: f.After,
	}
}

// response is an answer in the form of an API: as a whole, or event by event.
type response struct {
	whole  any
	events []event
	head   int   // how many events stand ahead of all content
	flood  event // more content than was asked for
	broken event // an error in the middle
}

// event is an event of a stream: a value for JSON, or bytes as they are.
type event struct {
	name  string
	value any
}

// raw are bytes that an event has in the place of JSON.
type raw string

// floodText is what the flood repeats.
var floodText = strings.Repeat("too much of a good thing, ", 400)

// respond writes an answer, or what the fault makes of it, and counts one that was written whole and intact.
func (c *call) respond(r *response, stream bool) {
	var done bool
	if stream {
		c.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		c.w.Header().Set("Cache-Control", "no-cache")
		done = c.stream(r)
	} else {
		c.w.Header().Set("Content-Type", "application/json")
		done = c.once(r)
	}
	if at := c.fault.when(); done && (at == never || at == speaking) {
		c.server.count(c.digest, 0, 1)
	}
}

// once writes an answer as a whole. A fault of the stream cuts it.
func (c *call) once(r *response) bool {
	body, err := json.Marshal(r.whole)
	if err != nil {
		return false
	}
	if at := c.fault.when(); at == opening || at == midway {
		_, _ = c.w.Write(body[:len(body)/2]) // it is cut anyway
		c.breakOff()
		return false
	}
	_, err = c.w.Write(body)
	return err == nil
}

// stream writes an answer event by event, and reports whether all were written. The last goes out once the answer
// is counted.
func (c *call) stream(r *response) bool {
	for i, e := range r.events {
		if i == r.head && c.fault.when() == opening {
			c.forever(r)
			return false
		}
		if i == (r.head+len(r.events))/2 && c.fault.when() == midway && !c.garble(r) {
			return false
		}
		if i == len(r.events)-1 {
			return c.write(e)
		}
		if !c.send(e) {
			return false
		}
	}
	return true
}

// send writes and flushes an event. It returns false once the client has gone.
func (c *call) send(e event) bool {
	return c.write(e) && http.NewResponseController(c.w).Flush() == nil
}

// write writes an event without sending it.
func (c *call) write(e event) bool {
	data, isRaw := e.value.(raw)
	if !isRaw {
		b, err := json.Marshal(e.value)
		if err != nil {
			return false
		}
		data = raw(b)
	}
	var b bytes.Buffer
	if e.name != "" {
		b.WriteString("event: " + e.name + "\n")
	}
	b.WriteString("data: " + string(data) + "\n\n")
	_, err := c.w.Write(b.Bytes())
	return err == nil
}

// forever makes the faults that have no end, until the client goes.
func (c *call) forever(r *response) {
	switch c.fault.Kind {
	case "stall":
		<-c.r.Context().Done()
	case "loris":
		for c.delay(50*time.Millisecond) && c.send(event{"ping", map[string]string{"type": "ping"}}) {
		}
	case "flood":
		for n := 0; n < 64<<20 && c.send(r.flood); n += len(floodText) {
		}
	}
}

// garble makes the faults in the middle of a stream, and reports whether the stream continues.
func (c *call) garble(r *response) bool {
	switch c.fault.Kind {
	case "reset":
		c.breakOff()
	case "truncated":
		c.send(event{r.flood.name, raw(`{"type":"content_block_delta","index":0,"delta":{"type":"text_del`)})
	case "malformed":
		c.send(event{r.flood.name, raw(`{this is no JSON}`)})
		return true
	case "error-event":
		c.send(r.broken)
	}
	return false
}

// breakOff ends a response that has begun in the way of the fault.
func (c *call) breakOff() {
	control := http.NewResponseController(c.w)
	_ = control.Flush() // the client may have gone
	switch c.fault.Kind {
	case "reset":
		if conn, _, err := control.Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case "loris", "stall":
		<-c.r.Context().Done()
	}
}

// parts cuts a text into the pieces of a stream, at the borders of characters.
func parts(s string) []string {
	const size = 400
	var list []string
	for len(s) > size {
		n := size
		for n > 1 && s[n]&0xC0 == 0x80 {
			n--
		}
		list, s = append(list, s[:n]), s[n:]
	}
	return append(list, s)
}
