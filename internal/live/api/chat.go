package api

import "github.com/go-json-experiment/json/jsontext"

// ChatRequest is a request for a chat completion.
type ChatRequest struct {
	Model               string        `json:"model"`
	Messages            []ChatMessage `json:"messages"`
	Tools               []ChatTool    `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`
	Stream              bool          `json:"stream"`
	StreamOptions       StreamOptions `json:"stream_options"`
}

// StreamOptions asks for the usage at the end of a stream.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// ChatMessage is a message of a request or of an answer, or a piece of one.
type ChatMessage struct {
	Role       string     `json:"role,omitzero"`
	Content    *string    `json:"content"` // null beside tool calls
	Refusal    string     `json:"refusal,omitzero"`
	ToolCalls  []ChatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

// Text returns the content, "" for none.
func (m *ChatMessage) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// ChatCall is a tool call.
type ChatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON in a string
	} `json:"function"`
}

// ChatTool is a tool definition.
type ChatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description,omitzero"`
		Parameters  jsontext.Value `json:"parameters,omitzero"`
	} `json:"function"`
}

// ChatChunk is a completion, or an event of a streamed one.
type ChatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *ChatUsage   `json:"usage,omitzero"`
	Error   *Error       `json:"error,omitzero"`
}

// ChatChoice is an answer, or a piece of it.
type ChatChoice struct {
	Index        int          `json:"index"`
	Delta        *ChatMessage `json:"delta,omitzero"`
	Message      *ChatMessage `json:"message,omitzero"`
	FinishReason *string      `json:"finish_reason"`
}

// ChatUsage counts tokens; those read from a cache or written to it are among the
// prompt's, those of reasoning among the completion's.
type ChatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens,omitzero"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details,omitzero"`
}

// ChatEnd is the event behind which nothing more comes.
const ChatEnd = "[DONE]"
