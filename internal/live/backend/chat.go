package backend

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// NewOpenAI returns a client of the chat completions of OpenAI or of a server that
// offers the same interface (vLLM, llama.cpp, gateways). The base URL has the
// version, as in http://localhost:8000/v1, or the whole path, as in
// http://localhost:8000/chat/completions. What the interface has no word for is
// left out: cache breakpoints, betas, thinking, the server's compaction and edits.
// It reports a base URL that names no version, and a key that cannot be sent or
// that OpenAI's own server misses.
func NewOpenAI(c Config) (*Client, error) {
	endpoint, err := chatURL(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("backend: base URL of the chat completions: %w", err)
	}
	if err := c.Key.check(); err != nil {
		return nil, fmt.Errorf("backend: key of the chat completions: %w", err)
	}
	own := ownServer(c.BaseURL)
	if c.Key.IsZero() && own {
		return nil, errors.New("backend: OpenAI's own server needs a key")
	}
	return newClient(c, protocol{
		endpoint: endpoint,
		header: func(h http.Header, k Key, _ *wire.Request) {
			if !k.IsZero() {
				h.Set("Authorization", "Bearer "+k.secret())
			}
		},
		encode: func(r *wire.Request) (any, error) { return chatOf(r, own) },
		take:   (*partial).completion,
	}), nil
}

// ownServer reports whether a base URL is OpenAI's: its newer models know only
// max_completion_tokens, other servers often only max_tokens.
func ownServer(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openai.com" || strings.HasSuffix(u.Hostname(), ".openai.com"))
}

// chatOf returns a request in the form of chat completions.
func chatOf(r *wire.Request, own bool) (*api.ChatRequest, error) {
	q := &api.ChatRequest{Model: r.Model, Stream: true, ReasoningEffort: r.Effort,
		StreamOptions: api.StreamOptions{IncludeUsage: true}}
	if own {
		q.MaxCompletionTokens = r.MaxTokens
	} else {
		q.MaxTokens = r.MaxTokens
	}
	if system := joined(r.System); system != "" {
		q.Messages = append(q.Messages, api.ChatMessage{Role: "system", Content: &system})
	}
	for i, m := range r.Messages {
		messages, err := chatMessages(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		q.Messages = append(q.Messages, messages...)
	}
	for _, tool := range r.Tools {
		t := api.ChatTool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = tool.Name, tool.Description, tool.InputSchema
		q.Tools = append(q.Tools, t)
	}
	if r.ToolsDenied && len(q.Tools) > 0 {
		q.ToolChoice = "none" // no part of the key of a prefix cache here
	}
	return q, nil
}

// joined returns the texts of blocks, with blank lines between them.
func joined(blocks []wire.Block) string {
	var parts []string
	for i := range blocks {
		if blocks[i].Kind == wire.KindText && blocks[i].Text != "" {
			parts = append(parts, blocks[i].Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// chatMessages returns a message in the form of chat completions: tool results are
// messages of their own and follow their calls at once.
func chatMessages(m wire.Message) ([]api.ChatMessage, error) {
	var list []api.ChatMessage
	said := api.ChatMessage{Role: string(m.Role)}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Kind {
		case wire.KindText:
		case wire.KindToolUse:
			c := api.ChatCall{ID: b.ID, Type: "function"}
			c.Function.Name, c.Function.Arguments = b.Name, string(input(b))
			said.ToolCalls = append(said.ToolCalls, c)
		case wire.KindToolResult:
			list = append(list, api.ChatMessage{Role: "tool", Content: &b.Text, ToolCallID: b.ID})
		default:
			return nil, fmt.Errorf("block %d: unknown kind %q", i+1, b.Kind)
		}
	}
	if text := joined(m.Blocks); text != "" {
		said.Content = &text
	}
	if said.Content != nil || len(said.ToolCalls) > 0 {
		list = append(list, said)
	}
	return list, nil
}

// stops are the reasons to stop in the words of the Messages API.
var stops = map[string]string{
	"stop":           "end_turn",
	"length":         "max_tokens",
	"tool_calls":     "tool_use",
	"function_call":  "tool_use",
	"content_filter": "refusal",
}

// completion takes an event of a chat completion.
func (p *partial) completion(data []byte) error {
	if string(data) == api.ChatEnd {
		p.done = true
		return nil
	}
	var e api.ChatChunk
	if err := decode(data, &e); err != nil {
		return err
	}
	if e.Error != nil {
		r := &refusal{kind: "server_error", message: string(data)}
		r.take(e.Error)
		return r
	}
	if e.ID != "" {
		p.reply.ID, p.reply.Model = e.ID, e.Model
	}
	if u := e.Usage; u != nil {
		// Tokens written have a price of their own from GPT-5.6 on and a lifetime
		// without a class here: they count among those of five minutes, whose multiple
		// of the input's price they share.
		read := min(max(u.Details.Cached, 0), u.Prompt)
		written := min(max(u.Details.Written, 0), u.Prompt-read)
		p.reply.Usage = wire.Usage{Uncached: u.Prompt - read - written, Read: read, Write5m: written, Output: u.Completion}
		p.reply.Thinking = u.Output.Reasoning
	}
	for i := range e.Choices {
		p.choice(&e.Choices[i])
	}
	return nil
}

func (p *partial) choice(c *api.ChatChoice) {
	if reason := value(c.FinishReason); reason != "" {
		p.reply.StopReason = reason
		if known, ok := stops[reason]; ok {
			p.reply.StopReason = known
		}
	}
	d := c.Delta
	if d == nil {
		return
	}
	p.text.WriteString(d.Text())
	p.bytes += int64(len(d.Text()) + len(d.Refusal))
	p.refused = p.refused || d.Refusal != ""
	for _, t := range d.ToolCalls {
		p.bytes += int64(len(t.Function.Arguments))
		if t.Function.Name != "" {
			p.reply.ToolCalls = append(p.reply.ToolCalls, t.Function.Name)
		}
	}
}
