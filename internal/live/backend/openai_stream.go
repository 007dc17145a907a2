package backend

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// chatChunk is one event of a streamed completion.
type chatChunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage     `json:"usage"`
	Error jsontext.Value `json:"error"`
}

// chatUsage counts tokens; those read from a cache or written to it are among
// the prompt's.
type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// usage returns u in disjoint classes. Writes have a price of their own from
// GPT-5.6 on, and a lifetime that no class here is made for: they stand with
// those of five minutes, whose multiple of the input's price they share.
func (u *chatUsage) usage() wire.Usage {
	read := min(max(u.Details.Cached, 0), u.Prompt)
	written := min(max(u.Details.Written, 0), u.Prompt-read)
	return wire.Usage{Uncached: u.Prompt - read - written, Read: read, Write5m: written, Output: u.Completion}
}

// stops are the reasons to stop in the words of the Messages API.
var stops = map[string]string{
	"stop":           "end_turn",
	"length":         "max_tokens",
	"tool_calls":     "tool_use",
	"function_call":  "tool_use",
	"content_filter": "refusal",
}

// completion is a reply while its events come in.
type completion struct {
	began   time.Time
	first   time.Duration
	reply   wire.Reply
	text    strings.Builder
	bytes   int64 // of output that came
	most    int64 // tokens of output that the request allows
	refused bool
	counted bool     // the usage came
	done    bool     // the last event came
	refusal *refusal // an error inside the stream
}

// streamEnd is the event behind which nothing more comes.
const streamEnd = "[DONE]"

// take adds one event.
func (c *completion) take(data []byte) error {
	if string(data) == streamEnd {
		c.done = true
		return nil
	}
	var e chatChunk
	if err := json.Unmarshal(data, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("an event is no JSON: %w", err)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		c.refusal = &refusal{kind: "server_error", message: string(e.Error)}
		var body chatError
		if json.Unmarshal(data, &body) == nil {
			c.refusal.kind, c.refusal.message = body.kind(), body.message(c.refusal.message)
		}
		return fmt.Errorf("the stream holds an error")
	}
	if e.ID != "" {
		c.reply.ID, c.reply.Model = e.ID, e.Model
	}
	if e.Usage != nil {
		c.reply.Usage, c.counted = e.Usage.usage(), true
		c.reply.Thinking = min(max(e.Usage.Output.Reasoning, 0), e.Usage.Completion)
	}
	for i := range e.Choices {
		c.choice(&e, i)
	}
	return nil
}

func (c *completion) choice(e *chatChunk, i int) {
	d := &e.Choices[i].Delta
	c.text.WriteString(d.Content)
	c.bytes += int64(len(d.Content) + len(d.Refusal))
	c.refused = c.refused || d.Refusal != ""
	for _, t := range d.ToolCalls {
		c.bytes += int64(len(t.Function.Arguments))
		if t.Function.Name != "" {
			c.reply.ToolCalls = append(c.reply.ToolCalls, t.Function.Name)
		}
	}
	if c.first == 0 && (c.bytes > 0 || len(d.ToolCalls) > 0) {
		c.first = time.Since(c.began)
	}
	if reason := e.Choices[i].FinishReason; reason != "" {
		c.reply.StopReason = reason
		if known, ok := stops[reason]; ok {
			c.reply.StopReason = known
		}
	}
}

// billed returns what a stream that broke off will be billed as far as can be
// told: the counts come with its last event.
func (c *completion) billed() wire.Usage {
	u := c.reply.Usage
	u.Output = max(u.Output, outputOf(c.bytes, c.most))
	return u
}

func (c *completion) finish() *wire.Reply {
	r := &c.reply
	r.Text = c.text.String()
	if c.refused {
		r.StopReason = "refusal"
	}
	r.First, r.Total, r.Attempts = c.first, time.Since(c.began), 1
	if c.first == 0 {
		r.First = r.Total
	}
	return r
}
