package devserver

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// outUsage is a usage in the form of the Messages API.
type outUsage struct {
	Input    int64 `json:"input_tokens"`
	Creation int64 `json:"cache_creation_input_tokens"`
	Read     int64 `json:"cache_read_input_tokens"`
	Split    struct {
		Short int64 `json:"ephemeral_5m_input_tokens"`
		Hour  int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output     int64          `json:"output_tokens"`
	Details    *outDetails    `json:"output_tokens_details,omitzero"`
	Iterations []outIteration `json:"iterations,omitempty"`
}

// outDetails parts the output.
type outDetails struct {
	Thinking int64 `json:"thinking_tokens"`
}

type outIteration struct {
	Type     string `json:"type"`
	outUsage `json:",embed"`
}

func (u usage) out() outUsage {
	o := outUsage{Input: u.Uncached, Creation: u.Write5m + u.Write1h, Read: u.Read, Output: u.Output}
	o.Split.Short, o.Split.Hour = u.Write5m, u.Write1h
	return o
}

// outMessage is a message in the form of the Messages API.
type outMessage struct {
	ID      string      `json:"id"`
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Model   string      `json:"model"`
	Content []outBlock  `json:"content"`
	Stop    *string     `json:"stop_reason"`
	Usage   outUsage    `json:"usage"`
	Managed *outManaged `json:"context_management,omitzero"`
}

type outManaged struct {
	Edits []applied `json:"applied_edits"`
}

func (a *answer) message() outMessage {
	m := outMessage{ID: a.id, Type: "message", Role: "assistant", Model: a.model, Content: a.blocks, Stop: &a.stop, Usage: a.fullUsage()}
	if a.managed {
		m.Managed = &outManaged{a.edits}
	}
	return m
}

func (a *answer) fullUsage() outUsage {
	u := a.usage.out()
	if a.thinking > 0 {
		u.Details = &outDetails{a.thinking}
	}
	for _, it := range a.iterations {
		u.Iterations = append(u.Iterations, outIteration{it.kind, it.usage.out()})
	}
	return u
}

// whole answers at once. A fault of the stream cuts the body.
func (c *call) whole(a *answer) {
	body, err := json.Marshal(a.message())
	if err != nil {
		failMessages(c, &apiError{status: http.StatusInternalServerError, kind: "api_error", message: "the answer cannot be written"})
		return
	}
	c.w.Header().Set("Content-Type", "application/json")
	if c.fault != nil && !c.fault.answers() {
		_, _ = c.w.Write(body[:len(body)/2]) // it is cut anyway
		c.breakOff()
		return
	}
	if _, err := c.w.Write(body); err == nil {
		c.server.counts.answered(c.digest)
	}
}

// answers reports whether the response is complete in spite of the fault.
func (f *Fault) answers() bool {
	return f.Kind == FaultEmpty || f.Kind == FaultToolCall || f.Kind == FaultRefusal
}

// breakOff ends a response that has begun in the way of the fault.
func (c *call) breakOff() {
	_ = http.NewResponseController(c.w).Flush() // the client may have gone
	switch c.fault.Kind {
	case FaultReset:
		if conn, _, err := http.NewResponseController(c.w).Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case FaultLoris, FaultStall:
		<-c.r.Context().Done()
	}
}

// events writes the events of a stream. After an error it writes nothing.
type events struct {
	w   http.ResponseWriter
	err error
}

// send writes an event; v becomes its data.
func (e *events) send(name string, v any) {
	if e.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	e.raw(name, data)
}

func (e *events) raw(name string, data []byte) {
	if e.err != nil {
		return
	}
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	if _, e.err = e.w.Write(b.Bytes()); e.err == nil {
		e.err = http.NewResponseController(e.w).Flush()
	}
}

// The events of the Messages API.
type (
	startEvent struct {
		Type    string     `json:"type"`
		Message outMessage `json:"message"`
	}
	blockEvent struct {
		Type  string    `json:"type"`
		Index int       `json:"index"`
		Block *outBlock `json:"content_block,omitzero"`
		Delta *delta    `json:"delta,omitzero"`
	}
	delta struct {
		Type    string  `json:"type"`
		Text    *string `json:"text,omitzero"`
		Content *string `json:"content,omitzero"`
		Thought *string `json:"thinking,omitzero"`
		Sign    *string `json:"signature,omitzero"`
		Input   *string `json:"partial_json,omitzero"`
	}
	deltaEvent struct {
		Type  string `json:"type"`
		Delta struct {
			Stop     string  `json:"stop_reason"`
			Sequence *string `json:"stop_sequence"`
		} `json:"delta"`
		Usage   outUsage    `json:"usage"`
		Managed *outManaged `json:"context_management,omitzero"`
	}
)

// stream answers event by event.
func (c *call) stream(a *answer) {
	c.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	c.w.Header().Set("Cache-Control", "no-cache")
	e := &events{w: c.w}
	start := a.message()
	start.Content, start.Stop, start.Managed = []outBlock{}, nil, nil
	start.Usage = a.usage.out()
	start.Usage.Output = min(1, a.usage.Output)
	e.send("message_start", startEvent{"message_start", start})
	e.send("ping", map[string]string{"type": "ping"})
	if c.forever(e) {
		return
	}
	for i := range a.blocks {
		if !c.block(e, i, &a.blocks[i]) {
			return
		}
	}
	end := deltaEvent{Type: "message_delta", Usage: a.fullUsage(), Managed: a.message().Managed}
	end.Delta.Stop = a.stop
	e.send("message_delta", end)
	e.send("message_stop", map[string]string{"type": "message_stop"})
	c.done(e)
}

// done counts an answer that was written to its end and can be read.
func (c *call) done(e *events) {
	if e.err == nil && (c.fault == nil || c.fault.answers()) {
		c.server.counts.answered(c.digest)
	}
}

// forever makes the faults that have no end, until the client goes.
func (c *call) forever(e *events) bool {
	switch {
	case c.fault.is(FaultStall):
		<-c.r.Context().Done()
		return true
	case c.fault.is(FaultLoris):
		every := c.fault.Every
		if every == 0 {
			every = 100 * time.Millisecond
		}
		for e.err == nil && c.delay(every) {
			e.send("ping", map[string]string{"type": "ping"})
		}
		return true
	case c.fault.is(FaultFlood):
		text := strings.Repeat("too much of a good thing, ", 400)
		e.send("content_block_start", blockEvent{Type: "content_block_start", Block: &outBlock{Type: "text", Text: new(string)}})
		for n := 0; n < 64<<20 && e.err == nil; n += len(text) {
			e.send("content_block_delta", blockEvent{Type: "content_block_delta", Delta: &delta{Type: "text_delta", Text: &text}})
		}
		return true
	}
	return false
}

// block writes a content block; it returns false when the stream broke off. A
// fault comes in the middle of it.
func (c *call) block(e *events, i int, b *outBlock) bool {
	head := outBlock{Type: b.Type, ID: b.ID, Name: b.Name, Sign: b.Sign}
	var deltas []delta
	switch b.Type {
	case "text":
		head.Text = new(string)
		for _, part := range parts(*b.Text) {
			deltas = append(deltas, delta{Type: "text_delta", Text: &part})
		}
	case "thinking":
		head.Thought, head.Sign = new(string), ""
		deltas = []delta{{Type: "thinking_delta", Thought: b.Thought}, {Type: "signature_delta", Sign: &b.Sign}}
	case "compaction":
		deltas = []delta{{Type: "compaction_delta", Content: b.Content}}
	case "tool_use":
		head.Input = jsontext.Value("{}")
		input := string(b.Input)
		deltas = []delta{{Type: "input_json_delta", Input: &input}}
	}
	e.send("content_block_start", blockEvent{Type: "content_block_start", Index: i, Block: &head})
	for k := range deltas {
		if k == len(deltas)/2 && c.broken(e, i) {
			return false
		}
		e.send("content_block_delta", blockEvent{Type: "content_block_delta", Index: i, Delta: &deltas[k]})
	}
	e.send("content_block_stop", blockEvent{Type: "content_block_stop", Index: i})
	return e.err == nil
}

// broken makes the faults that end a stream, and the one that goes on after
// what is no JSON.
func (c *call) broken(e *events, i int) bool {
	if c.fault == nil {
		return false
	}
	switch c.fault.Kind {
	case FaultReset:
		c.breakOff()
	case FaultCut:
	case FaultTruncated:
		e.raw("content_block_delta", []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_del`))
	case FaultMalformed:
		e.raw("content_block_delta", []byte(`{this is no JSON}`))
		return false
	case FaultErrorEvent:
		over := &apiError{kind: "overloaded_error", message: "Overloaded"}
		e.send("error", over.body(""))
	default:
		return false
	}
	return true
}

// partBytes is the size of a piece of text in a stream.
const partBytes = 400

// parts cuts a text into pieces at the borders of characters.
func parts(s string) []string {
	var list []string
	for len(s) > partBytes {
		n := partBytes
		for n > 1 && s[n]&0xC0 == 0x80 {
			n--
		}
		list, s = append(list, s[:n]), s[n:]
	}
	return append(list, s)
}
