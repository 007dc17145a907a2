package devserver

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chatRequest is what is read of a request for a chat completion.
type chatRequest struct {
	Model               string           `json:"model"`
	Messages            []chatMessage    `json:"messages"`
	Tools               []jsontext.Value `json:"tools"`
	ToolChoice          jsontext.Value   `json:"tool_choice"`
	MaxTokens           int              `json:"max_tokens"`
	MaxCompletionTokens int              `json:"max_completion_tokens"`
	Stream              bool             `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// completions answers POST /v1/chat/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	c := s.begin(w, r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), failChat)
	if c == nil {
		return
	}
	var q chatRequest
	if err := json.Unmarshal(c.body, &q); err != nil {
		failChat(c, invalid("the request is not valid: %v", err))
		return
	}
	if e := s.checkChat(&q); e != nil {
		failChat(c, e)
		return
	}
	text := rendered(&q)
	n := tokensOf(len(text))
	if n > s.options.Window {
		failChat(c, invalid("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", s.options.Window, n))
		return
	}
	a := c.chatAnswer(&q)
	a.usage.Read = s.chunks.begin(s.options.Now(), c.org+"\x00"+q.Model, text)
	a.usage.Uncached = n - a.usage.Read
	a.usage.Output = a.output()
	if !c.delay(s.options.Latency) {
		return
	}
	s.counts.bill(a)
	if q.Stream {
		c.chatStream(a, q.StreamOptions.IncludeUsage)
		return
	}
	c.chatWhole(a)
}

// checkChat returns what such servers refuse: unknown models and results
// without their calls.
func (s *Server) checkChat(q *chatRequest) *apiError {
	if !s.knows(q.Model) {
		return &apiError{status: http.StatusNotFound, kind: "model_not_found", message: "The model `" + q.Model + "` does not exist"}
	}
	if len(q.Messages) == 0 {
		return invalid("messages: at least one is required")
	}
	open := map[string]bool{}
	for i, m := range q.Messages {
		switch m.Role {
		case "system", "developer", "user", "assistant":
			if len(open) > 0 {
				return invalid("messages[%d]: tool calls must be followed by tool messages that respond to each of them", i)
			}
		case "tool":
			if !open[m.ToolCallID] {
				return invalid("messages[%d]: tool_call_id %q has no call ahead of it", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return invalid("messages[%d].role: unknown role %q", i, m.Role)
		}
		for _, t := range m.ToolCalls {
			open[t.ID] = true
		}
	}
	return nil
}

// rendered returns a prompt as one text.
func rendered(q *chatRequest) string {
	var b strings.Builder
	for _, t := range q.Tools {
		b.Write(t)
	}
	for _, m := range q.Messages {
		b.WriteString("\n" + m.Role + " " + m.ToolCallID + "\n" + m.Content)
		for _, t := range m.ToolCalls {
			b.WriteString("\n" + t.ID + " " + t.Function.Name + " " + t.Function.Arguments)
		}
	}
	return b.String()
}

// chatAnswer works out an answer in the words of the Messages API.
func (c *call) chatAnswer(q *chatRequest) *answer {
	var messages []message
	for _, m := range q.Messages {
		messages = append(messages, message{Role: m.Role, Content: content{{Type: "text", Text: m.Content}}})
	}
	limit := max(q.MaxTokens, q.MaxCompletionTokens)
	if limit == 0 {
		limit = 1 << 20
	}
	a := &answer{id: "chatcmpl-" + c.digest, model: q.Model}
	c.speak(a, &request{MaxTokens: &limit}, messages, lastText(messages))
	return a
}

// chunkTokens is the step in which prefixes are cached, and chunkLeast the
// shortest that is; entries live for chunkTTL without use. OpenAI documents
// these, and five to ten minutes.
const (
	chunkTokens = 128
	chunkLeast  = 1024
	chunkTTL    = 5 * time.Minute
)

// chunkCache is the automatic cache of chat completions. The zero value is
// empty.
type chunkCache struct {
	mu   sync.Mutex
	used map[[sha256.Size]byte]time.Time
}

// begin returns how many tokens of a prompt are read from the cache, and caches
// all of it.
func (c *chunkCache) begin(now time.Time, owner, text string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil || len(c.used) > 1<<18 {
		c.used = map[[sha256.Size]byte]time.Time{}
	}
	h := sha256.New()
	h.Write([]byte(owner))
	read, hit, size := int64(0), true, bytesOf(chunkTokens)
	for n := int64(1); len(text) >= size; n++ {
		h.Write([]byte(text[:size]))
		text = text[size:]
		var sum [sha256.Size]byte
		h.Sum(sum[:0])
		last, ok := c.used[sum]
		hit = hit && ok && now.Before(last.Add(chunkTTL))
		if hit {
			read = n * chunkTokens
		}
		c.used[sum] = now
	}
	if read < chunkLeast {
		return 0
	}
	return read
}
