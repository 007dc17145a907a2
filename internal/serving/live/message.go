package live

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Request is one call of a model in the form of the Messages API, always streamed. Chat completions are made from it.
type Request struct {
	Model      string      `json:"model"`
	MaxTokens  int         `json:"max_tokens"` // of output
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

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// CacheControl asks for a cache entry.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"` // 5m or 1h
}

// Tool is a tool definition.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema,omitzero"` // JSON schema of an object
}

// Block is a content block of a message, a result or the system prompt.
type Block struct {
	Type         string         `json:"type"`
	Text         *string        `json:"text,omitzero"` // a block of that type must have one, be it empty
	ID           string         `json:"id,omitzero"`
	Name         string         `json:"name,omitzero"`
	Input        jsontext.Value `json:"input,omitzero"` // of a tool call: a JSON object
	ToolUseID    string         `json:"tool_use_id,omitzero"`
	Content      []Block        `json:"content,omitempty"`
	IsError      bool           `json:"is_error,omitzero"`
	CacheControl *CacheControl  `json:"cache_control,omitzero"`
}

// The types of blocks that are sent.
const (
	typeText   = "text"
	typeUse    = "tool_use"
	typeResult = "tool_result"
)

// Text returns a block of text.
func Text(text string) Block { return Block{Type: typeText, Text: &text} }

// useBlock returns a tool call.
func useBlock(id, name string, input jsontext.Value) Block {
	return Block{Type: typeUse, ID: id, Name: name, Input: input}
}

// resultBlock returns the result of a tool call. The API refuses empty text blocks.
func resultBlock(id, text string, failed bool) Block {
	b := Block{Type: typeResult, ToolUseID: id, IsError: failed}
	if text != "" {
		b.Content = []Block{Text(text)}
	}
	return b
}

// words returns the text of a block or of its result.
func (b *Block) words() string {
	if len(b.Content) > 0 {
		b = &b.Content[0]
	}
	return value(b.Text)
}

// Compaction asks for a compaction of all messages by the provider, which is the call's only answer.
type Compaction struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions,omitzero"` // replaces the provider's own; "" for those
}

// BetaOnDemand is the beta feature of compactions on demand.
const BetaOnDemand = "compact-2026-09-04"

// body returns the bytes that are sent: schemas and inputs unchanged, because another order of keys makes another
// prefix. Recordings need not be valid text; invalid bytes are sent as U+FFFD. The provider's cache key includes
// tool_choice, so there tools are denied only in words. own says that the server is OpenAI's.
func (r *Request) body(provider string, own bool) ([]byte, error) {
	var q any = r
	if provider == OpenAI {
		chat := chatOf(r)
		if own { // its newer models accept only this name, other servers often only the other
			chat.MaxTokens, chat.MaxCompletionTokens = 0, chat.MaxTokens
		}
		q = chat
	}
	b, err := json.Marshal(q, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", r.Model, err)
	}
	return b, nil
}

const (
	// bytesPerToken converts uncounted text into tokens: text of recorded sessions has 0.26 tokens a byte.
	bytesPerToken = 4
	// tokensPerByte bounds the tokens of a request: recorded sessions have 0.26 to 0.33 a byte, and the tokenizer of
	// newer models makes 30 % more of the same text.
	tokensPerByte = 0.4
	// overhead is what an object adds to its text, tokens; a tool call adds the most, 54 in recorded sessions.
	overhead = 60
)

// most returns an upper estimate of the bill of a request with this body: nothing is in the cache, everything is
// written with the longest requested lifetime, and the output is as long as allowed. A quote inside of a text has a
// backslash ahead of it, so members are told apart from words.
func (r *Request) most(body []byte) prompt.Usage {
	input := int64(float64(len(body))*tokensPerByte) + int64(bytes.Count(body, []byte(`{"`)))*overhead
	u := prompt.Usage{Output: int64(r.MaxTokens)}
	switch {
	case bytes.Contains(body, []byte(`"ttl":"`+ttl1h)):
		u.Write1h = input
	case bytes.Contains(body, []byte(`"cache_control":`)):
		u.Write5m = input
	default:
		u.Uncached = input
	}
	return u
}

// Reply is what came of a call: a complete answer, or the bill of what failed.
type Reply struct {
	Failure    *Failure     `json:"failure,omitzero"` // why there is no answer, nil if there is one
	ID         string       `json:"id,omitzero"`
	Model      string       `json:"model,omitzero"` // of the model that answered
	StopReason string       `json:"stop_reason,omitzero"`
	ToolCalls  []string     `json:"tool_calls,omitempty"`
	Usage      prompt.Usage `json:"usage,omitzero"`
	// Passes counts those of the model inside the call, if the server tells them; Compacted is the output of those that
	// compacted. Usage is the bill of all.
	Passes    int   `json:"passes,omitzero"`
	Compacted int64 `json:"compacted,omitzero"`
	// First and Total are the time to the first token and to the end of the response, of the last attempt.
	First time.Duration `json:"first_ns,omitzero"`
	Total time.Duration `json:"total_ns,omitzero"`
	// Attempts is how many requests were sent, the last one included.
	Attempts int `json:"attempts"`
	// Estimated says that the server did not count everything: the rest of Usage is estimated from bytes.
	Estimated bool `json:"estimated,omitzero"`
	// Wasted is the bill of attempts that failed; it is not part of Usage. It is what the server had counted before a
	// stream broke off, or an estimate if it may have begun without a count.
	Wasted prompt.Usage `json:"wasted,omitzero"`
	// Thinking is the part of the output that was thinking, tokens: as counted, or the output minus the text.
	Thinking   int64 `json:"thinking,omitzero"`
	Text       words `json:"text,omitzero"`       // of all text blocks, joined
	Compaction words `json:"compaction,omitzero"` // text of a server-side compaction
}

// joined returns the texts of blocks, with blank lines between them.
func joined(blocks []Block) string {
	var parts []string
	for i := range blocks {
		if b := &blocks[i]; b.Type == typeText && b.words() != "" {
			parts = append(parts, b.words())
		}
	}
	return strings.Join(parts, "\n\n")
}

// value returns what a pointer points to, zero for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
