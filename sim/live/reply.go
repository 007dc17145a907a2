package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Reply is what came of a call: a complete answer, or the bill of what failed.
type Reply struct {
	Failure    *Failure     `json:"failure,omitzero"` // why there is no answer, nil if there is one
	ID         string       `json:"id,omitzero"`
	Model      string       `json:"model,omitzero"` // of the model that answered
	StopReason string       `json:"stop_reason,omitzero"`
	Usage      prompt.Usage `json:"usage,omitzero"`
	// Total is the time to the end of the response, of the last attempt.
	Total time.Duration `json:"total_ns,omitzero"`
	// Attempts is how many requests were sent, the last one included.
	Attempts int `json:"attempts"`
	// Estimated says that the server did not count everything: the rest of Usage is estimated from bytes.
	Estimated bool `json:"estimated,omitzero"`
	// Wasted is the bill of attempts that failed; it is not part of Usage. It is an estimate, as a server counts only
	// what it answers.
	Wasted prompt.Usage `json:"wasted,omitzero"`
	// Thinking is the part of the output that the server counts as thinking, tokens.
	Thinking int64 `json:"thinking,omitzero"`
	Text     words `json:"text,omitzero"` // of all text blocks, joined
}

// message is an answer of the Messages API.
type message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	StopReason string  `json:"stop_reason"`
	Content    []Block `json:"content"` // blocks of other types have no text
	Usage      struct {
		Input    int64 `json:"input_tokens"`
		Creation int64 `json:"cache_creation_input_tokens"`
		Read     int64 `json:"cache_read_input_tokens"`
		Split    struct {
			Write5m int64 `json:"ephemeral_5m_input_tokens"`
			Write1h int64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"` // of Creation, by lifetime
		Output  int64 `json:"output_tokens"`
		Details struct {
			Thinking int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// reply returns the answer in this package's terms. Written tokens that are not in the split live for five minutes, the
// API's default; a split that exceeds the total takes precedence.
func (m *message) reply() *Reply {
	r := &Reply{ID: m.ID, Model: m.Model, StopReason: m.StopReason}
	for _, b := range m.Content {
		if b.Type == "text" {
			r.Text += words(b.Text)
		}
	}
	u := &m.Usage
	r.Usage = prompt.Usage{
		Uncached: u.Input, Read: u.Read, Write5m: u.Split.Write5m, Write1h: u.Split.Write1h, Output: u.Output,
	}
	r.Usage.Write5m += max(u.Creation-r.Usage.Write5m-r.Usage.Write1h, 0)
	r.Thinking = u.Details.Thinking
	return r
}

// completion is a chat completion.
type completion struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"` // parts of Prompt
		Output struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"` // a part of Completion
	} `json:"usage"`
}

// stops are the reasons to stop in the words of the Messages API.
var stops = map[string]string{"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}

// reply returns the answer in this package's terms. From GPT-5.6 on written tokens have their own
// price, and a lifetime without a class here. They count as writes of five minutes, which have the
// same multiple of the input's price.
func (c *completion) reply() *Reply {
	r := &Reply{ID: c.ID, Model: c.Model}
	for _, k := range c.Choices {
		r.Text += words(k.Message.Content)
		r.StopReason = cmp.Or(stops[k.FinishReason], k.FinishReason)
		if k.Message.Refusal != "" {
			r.StopReason = "refusal"
		}
	}
	u := &c.Usage
	read := min(max(u.Details.Cached, 0), u.Prompt)
	written := min(max(u.Details.Written, 0), u.Prompt-read)
	r.Usage = prompt.Usage{Uncached: u.Prompt - read - written, Read: read, Write5m: written, Output: u.Completion}
	r.Thinking = u.Output.Reasoning
	return r
}

// decodeReply reads the body of a response. Servers are not strict about their JSON, and some send an error under the
// status of an answer.
func decodeReply(provider string, body []byte) (*Reply, error) {
	var failed struct {
		Error *refusal `json:"error"`
	}
	var said interface{ reply() *Reply } = &message{}
	if provider == OpenAI {
		said = &completion{}
	}
	for _, to := range []any{&failed, said} {
		err := json.Unmarshal(body, to, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, fmt.Errorf("the answer is not JSON of this interface: %w", err)
		}
	}
	if failed.Error != nil {
		return nil, failed.Error.or("server_error", string(body))
	}
	return said.reply(), nil
}

// maxCount is the largest plausible count of tokens from a server.
const maxCount = 100_000_000

// settle checks the counts of an answer and estimates what the server did not count, because some gateways omit usage:
// the input as its upper estimate, the output from its bytes. With an impossible count the answer is not used.
func (r *Reply) settle(most prompt.Usage) error {
	u := &r.Usage
	for _, n := range []int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output} {
		if n < 0 || n > maxCount {
			return &Failure{Cause: CauseBroken, Message: fmt.Sprintf("the server counts %d tokens, which no call has", n)}
		}
	}
	if u.Input() == 0 {
		most.Output = u.Output
		*u, r.Estimated = most, true
	}
	if u.Output == 0 && strings.TrimSpace(string(r.Text)) != "" {
		u.Output, r.Estimated = (int64(len(r.Text))+bytesPerToken-1)/bytesPerToken, true
	}
	r.Thinking = min(max(r.Thinking, 0), u.Output)
	return nil
}
