package devserver

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// chatUsage is a usage in the form of chat completions.
type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u usage) chat() *chatUsage {
	o := &chatUsage{Prompt: u.Uncached + u.Read, Completion: u.Output}
	o.Total, o.Details.Cached = o.Prompt+o.Completion, u.Read
	return o
}

// chatChunk is a completion, or an event of a streamed one.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitzero"`
}

type chatChoice struct {
	Index   int       `json:"index"`
	Delta   *chatSaid `json:"delta,omitzero"`
	Message *chatSaid `json:"message,omitzero"`
	Finish  *string   `json:"finish_reason"`
}

type chatSaid struct {
	Role      string     `json:"role,omitzero"`
	Content   *string    `json:"content,omitzero"`
	Refusal   *string    `json:"refusal,omitzero"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

// finishes are the reasons to stop in the words of chat completions.
var finishes = map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}

// said returns the answer as one message.
func (a *answer) said() chatSaid {
	s := chatSaid{Role: "assistant"}
	for _, b := range a.blocks {
		if b.Text != nil {
			s.Content = b.Text
		}
		if b.Type == "tool_use" {
			t := chatCall{ID: b.ID, Type: "function"}
			t.Function.Name, t.Function.Arguments = b.Name, string(b.Input)
			s.ToolCalls = append(s.ToolCalls, t)
		}
	}
	return s
}

func (c *call) chatWhole(a *answer) {
	said, finish := a.said(), finishes[a.stop]
	body, err := json.Marshal(chatChunk{ID: a.id, Object: "chat.completion", Model: a.model,
		Choices: []chatChoice{{Message: &said, Finish: &finish}}, Usage: a.usage.chat()})
	if err != nil {
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

// chatStream answers event by event.
func (c *call) chatStream(a *answer, withUsage bool) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	e := &events{w: c.w}
	send := func(s chatSaid, finish *string, u *chatUsage) {
		chunk := chatChunk{ID: a.id, Object: "chat.completion.chunk", Model: a.model, Choices: []chatChoice{}, Usage: u}
		if u == nil {
			chunk.Choices = []chatChoice{{Delta: &s, Finish: finish}}
		}
		e.send("", chunk)
	}
	send(chatSaid{Role: "assistant"}, nil, nil)
	if c.chatForever(e, send) {
		return
	}
	said := a.said()
	var texts []string
	if said.Content != nil {
		texts = parts(*said.Content)
	}
	for i := range texts {
		if i == len(texts)/2 && c.chatBroken(e) {
			return
		}
		send(chatSaid{Content: &texts[i]}, nil, nil)
	}
	if len(said.ToolCalls) > 0 {
		send(chatSaid{ToolCalls: said.ToolCalls}, nil, nil)
	}
	finish := finishes[a.stop]
	send(chatSaid{}, &finish, nil)
	if withUsage {
		send(chatSaid{}, nil, a.usage.chat())
	}
	e.raw("", []byte("[DONE]"))
	c.done(e)
}

// chatForever makes the faults that have no end.
func (c *call) chatForever(e *events, send func(chatSaid, *string, *chatUsage)) bool {
	if !c.fault.is(FaultFlood) {
		return c.forever(e)
	}
	text := strings.Repeat("too much of a good thing, ", 400)
	for n := 0; n < 64<<20 && e.err == nil; n += len(text) {
		send(chatSaid{Content: &text}, nil, nil)
	}
	return true
}

// chatBroken makes the faults in the middle of a stream.
func (c *call) chatBroken(e *events) bool {
	switch {
	case c.fault.is(FaultErrorEvent):
		e.raw("", []byte(`{"error":{"message":"The server had an error","type":"server_error","code":null}}`))
		return true
	case c.fault.is(FaultTruncated):
		e.raw("", []byte(`{"id":"chatcmpl-1","choices":[{"delta":{"cont`))
		return true
	}
	return c.broken(e, 0)
}
