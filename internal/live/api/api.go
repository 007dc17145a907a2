// Package api declares the JSON of the two APIs used for calls: Anthropic's
// Messages API and the chat completions of OpenAI. The client writes requests
// and reads answers, the test server does the reverse.
package api

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/version"
)

// Request is a request to the Messages API.
type Request struct {
	Model             string         `json:"model"`
	MaxTokens         *int           `json:"max_tokens,omitzero"`
	Stream            bool           `json:"stream,omitzero"`
	System            Content        `json:"system,omitempty"`
	Tools             []Tool         `json:"tools,omitempty"`
	ToolChoice        jsontext.Value `json:"tool_choice,omitzero"`
	ContextManagement jsontext.Value `json:"context_management,omitzero"`
	Compaction        *Compaction    `json:"compaction,omitzero"`
	Thinking          *Thinking      `json:"thinking,omitzero"`
	OutputConfig      *OutputConfig  `json:"output_config,omitzero"`
	Messages          []Message      `json:"messages"`
}

// Message is what one side of a conversation says.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// CacheControl asks for a cache entry.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

// Tool is a tool definition. Rest holds the members without a field.
type Tool struct {
	Name         string         `json:"name"`
	Description  string         `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"input_schema,omitzero"`
	CacheControl *CacheControl  `json:"cache_control,omitzero"`
	Rest         jsontext.Value `json:",embed"`
}

// Block is a content block of any type. Rest holds the members without a field.
type Block struct {
	Type         string         `json:"type"`
	Text         *string        `json:"text,omitzero"` // a block of that type must have one, be it empty
	ID           string         `json:"id,omitzero"`
	Name         string         `json:"name,omitzero"`
	Input        jsontext.Value `json:"input,omitzero"`
	ToolUseID    string         `json:"tool_use_id,omitzero"`
	Content      Content        `json:"content,omitempty"`
	IsError      bool           `json:"is_error,omitzero"`
	CacheControl *CacheControl  `json:"cache_control,omitzero"`
	Rest         jsontext.Value `json:",embed"`
}

// TextOf returns the text of a block, "" for none.
func (b *Block) TextOf() string {
	if b.Text == nil {
		return ""
	}
	return *b.Text
}

// Content is a list of blocks; a string stands for one block of text.
type Content []Block

// UnmarshalJSONFrom reads a list, a string or null.
func (c *Content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		var s string
		if err := json.UnmarshalDecode(dec, &s); err != nil {
			return err
		}
		*c = Text(s)
		return nil
	case 'n':
		*c = nil
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]Block)(c))
}

// Text returns content of one block of text.
func Text(s string) Content { return Content{{Type: "text", Text: &s}} }

// Joined returns the texts of the blocks, one after the other.
func (c Content) Joined() string {
	if len(c) == 1 {
		return c[0].TextOf()
	}
	var s []byte
	for i := range c {
		s = append(s, c[i].TextOf()...)
	}
	return string(s)
}

// Thinking asks for thinking, or forbids it.
type Thinking struct {
	Type   string `json:"type"`
	Budget *int   `json:"budget_tokens,omitzero"`
}

// OutputConfig asks for effort.
type OutputConfig struct {
	Effort string `json:"effort,omitzero"`
}

// Compaction asks for a compaction on demand.
type Compaction struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions,omitzero"`
}

// Types of edits of the context, and the beta features they belong to
// (platform.claude.com, context editing), and the beta of compactions on demand.
const (
	EditTools    = "clear_tool_uses_20250919"
	EditThinking = "clear_thinking_20251015"

	BetaEditing  = "context-management-2025-06-27"
	BetaOnDemand = "compact-2026-09-04"
)

// ContextManagement declares edits that the server makes.
type ContextManagement struct {
	Edits []Edit `json:"edits"`
}

// Edit is one edit of the context.
type Edit struct {
	Type            string         `json:"type"`
	Trigger         *Amount        `json:"trigger,omitzero"`
	Keep            jsontext.Value `json:"keep,omitzero"` // an amount, or "all"
	ClearAtLeast    *Amount        `json:"clear_at_least,omitzero"`
	ExcludeTools    []string       `json:"exclude_tools,omitempty"`
	ClearToolInputs jsontext.Value `json:"clear_tool_inputs,omitzero"` // whether, or the tools whose
}

// Amount is a number of something.
type Amount struct {
	Type  string `json:"type"`
	Value int64  `json:"value"`
}

// Answer is a message of the model: the body of an answer that is not streamed,
// and without content the first event of a stream.
type Answer struct {
	ID                string        `json:"id"`
	Type              string        `json:"type"`
	Role              string        `json:"role"`
	Model             string        `json:"model"`
	Content           []AnswerBlock `json:"content"`
	StopReason        *string       `json:"stop_reason"`
	Usage             Usage         `json:"usage"`
	ContextManagement *AppliedEdits `json:"context_management,omitzero"`
}

// AnswerBlock is a content block of an answer, the beginning of one or a piece, or the
// end of a message.
type AnswerBlock struct {
	Type      string         `json:"type,omitzero"`
	Text      *string        `json:"text,omitzero"`
	Content   jsontext.Value `json:"content,omitzero"` // of a compaction: a string
	Thinking  *string        `json:"thinking,omitzero"`
	Signature *string        `json:"signature,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
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

// AppliedEdits lists what the declared edits removed.
type AppliedEdits struct {
	Edits []AppliedEdit `json:"applied_edits"`
}

// AppliedEdit is what one edit removed.
type AppliedEdit struct {
	Type        string `json:"type"`
	ToolUses    *int64 `json:"cleared_tool_uses,omitzero"`
	Turns       *int64 `json:"cleared_thinking_turns,omitzero"`
	InputTokens int64  `json:"cleared_input_tokens"`
}

// Event is an event of a stream. Its type says which members it has.
type Event struct {
	Type              string        `json:"type"`
	Message           *Answer       `json:"message,omitzero"`
	Index             *int          `json:"index,omitzero"`
	Block             *AnswerBlock  `json:"content_block,omitzero"`
	Delta             *AnswerBlock  `json:"delta,omitzero"`
	Usage             *Usage        `json:"usage,omitzero"`
	ContextManagement *AppliedEdits `json:"context_management,omitzero"`
	Error             *Error        `json:"error,omitzero"`
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
	Type      string `json:"type,omitzero"`
	Error     *Error `json:"error"`
	RequestID string `json:"request_id,omitzero"`
}

var modelVersion = regexp.MustCompile(`^claude-(?:[a-z]+-)?([0-9]+)(?:-([0-9]{1,2}))?(?:-|$)`)

// Ability says which kinds of thinking and effort a model accepts.
type Ability struct{ Adaptive, Budget, Effort bool }

// AbilityOf returns the ability of a model by the version in its name, and
// whether the name has one (platform.claude.com, thinking and effort): budgets
// from 3.7 up to 4.6, adaptive thinking from 4.6 on, effort from 4.6, for Opus
// from 4.5 on. A model without a version is assumed to accept everything.
func AbilityOf(model string) (a Ability, known bool) {
	m := modelVersion.FindStringSubmatch(model)
	if m == nil {
		return Ability{true, true, true}, false
	}
	release := strings.TrimSuffix(m[1]+"."+m[2], ".")
	first := 6
	if strings.HasPrefix(model, "claude-opus-") {
		first = 5
	}
	return Ability{
		Adaptive: version.AtLeast(release, 4, 6),
		Budget:   version.AtLeast(release, 3, 7) && !version.AtLeast(release, 4, 7),
		Effort:   version.AtLeast(release, 4, first),
	}, true
}

// Efforts returns the efforts of the Messages API.
func Efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

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

// ChatUsage counts tokens. Those read from a cache or written to it are part of
// the prompt's, those of reasoning part of the completion's.
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

// ChatEnd is the last event of a stream.
const ChatEnd = "[DONE]"
