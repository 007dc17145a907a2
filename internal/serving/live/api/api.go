// Package api declares the JSON of the two APIs used for calls: Anthropic's
// Messages API and the chat completions of OpenAI, as far as the client writes
// it in requests and reads it in answers.
package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Request is a request to the Messages API.
type Request struct {
	Model      string      `json:"model"`
	MaxTokens  int         `json:"max_tokens"`
	Stream     bool        `json:"stream"`
	System     []Block     `json:"system,omitempty"`
	Tools      []Tool      `json:"tools,omitempty"`
	Compaction *Compaction `json:"compaction,omitzero"`
	Messages   []Message   `json:"messages"`
}

// Message is what one side of a conversation says.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// CacheControl asks for a cache entry.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

// Tool is a tool definition.
type Tool struct {
	Name         string         `json:"name"`
	Description  string         `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"input_schema,omitzero"`
	CacheControl *CacheControl  `json:"cache_control,omitzero"`
}

// Block is a content block of any type.
type Block struct {
	Type         string         `json:"type"`
	Text         *string        `json:"text,omitzero"` // a block of that type must have one, be it empty
	ID           string         `json:"id,omitzero"`
	Name         string         `json:"name,omitzero"`
	Input        jsontext.Value `json:"input,omitzero"`
	ToolUseID    string         `json:"tool_use_id,omitzero"`
	Content      []Block        `json:"content,omitempty"`
	IsError      bool           `json:"is_error,omitzero"`
	CacheControl *CacheControl  `json:"cache_control,omitzero"`
}

// Text returns content of one block of text.
func Text(s string) []Block { return []Block{{Type: "text", Text: &s}} }

// Compaction asks for a compaction on demand.
type Compaction struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions,omitzero"`
}

// BetaOnDemand is the beta feature of compactions on demand.
const BetaOnDemand = "compact-2026-09-04"

// Answer is the first event of a stream, without content.
type Answer struct {
	ID    string `json:"id"`
	Model string `json:"model"`
	Usage Usage  `json:"usage"`
}

// AnswerBlock is a content block of an answer, the beginning of one or a piece, or the
// end of a message.
type AnswerBlock struct {
	Type     string         `json:"type,omitzero"`
	Text     *string        `json:"text,omitzero"`
	Content  jsontext.Value `json:"content,omitzero"` // of a compaction: a string
	Thinking *string        `json:"thinking,omitzero"`
	Name     string         `json:"name,omitzero"`
	// Only in pieces and ends.
	PartialJSON *string `json:"partial_json,omitzero"`
	StopReason  *string `json:"stop_reason,omitzero"`
}

// Usage counts tokens. A nil count is absent: in the last event of a stream it
// has not changed.
type Usage struct {
	Input      *int64         `json:"input_tokens,omitzero"`
	Creation   *int64         `json:"cache_creation_input_tokens,omitzero"`
	Read       *int64         `json:"cache_read_input_tokens,omitzero"`
	Split      *CacheCreation `json:"cache_creation,omitzero"` // of Creation, by lifetime
	Output     *int64         `json:"output_tokens,omitzero"`
	Details    *OutputDetails `json:"output_tokens_details,omitzero"`
	Iterations []Iteration    `json:"iterations,omitempty"`
}

// CacheCreation counts the tokens written to the cache by lifetime.
type CacheCreation struct {
	Write5m int64 `json:"ephemeral_5m_input_tokens"`
	Write1h int64 `json:"ephemeral_1h_input_tokens"`
}

// OutputDetails is a part of the output.
type OutputDetails struct {
	Thinking int64 `json:"thinking_tokens"`
}

// Iteration is the usage of one pass of the model.
type Iteration struct {
	Type  string `json:"type"`
	Usage `json:",embed"`
}

// Event is an event of a stream. Its type says which members it has.
type Event struct {
	Type    string       `json:"type"`
	Message *Answer      `json:"message,omitzero"`
	Block   *AnswerBlock `json:"content_block,omitzero"`
	Delta   *AnswerBlock `json:"delta,omitzero"`
	Usage   *Usage       `json:"usage,omitzero"`
	Error   *Error       `json:"error,omitzero"`
}

// Error says why there is no answer, in either API.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Code    any    `json:"code,omitzero"` // servers differ in its type
}

// UnmarshalJSONFrom reads an object, or the message alone as some gateways send it.
func (e *Error) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &e.Message)
	}
	type plain Error
	return json.UnmarshalDecode(dec, (*plain)(e))
}

// ErrorBody is the body of an answer that is an error.
type ErrorBody struct {
	Error *Error `json:"error"`
}

// ChatRequest is a request for a chat completion.
type ChatRequest struct {
	Model               string        `json:"model"`
	Messages            []ChatMessage `json:"messages"`
	Tools               []ChatTool    `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
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

// ChatChunk is an event of a streamed completion.
type ChatChunk struct {
	ID      string       `json:"id"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *ChatUsage   `json:"usage,omitzero"`
	Error   *Error       `json:"error,omitzero"`
}

// ChatChoice is a piece of an answer.
type ChatChoice struct {
	Delta        *ChatMessage `json:"delta,omitzero"`
	FinishReason *string      `json:"finish_reason"`
}

// ChatUsage counts tokens. Those read from a cache or written to it are part of
// the prompt's, those of reasoning part of the completion's.
type ChatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens,omitzero"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details,omitzero"`
}

// ChatEnd is the last event of a stream.
const ChatEnd = "[DONE]"
