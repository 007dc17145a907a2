package live

import "github.com/go-json-experiment/json/jsontext"

// chatRequest is a request for a chat completion.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Tools               []chatTool    `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	Stream              bool          `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// chatMessage is a message of a request, or a piece of an answer.
type chatMessage struct {
	Role       string     `json:"role,omitzero"`
	Content    *string    `json:"content"` // null beside tool calls
	Refusal    string     `json:"refusal,omitzero"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

// chatCall is a tool call.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON in a string
	} `json:"function"`
}

// chatTool is a tool definition.
type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description,omitzero"`
		Parameters  jsontext.Value `json:"parameters,omitzero"`
	} `json:"function"`
}

// chatOf returns a request in the form of chat completions, which has no breakpoints, betas or compaction.
func chatOf(r *Request) *chatRequest {
	q := &chatRequest{Model: r.Model, MaxTokens: r.MaxTokens, Stream: true}
	q.StreamOptions.IncludeUsage = true
	if system := joined(r.System); system != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: &system})
	}
	for _, m := range r.Messages {
		q.Messages = append(q.Messages, chatMessages(m)...)
	}
	for _, tool := range r.Tools {
		t := chatTool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = tool.Name, tool.Description, tool.InputSchema
		q.Tools = append(q.Tools, t)
	}
	if len(q.Tools) > 0 {
		q.ToolChoice = "none" // not part of the key of a prefix cache here
	}
	return q
}

// chatMessages returns a message in the form of chat completions, in which tool results are separate messages.
func chatMessages(m Message) (list []chatMessage) {
	said := chatMessage{Role: m.Role}
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case typeUse:
			c := chatCall{ID: b.ID, Type: "function"}
			c.Function.Name, c.Function.Arguments = b.Name, string(b.Input)
			said.ToolCalls = append(said.ToolCalls, c)
		case typeResult:
			text := b.words()
			list = append(list, chatMessage{Role: "tool", Content: &text, ToolCallID: b.ToolUseID})
		}
	}
	if text := joined(m.Content); text != "" {
		said.Content = &text
	}
	if said.Content != nil || len(said.ToolCalls) > 0 {
		list = append(list, said)
	}
	return list
}
