package live

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// partial is an answer while its events arrive.
type partial struct {
	reply   Reply
	text    strings.Builder
	began   time.Time
	counted prompt.Usage   // of the call, without what passes has
	passes  []prompt.Usage // of the model inside the call: those of a compaction count apart
	bytes   int64          // of output so far
	most    int64          // tokens of output that the request allows
	thought bool           // a block of thinking has arrived
	refused bool           // a refusal has arrived
	done    bool           // the last event has arrived
	begun   bool           // the request went out in full, or a response began: it may be billed
}

// chatEnd is the last event of a stream of chat completions.
const chatEnd = "[DONE]"

// events calls take with the data of each event until it returns an error or the answer is complete, which is io.EOF:
// some servers keep the connection open. A last event without a blank line after it is incomplete and dropped, except
// for the end mark, which some gateways send that way.
func (p *partial) events(r io.Reader, take func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxResponse+1)
	next := func(data []byte) error {
		err := take(data)
		if p.reply.First == 0 && (p.bytes > 0 || len(p.reply.ToolCalls) > 0) {
			p.reply.First = time.Since(p.began)
		}
		if err == nil && p.done {
			return io.EOF
		}
		return err
	}
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
		if err := next(data); err != nil {
			return err
		}
		data = data[:0]
	}
	if err := lines.Err(); err != nil || string(data) != chatEnd {
		return err
	}
	return next(data)
}

// decode reads an event. Servers are not strict about their JSON.
func decode(data []byte, event any) error {
	err := json.Unmarshal(data, event, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("an event is no JSON: %w", err)
	}
	return nil
}

// event is an event of the Messages API. Its type says which members it has.
type event struct {
	Type    string `json:"type"`
	Message *struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block *piece   `json:"content_block"`
	Delta *piece   `json:"delta"`
	Usage *usage   `json:"usage"`
	Error *refusal `json:"error"`
}

// piece is the beginning of a content block, a part of one, or the end of a message.
type piece struct {
	Type        string  `json:"type"`
	Text        *string `json:"text"`
	Content     any     `json:"content"` // of a compaction: a string
	Thinking    *string `json:"thinking"`
	Name        string  `json:"name"`
	PartialJSON *string `json:"partial_json"`
	StopReason  *string `json:"stop_reason"`
}

// usage counts tokens in the words of the Messages API. A nil count is absent: it has not changed.
type usage struct {
	Input    *int64 `json:"input_tokens"`
	Creation *int64 `json:"cache_creation_input_tokens"`
	Read     *int64 `json:"cache_read_input_tokens"`
	Split    *struct {
		Write5m int64 `json:"ephemeral_5m_input_tokens"`
		Write1h int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"` // of Creation, by lifetime
	Output  *int64 `json:"output_tokens"`
	Details *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Iterations []struct {
		Type  string `json:"type"`
		usage `json:",embed"`
	} `json:"iterations"`
}

// message processes an event of the Messages API.
func (p *partial) message(data []byte) error {
	var e event
	if err := decode(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			p.reply.ID, p.reply.Model = e.Message.ID, e.Message.Model
			p.count(&e.Message.Usage)
		}
	case "content_block_start":
		if e.Block != nil {
			p.open(e.Block)
		}
	case "content_block_delta":
		if d := e.Delta; d != nil {
			if d.Type == "text_delta" {
				p.text.WriteString(value(d.Text))
			}
			p.compacted(d)
			p.bytes += int64(len(value(d.Text)) + len(value(d.PartialJSON)) + len(value(d.Thinking)))
		}
	case "message_delta":
		if e.Delta != nil {
			p.reply.StopReason = cmp.Or(value(e.Delta.StopReason), p.reply.StopReason)
		}
		if e.Usage != nil {
			p.count(e.Usage)
		}
	case "message_stop":
		p.done = true
	case "error":
		return e.Error.or("", string(data))
	}
	return nil
}

// open begins a content block.
func (p *partial) open(b *piece) {
	switch b.Type {
	case "text":
		p.text.WriteString(value(b.Text))
	case "tool_use", "server_tool_use", "mcp_tool_use":
		p.reply.ToolCalls = append(p.reply.ToolCalls, b.Name)
	case "thinking", "redacted_thinking":
		p.thought = true
	case "compaction":
		p.compacted(b)
	}
}

// compacted takes the text of a compaction.
func (p *partial) compacted(b *piece) {
	if text, _ := b.Content.(string); text != "" {
		p.reply.Compaction = words(text)
		p.bytes += int64(len(text))
	}
}

// count sets counts, which are totals of the whole message.
func (p *partial) count(u *usage) {
	merge(&p.counted, u)
	if u.Details != nil {
		p.reply.Thinking = u.Details.Thinking
	}
	if len(u.Iterations) > 0 {
		p.passes, p.reply.Compacted = nil, 0
	}
	for i := range u.Iterations {
		var pass prompt.Usage
		merge(&pass, &u.Iterations[i].usage)
		p.passes = append(p.passes, pass)
		if u.Iterations[i].Type == "compaction" {
			p.reply.Compacted += pass.Output
		}
	}
}

// merge puts the given counts into a usage. Written tokens that are not in the split live
// for five minutes, the API's default; a split that exceeds the total takes precedence.
func merge(to *prompt.Usage, u *usage) {
	set := func(to, from *int64) {
		if from != nil {
			*to = *from
		}
	}
	set(&to.Uncached, u.Input)
	set(&to.Read, u.Read)
	set(&to.Output, u.Output)
	if u.Split != nil {
		to.Write5m, to.Write1h = u.Split.Write5m, u.Split.Write1h
	}
	if u.Creation != nil {
		to.Write5m += max(*u.Creation-to.Write5m-to.Write1h, 0)
	}
}

// chunk is an event of a streamed chat completion.
type chunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Delta        *chatMessage `json:"delta"`
		FinishReason *string      `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"` // parts of Prompt
		Output struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"` // a part of Completion
	} `json:"usage"`
	Error *refusal `json:"error"`
}

// stops are the reasons to stop in the words of the Messages API.
var stops = map[string]string{
	"stop":           "end_turn",
	"length":         "max_tokens",
	"tool_calls":     "tool_use",
	"function_call":  "tool_use",
	"content_filter": "refusal",
}

// completion processes an event of a chat completion.
func (p *partial) completion(data []byte) error {
	if string(data) == chatEnd {
		p.done = true
		return nil
	}
	var e chunk
	if err := decode(data, &e); err != nil {
		return err
	}
	if e.Error != nil {
		return e.Error.or("server_error", string(data))
	}
	if e.ID != "" {
		p.reply.ID, p.reply.Model = e.ID, e.Model
	}
	if u := e.Usage; u != nil {
		// From GPT-5.6 on written tokens have their own price, and a lifetime without a
		// class here. They count as those of five minutes, which have the same multiple
		// of the input's price.
		read := min(max(u.Details.Cached, 0), u.Prompt)
		written := min(max(u.Details.Written, 0), u.Prompt-read)
		p.counted = prompt.Usage{Uncached: u.Prompt - read - written, Read: read, Write5m: written, Output: u.Completion}
		p.reply.Thinking = u.Output.Reasoning
	}
	for _, c := range e.Choices {
		if reason := value(c.FinishReason); reason != "" {
			p.reply.StopReason = cmp.Or(stops[reason], reason)
		}
		if c.Delta != nil {
			p.said(c.Delta)
		}
	}
	return nil
}

// said adds a piece of a chat completion.
func (p *partial) said(d *chatMessage) {
	p.text.WriteString(value(d.Content))
	p.bytes += int64(len(value(d.Content)) + len(d.Refusal))
	p.refused = p.refused || d.Refusal != ""
	for _, t := range d.ToolCalls {
		p.bytes += int64(len(t.Function.Arguments))
		if t.Function.Name != "" {
			p.reply.ToolCalls = append(p.reply.ToolCalls, t.Function.Name)
		}
	}
}

// maxCount is the largest plausible count of tokens from a server.
const maxCount = 100_000_000

// trust sets the bill. With an impossible count there is none, as it would not be credible, and an error: the answer is
// not used.
func (p *partial) trust() error {
	r := &p.reply
	if r.Usage, r.Passes = p.counted, len(p.passes); r.Passes > 0 {
		r.Usage = prompt.Usage{}
	}
	for i := range p.passes {
		r.Usage.Add(&p.passes[i])
	}
	for _, u := range append(p.passes, p.counted, r.Usage) {
		for _, n := range []int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output} {
			if n < 0 || n > maxCount {
				r.Usage = prompt.Usage{}
				return fmt.Errorf("the server counts %d tokens, which no call has", n)
			}
		}
	}
	return nil
}

// output estimates the tokens of the output so far, within what the request allows.
func (p *partial) output() int64 { return min((p.bytes+bytesPerToken-1)/bytesPerToken, p.most) }

// billed returns the known cost of a stream that broke off: the counted input, and the output so far.
func (p *partial) billed() prompt.Usage {
	u := p.reply.Usage
	u.Output = max(u.Output, p.output())
	return u
}

// finish returns the reply of a complete stream. What the server did not count is estimated, because gateways omit
// usage in streams: the input as its upper estimate, the output from its bytes.
func (p *partial) finish(most prompt.Usage) *Reply {
	r := &p.reply
	r.Text, r.Total, r.Attempts = words(p.text.String()), time.Since(p.began), 1
	r.First = cmp.Or(r.First, r.Total)
	if p.refused {
		r.StopReason = "refusal"
	}
	// The visible thinking may be shorter than the actual one, or empty. If the
	// server does not count thinking, it is the output minus the rest.
	output := r.Usage.Output
	r.Thinking = min(max(r.Thinking, 0), output)
	if r.Thinking == 0 && p.thought {
		r.Thinking = max(0, output-int64(len(r.Text)+len(r.Compaction)+bytesPerToken-1)/bytesPerToken)
	}
	if r.Passes > 0 {
		return r
	}
	u := &r.Usage
	if u.Input() == 0 {
		*u, r.Estimated = most, true
		u.Output = output
	}
	if u.Output == 0 && p.bytes > 0 {
		u.Output, r.Estimated = p.output(), true
	}
	return r
}

var (
	errTooLarge = errors.New("the response exceeds the limit for responses")
	errIdle     = errors.New("no byte came for too long")
	errTimeout  = errors.New("the response took too long")
	// errCut is the error of a stream that was cut between two events.
	errCut = errors.New("the stream ended before its last event")
)
