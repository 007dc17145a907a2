package devserver

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// completions answers POST /v1/chat/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	c := s.begin(w, r, true)
	if c == nil {
		return
	}
	var q api.ChatRequest
	if err := json.Unmarshal(c.body, &q); err != nil {
		c.fail(invalid("the request is not valid: %v", err))
		return
	}
	if e := s.checkChat(&q); e != nil {
		c.fail(e)
		return
	}
	text := rendered(&q)
	n := tokensOf(len(text))
	if n > s.options.Window {
		c.fail(invalid("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.",
			s.options.Window, n))
		return
	}
	a := c.chatAnswer(&q)
	a.usage, a.writes = s.cache.begin(s.options.Now(), q.Model, chunks(c.org, q.Model, text))
	a.usage = wire.Usage{Read: a.usage.Read, Uncached: n - a.usage.Read, Output: a.output()}
	c.finish(a, q.Stream, func() *response { return a.chatResponse(q.StreamOptions.IncludeUsage) })
}

// checkChat returns what such servers refuse: unknown models, and results without their calls.
func (s *Server) checkChat(q *api.ChatRequest) *apiError {
	if !s.knows(q.Model) {
		return &apiError{status: http.StatusNotFound, kind: "model_not_found",
			message: "The model `" + q.Model + "` does not exist"}
	}
	var c checker
	c.refuse(len(q.Messages) == 0, "messages: at least one is required")
	open := map[string]bool{}
	for i, m := range q.Messages {
		switch m.Role {
		case "system", "developer", "user", "assistant":
			c.refuse(len(open) > 0, "messages[%d]: tool calls must be followed by tool messages that respond to each of them", i)
		case "tool":
			c.refuse(!open[m.ToolCallID], "messages[%d]: tool_call_id %q has no call ahead of it", i, m.ToolCallID)
			delete(open, m.ToolCallID)
		default:
			c.refuse(true, "messages[%d].role: unknown role %q", i, m.Role)
		}
		for _, t := range m.ToolCalls {
			open[t.ID] = true
		}
	}
	return c.err
}

// rendered returns a prompt as one text.
func rendered(q *api.ChatRequest) string {
	var b strings.Builder
	for _, t := range q.Tools {
		_ = json.MarshalWrite(&b, t) // it was read from JSON
	}
	for _, m := range q.Messages {
		b.WriteString("\n" + m.Role + " " + m.ToolCallID + "\n" + m.Text())
		for _, t := range m.ToolCalls {
			b.WriteString("\n" + t.ID + " " + t.Function.Name + " " + t.Function.Arguments)
		}
	}
	return b.String()
}

// chatAnswer works out an answer in the words of the Messages API.
func (c *call) chatAnswer(q *api.ChatRequest) *answer {
	var messages []api.Message
	for _, m := range q.Messages {
		messages = append(messages, api.Message{Role: m.Role, Content: api.Text(m.Text())})
	}
	limit := max(q.MaxTokens, q.MaxCompletionTokens)
	if limit == 0 {
		limit = 1 << 20
	}
	a := &answer{id: "chatcmpl-" + c.digest, model: q.Model}
	c.speak(a, &api.Request{MaxTokens: &limit}, messages, lastText(messages))
	return a
}

// finishes are the reasons to stop in the words of chat completions.
var finishes = map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls",
	"refusal": "content_filter"}

// chatResponse returns the answer in the form of chat completions.
func (a *answer) chatResponse(withUsage bool) *response {
	usage := &api.ChatUsage{Prompt: a.usage.Uncached + a.usage.Read, Completion: a.usage.Output}
	usage.Total, usage.Details.Cached = usage.Prompt+usage.Completion, a.usage.Read
	said := api.ChatMessage{Role: "assistant"}
	for _, b := range a.blocks {
		if b.Text != nil {
			said.Content = b.Text
		}
		if b.Type == "tool_use" {
			t := api.ChatCall{ID: b.ID, Type: "function"}
			t.Function.Name, t.Function.Arguments = b.Name, string(b.Input)
			said.ToolCalls = append(said.ToolCalls, t)
		}
	}
	finish := new(finishes[a.stop])
	chunk := func(object string, u *api.ChatUsage, choices ...api.ChatChoice) api.ChatChunk {
		return api.ChatChunk{ID: a.id, Object: object, Model: a.model, Choices: choices, Usage: u}
	}
	piece := func(m api.ChatMessage, finish *string) event {
		return event{value: chunk("chat.completion.chunk", nil, api.ChatChoice{Delta: &m, FinishReason: finish})}
	}
	r := &response{
		whole:  chunk("chat.completion", usage, api.ChatChoice{Message: &said, FinishReason: finish}),
		events: []event{piece(api.ChatMessage{Role: "assistant"}, nil)}, head: 1,
		flood:  piece(api.ChatMessage{Content: &floodText}, nil),
		broken: event{value: api.ErrorBody{Error: &api.Error{Type: "server_error", Message: "The server had an error"}}},
	}
	if said.Content != nil {
		for _, part := range parts(*said.Content) {
			r.events = append(r.events, piece(api.ChatMessage{Content: &part}, nil))
		}
	}
	if len(said.ToolCalls) > 0 {
		r.events = append(r.events, piece(api.ChatMessage{ToolCalls: said.ToolCalls}, nil))
	}
	r.events = append(r.events, piece(api.ChatMessage{}, finish))
	if withUsage {
		r.events = append(r.events, event{value: chunk("chat.completion.chunk", usage)})
	}
	r.events = append(r.events, event{value: raw(api.ChatEnd)})
	return r
}

// chunkTokens is the step in which prefixes are cached automatically, from 1,024 tokens on and for five minutes
// (OpenAI).
const chunkTokens = 128

// chunks returns the positions of a prompt whose prefixes are cached automatically, and one for its end.
func chunks(org, model, text string) []position {
	p := newPrefix(org, model)
	marker := &api.CacheControl{}
	for size := bytesOf(chunkTokens); len(text) >= size; text = text[size:] {
		p.write(text[:size])
		p.add("chunk", chunkTokens, marker)
	}
	p.write(text)
	p.add("end", tokensOf(len(text)), nil)
	return p.list
}
