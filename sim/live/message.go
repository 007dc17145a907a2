package live

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Request is one call of a model in the form of the Messages API. Chat completions are made from it. It offers no
// tools: calls of tools and their results are text.
type Request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"` // of output
	System    []Block   `json:"system,omitempty"`
	Messages  []Message `json:"messages"`
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

// Block is a text of a message or of the system prompt.
type Block struct {
	Type         string        `json:"type"` // always "text"
	Text         string        `json:"text"`
	CacheControl *CacheControl `json:"cache_control,omitzero"`
}

// CacheControl asks for a cache entry.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"` // 5m or 1h
}

// Text returns a block of text.
func Text(text string) Block { return Block{Type: "text", Text: text} }

// joined returns the texts of blocks, with blank lines between them.
func joined(blocks []Block) string {
	parts := make([]string, len(blocks))
	for i := range blocks {
		parts[i] = blocks[i].Text
	}
	return strings.Join(parts, "\n\n")
}

// chatRequest is a request for a chat completion, which has no breakpoints.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
}

// chatMessage is a message of a chat completion.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chatOf returns a request in the form of chat completions. own says that the server is OpenAI's: its newer models
// accept only the second name for the limit of output, other servers often only the first.
func chatOf(r *Request, own bool) *chatRequest {
	q := &chatRequest{Model: r.Model, MaxTokens: r.MaxTokens}
	if own {
		q.MaxTokens, q.MaxCompletionTokens = 0, r.MaxTokens
	}
	q.Messages = []chatMessage{{"system", joined(r.System)}}
	for _, m := range r.Messages {
		q.Messages = append(q.Messages, chatMessage{m.Role, joined(m.Content)})
	}
	return q
}

// body returns the bytes that are sent. Recordings need not be valid text; invalid bytes are sent as U+FFFD. own says
// that the server is OpenAI's.
func (r *Request) body(provider string, own bool) ([]byte, error) {
	var q any = r
	if provider == OpenAI {
		q = chatOf(r, own)
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
	// overhead bounds what an object adds to its text, tokens.
	overhead = 60
)

// most returns an upper estimate of the bill of a request with this body: nothing is in the cache, everything is
// written with the longest requested lifetime, and the output is as long as allowed. A quote inside of a text has a
// backslash before it, so members are told apart from words.
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
