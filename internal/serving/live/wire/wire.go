// Package wire is what is sent to a model and comes back, independent of a
// provider's form: what the live summariser composes, what backends send, and
// what cassettes keep.
package wire

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// DefaultTimeout bounds one request. A summary of 20,000 tokens takes minutes.
const DefaultTimeout = 10 * time.Minute

// Kind says what a block of a message is.
type Kind string

// The kinds of block.
const (
	KindText       Kind = "text"
	KindToolUse    Kind = "tool_use"
	KindToolResult Kind = "tool_result"
)

// Role is the speaker of a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Cache is the lifetime of the cache entry that a breakpoint at a block
// requests; "" for no breakpoint.
type Cache string

// The lifetimes of cache entries.
const (
	CacheNone Cache = ""
	Cache5m   Cache = "5m"
	Cache1h   Cache = "1h"
)

// Block is one content block of a message or of the system prompt.
type Block struct {
	Kind  Kind           `json:"kind"`
	Text  string         `json:"text,omitzero"`     // of a text or a tool result
	ID    string         `json:"id,omitzero"`       // pairs a tool_use with its result
	Name  string         `json:"name,omitzero"`     // of the tool, for a tool_use
	Input jsontext.Value `json:"input,omitzero"`    // of a tool_use: a JSON object
	Error bool           `json:"is_error,omitzero"` // the tool call failed
	Cache Cache          `json:"cache,omitzero"`
}

// Message is what one side says.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// Request is one call of a model.
type Request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"` // of output
	System    []Block   `json:"system,omitempty"`
	Tools     []Tool    `json:"tools,omitempty"`
	Messages  []Message `json:"messages"`
	Betas     []string  `json:"betas,omitempty"` // requested beta features, by the names of their headers
	// Compaction requests a compaction on demand; nil for none.
	Compaction *Compaction `json:"compaction,omitzero"`
	// ToolsDenied says that the model must not call a tool although they are listed.
	ToolsDenied bool `json:"tools_denied,omitzero"`
}

// Compaction is a compaction of all messages of a call by the provider, which
// is the call's only answer.
type Compaction struct {
	Instructions string `json:"instructions,omitzero"` // replaces the provider's own; "" for those
}

// Tool is one tool definition.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"` // JSON schema of an object
	Cache       Cache          `json:"cache,omitzero"`
}

// Usage is what a server reports as billed, tokens.
type Usage = prompt.Usage

// Iteration is one pass of the model inside a call: a server-side compaction
// has one that the call's usage excludes.
type Iteration struct {
	Type  string `json:"type"` // "message" or "compaction"
	Usage Usage  `json:"usage"`
}

// Reply is what a model answered. It is complete: a stream that breaks off is a Failure.
type Reply struct {
	ID         string      `json:"id"`
	Model      string      `json:"model"` // of the model that answered
	StopReason string      `json:"stop_reason"`
	Text       string      `json:"text"`                // of all text blocks, joined
	Compaction string      `json:"compaction,omitzero"` // text of a server-side compaction
	ToolCalls  []string    `json:"tool_calls,omitempty"`
	Usage      Usage       `json:"usage"`
	Iterations []Iteration `json:"iterations,omitempty"`
	// First and Total are the time to the first token and to the end of the response, of the last attempt.
	First time.Duration `json:"first_ns"`
	Total time.Duration `json:"total_ns"`
	// Attempts is how many requests were sent, the last one included.
	Attempts int `json:"attempts"`
	// Estimated says that the server did not count everything: the rest of Usage is estimated from bytes.
	Estimated bool `json:"estimated,omitzero"`
	// Wasted is the bill of earlier attempts, as counted or estimated; it is not part of Usage and Billed.
	Wasted Usage `json:"wasted,omitzero"`
	// Thinking is the part of the output that was thinking, tokens: as counted, or
	// the output minus the text.
	Thinking int64 `json:"thinking,omitzero"`
}

// Billed returns the usage of all iterations of the successful attempt, or that
// of the call itself if it has none.
func (r *Reply) Billed() Usage {
	if len(r.Iterations) == 0 {
		return r.Usage
	}
	var u Usage
	for _, it := range r.Iterations {
		u.Add(&it.Usage)
	}
	return u
}

// Cause says why a call gave no reply.
type Cause string

// The causes of failures.
const (
	CauseTooLong    Cause = "prompt too long"    // the server refuses the prompt
	CauseRate       Cause = "rate limited"       // 429
	CauseOverloaded Cause = "overloaded"         // 529
	CauseServer     Cause = "server error"       // 500 and its like
	CauseBroken     Cause = "broken stream"      // cut before its end; the server may have begun to work
	CauseNetwork    Cause = "network"            // the server could not be reached
	CauseTimeout    Cause = "timeout"            // the response did not end in time
	CauseAuth       Cause = "authentication"     // 401, 403: wrong key
	CauseModel      Cause = "unknown model"      // 404
	CauseRequest    Cause = "bad request"        // 400, other than too long
	CauseTooLarge   Cause = "response too large" // beyond the limit for a response
)

// Failure is a call without a reply. It has nothing of the request's headers.
type Failure struct {
	Cause    Cause         `json:"cause"`
	Status   int           `json:"status,omitzero"`   // of HTTP, 0 for none
	Message  string        `json:"message,omitzero"`  // of the server, cut to a few hundred bytes
	Excess   int64         `json:"excess,omitzero"`   // CauseTooLong: tokens above the limit, if told
	After    time.Duration `json:"after_ns,omitzero"` // how long the server asks to wait; 0 for no word
	Attempts int           `json:"attempts"`          // requests sent, the last one included
	// Billed is the bill of the attempts: what the server had counted before a
	// stream broke off, or an estimate if it may have begun without a count.
	Billed Usage `json:"billed,omitzero"`
}

// Error names cause, status and the server's message.
func (f *Failure) Error() string {
	s := string(f.Cause)
	if f.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	return s
}

// Passing reports whether the same request may succeed later.
func (f *Failure) Passing() bool {
	switch f.Cause {
	case CauseRate, CauseOverloaded, CauseServer, CauseBroken, CauseNetwork, CauseTimeout:
		return true
	}
	return false
}

// Fatal reports whether every other call will fail in the same way, so that the caller should stop.
func (f *Failure) Fatal() bool { return f.Cause == CauseAuth || f.Cause == CauseModel }
