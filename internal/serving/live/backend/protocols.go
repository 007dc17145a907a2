package backend

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/serving/live/api"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// anthropicURL is the address of Anthropic's own API.
const anthropicURL = "https://api.anthropic.com/"

// NewAnthropic returns a client of a Messages API. It returns an error for an
// invalid base URL, and for a key that is missing or cannot be sent.
func NewAnthropic(c Config) (*Client, error) {
	endpoint, err := messagesURL(cmp.Or(c.BaseURL, anthropicURL))
	if err != nil {
		return nil, fmt.Errorf("backend: base URL of the Messages API: %w", err)
	}
	if c.Key.IsZero() {
		return nil, errors.New("backend: the Messages API needs a key")
	}
	if err := c.Key.check(); err != nil {
		return nil, fmt.Errorf("backend: key of the Messages API: %w", err)
	}
	return newClient(c, protocol{
		endpoint: endpoint,
		header: func(h http.Header, k Key, r *wire.Request) {
			h.Set("Anthropic-Version", "2023-06-01")
			h.Set("X-Api-Key", k.secret())
			if len(r.Betas) > 0 {
				h.Set("Anthropic-Beta", strings.Join(r.Betas, ","))
			}
		},
		encode: func(r *wire.Request) (any, error) { return messagesOf(r) },
		take:   (*partial).message,
	}), nil
}

// messagesOf returns a request in the form of the Messages API. Schemas and inputs are sent unchanged, because
// another order of keys makes another prefix. tool_choice is part of the cache key, so tools are denied only in
// words.
func messagesOf(r *wire.Request) (*api.Request, error) {
	q := &api.Request{Model: r.Model, MaxTokens: r.MaxTokens, Stream: true}
	if r.Compaction != nil {
		q.Compaction = &api.Compaction{Type: "summarize", Instructions: r.Compaction.Instructions}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, api.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			CacheControl: marker(t.Cache)})
	}
	var err error
	if q.System, err = contents(r.System); err != nil {
		return nil, fmt.Errorf("system prompt: %w", err)
	}
	for i, m := range r.Messages {
		blocks, err := contents(m.Blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		q.Messages = append(q.Messages, api.Message{Role: string(m.Role), Content: blocks})
	}
	return q, nil
}

// marker returns the breakpoint for a cache entry, nil for none.
func marker(c wire.Cache) *api.CacheControl {
	if c == wire.CacheNone {
		return nil
	}
	return &api.CacheControl{Type: "ephemeral", TTL: string(c)}
}

func contents(blocks []wire.Block) ([]api.Block, error) {
	list := make([]api.Block, len(blocks))
	for i := range blocks {
		b, out := &blocks[i], &list[i]
		out.Type, out.CacheControl = string(b.Kind), marker(b.Cache)
		switch b.Kind {
		case wire.KindText:
			out.Text = &b.Text
		case wire.KindToolUse:
			out.ID, out.Name, out.Input = b.ID, b.Name, input(b)
		case wire.KindToolResult:
			out.ToolUseID, out.IsError = b.ID, b.Error
			if b.Text != "" { // the API refuses empty text blocks
				out.Content = api.Text(b.Text)
			}
		default:
			return nil, fmt.Errorf("block %d: unknown kind %q", i+1, b.Kind)
		}
	}
	return list, nil
}

// input returns the input of a tool call, {} when it has none.
func input(b *wire.Block) jsontext.Value {
	if len(b.Input) == 0 {
		return jsontext.Value("{}")
	}
	return b.Input
}

// message processes an event of the Messages API.
func (p *partial) message(data []byte) error {
	var e api.Event
	if err := decode(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			p.reply.ID, p.reply.Model = e.Message.ID, e.Message.Model
			p.usage(&e.Message.Usage)
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
			if text := unquoted(d.Content); text != "" {
				p.reply.Compaction = text
			}
			p.bytes += int64(len(value(d.Text)) + len(value(d.PartialJSON)) + len(value(d.Thinking)) + len(unquoted(d.Content)))
		}
	case "message_delta":
		if e.Delta != nil {
			p.reply.StopReason = cmp.Or(value(e.Delta.StopReason), p.reply.StopReason)
		}
		if e.Usage != nil {
			p.usage(e.Usage)
		}
	case "message_stop":
		p.done = true
	case "error":
		r := &refusal{message: string(data)}
		r.take(e.Error)
		return r
	}
	return nil
}

// open begins a content block.
func (p *partial) open(b *api.AnswerBlock) {
	switch b.Type {
	case "text":
		p.text.WriteString(value(b.Text))
	case "tool_use", "server_tool_use", "mcp_tool_use":
		p.reply.ToolCalls = append(p.reply.ToolCalls, b.Name)
	case "thinking", "redacted_thinking":
		p.thought = true
	case "compaction":
		p.reply.Compaction = cmp.Or(unquoted(b.Content), p.reply.Compaction)
	}
}

// usage sets counts, which are totals of the whole message.
func (p *partial) usage(u *api.Usage) {
	merge(&p.reply.Usage, u)
	if u.Details != nil {
		p.reply.Thinking = u.Details.Thinking
	}
	if len(u.Iterations) == 0 {
		return
	}
	p.reply.Iterations = make([]wire.Iteration, len(u.Iterations))
	for i := range u.Iterations {
		it := &u.Iterations[i]
		p.reply.Iterations[i].Type = it.Type
		merge(&p.reply.Iterations[i].Usage, &it.Usage)
	}
}

// merge puts the given counts into a usage. Written tokens that are not in the split live
// for five minutes, the API's default; a split that exceeds the total takes precedence.
func merge(to *wire.Usage, u *api.Usage) {
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

// value returns what a pointer points to, zero for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// unquoted returns the text of a JSON string, "" for anything else.
func unquoted(v jsontext.Value) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// NewOpenAI returns a client of the chat completions of OpenAI or of a server
// with the same interface (vLLM, llama.cpp, gateways). The base URL has the
// version, if it is not /v1, or the whole path, as in
// http://localhost:8000/chat/completions. Features that the interface lacks are
// left out: cache breakpoints, betas and the server's compaction. It returns an
// error for an invalid base URL, and for a key that cannot be sent or that
// OpenAI's own server requires.
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

// ownServer reports whether a base URL is OpenAI's: its newer models only
// accept max_completion_tokens, other servers often only max_tokens.
func ownServer(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openai.com" || strings.HasSuffix(u.Hostname(), ".openai.com"))
}

// chatOf returns a request in the form of chat completions.
func chatOf(r *wire.Request, own bool) (*api.ChatRequest, error) {
	q := &api.ChatRequest{Model: r.Model, Stream: true, StreamOptions: api.StreamOptions{IncludeUsage: true}}
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
		q.ToolChoice = "none" // not part of the key of a prefix cache here
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

// chatMessages returns a message in the form of chat completions, in which tool results are separate messages.
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

// completion processes an event of a chat completion.
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
		// From GPT-5.6 on written tokens have their own price, and a lifetime without a
		// class here. They count as those of five minutes, which have the same multiple
		// of the input's price.
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
