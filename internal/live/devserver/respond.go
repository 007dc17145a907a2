package devserver

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

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

// respond writes an answer, or what the fault makes of it, and counts one that was
// written to its end and can be read.
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

// stream writes an answer event by event, and reports whether all were written.
func (c *call) stream(r *response) bool {
	for i, e := range r.events {
		if i == r.head && c.fault.when() == opening {
			c.forever(r)
			return false
		}
		if i == (r.head+len(r.events))/2 && c.fault.when() == midway && !c.garble(r) {
			return false
		}
		if !c.send(e) {
			return false
		}
	}
	return true
}

// send writes an event; it returns false when the client has gone.
func (c *call) send(e event) bool {
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
	if _, err := c.w.Write(b.Bytes()); err != nil {
		return false
	}
	return http.NewResponseController(c.w).Flush() == nil
}

// forever makes the faults that have no end, until the client goes.
func (c *call) forever(r *response) {
	switch c.fault.Kind {
	case faultStall:
		<-c.r.Context().Done()
	case faultLoris:
		every := c.fault.Every
		if every == 0 {
			every = 100 * time.Millisecond
		}
		for c.delay(every) && c.send(event{"ping", map[string]string{"type": "ping"}}) {
		}
	case faultFlood:
		for n := 0; n < 64<<20 && c.send(r.flood); n += len(floodText) {
		}
	}
}

// garble makes the faults in the middle of a stream, and reports whether it goes
// on.
func (c *call) garble(r *response) bool {
	switch c.fault.Kind {
	case faultReset:
		c.breakOff()
	case faultTruncated:
		c.send(event{r.flood.name, raw(`{"type":"content_block_delta","index":0,"delta":{"type":"text_del`)})
	case faultMalformed:
		c.send(event{r.flood.name, raw(`{this is no JSON}`)})
		return true
	case faultErrorEvent:
		c.send(r.broken)
	}
	return false
}

// breakOff ends a response that has begun in the way of the fault.
func (c *call) breakOff() {
	control := http.NewResponseController(c.w)
	_ = control.Flush() // the client may have gone
	switch c.fault.Kind {
	case faultReset:
		if conn, _, err := control.Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case faultLoris, faultStall:
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
