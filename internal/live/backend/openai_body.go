package backend

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// chatRequest is a request for a chat completion.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Tools               []chatTool    `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`
	Stream              bool          `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"` // null beside tool calls
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON in a string
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description,omitzero"`
		Parameters  jsontext.Value `json:"parameters,omitzero"`
	} `json:"function"`
}

// body returns the body of a request.
func (o *OpenAI) body(r *wire.Request) (*body, error) {
	q := chatRequest{Model: r.Model, Stream: true, ReasoningEffort: r.Effort}
	q.StreamOptions.IncludeUsage = true
	if ownServer(o.config.BaseURL) {
		q.MaxCompletionTokens = r.MaxTokens
	} else {
		q.MaxTokens = r.MaxTokens
	}
	if system := joined(r.System); system != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: &system})
	}
	for i, m := range r.Messages {
		messages, err := chat(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		q.Messages = append(q.Messages, messages...)
	}
	for i := range r.Tools {
		t := chatTool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = r.Tools[i].Name, r.Tools[i].Description, r.Tools[i].InputSchema
		q.Tools = append(q.Tools, t)
	}
	if r.ToolsDenied && len(q.Tools) > 0 {
		q.ToolChoice = "none" // no part of the key of a prefix cache here
	}
	return newBody(&q)
}

// ownServer reports whether a base URL is OpenAI's: its newer models know only
// max_completion_tokens, other servers often only max_tokens.
func ownServer(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openai.com" || strings.HasSuffix(u.Hostname(), ".openai.com"))
}

// joined returns the texts of blocks, with blank lines between them.
func joined(blocks []wire.Block) string {
	if len(blocks) == 1 && blocks[0].Kind == wire.KindText {
		return blocks[0].Text
	}
	var parts []string
	for i := range blocks {
		if blocks[i].Kind == wire.KindText && blocks[i].Text != "" {
			parts = append(parts, blocks[i].Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// chat returns a message in the form of chat completions: tool results are
// messages of their own there and follow their calls at once.
func chat(m wire.Message) ([]chatMessage, error) {
	var list []chatMessage
	said := chatMessage{Role: string(m.Role)}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Kind {
		case wire.KindText:
		case wire.KindToolUse:
			c := chatCall{ID: b.ID, Type: "function"}
			c.Function.Name, c.Function.Arguments = b.Name, string(input(b))
			said.ToolCalls = append(said.ToolCalls, c)
		case wire.KindToolResult:
			list = append(list, chatMessage{Role: "tool", Content: &b.Text, ToolCallID: b.ID})
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
