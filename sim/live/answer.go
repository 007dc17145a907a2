package live

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reading is the content of a model's answer.
type reading struct {
	text     string // the summary that enters the context
	analysis string // what preceded the summary
	failed   string // one of prompt.Fail…, "" for none
	why      string // the failure for the report, if failed has no word for it
	tokens   int32  // of text, in the server's count
	output   int32  // tokens of the whole answer, thinking included; estimated if the server gave no count
	missing  int32
	cut      int32
}

// whyRefusal is the reason of an answer without a summary that the model refused to write.
const whyRefusal = "refusal"

// read extracts the summary from a reply: it drops the analysis, accepts missing tags and enforces the limit.
func (p *plan) read(reply *Reply) reading {
	whole, output := string(reply.Text), reply.Usage.Output
	var r reading
	r.text, r.analysis = extract(whole)
	switch {
	case reply.StopReason == "refusal":
		return reading{failed: ask.FailEmpty, why: whyRefusal, output: int32(output)}
	case r.text == "":
		return reading{failed: ask.FailEmpty, output: int32(output)}
	case reply.StopReason == "max_tokens" || reply.StopReason == "model_context_window_exceeded":
		r.cut++
	}
	r.missing = missing(r.text, p.sections())
	if output -= reply.Thinking; output <= 0 {
		output = int64(len(whole)+bytesPerToken-1) / bytesPerToken // the server counts nothing
	}
	r.output = int32(max(output, reply.Usage.Output))
	rate := float64(output) / float64(len(whole)) // tokens a byte
	if float64(len(r.text))*rate > float64(p.maxOutput) {
		r.text = cut(r.text, int(float64(p.maxOutput)/rate))
		r.cut++
	}
	r.tokens = max(1, int32(float64(len(r.text))*rate+0.5))
	return r
}

// dress are characters that may surround the number and the title of a section.
const dress = " \t#*_0123456789.)"

// missing counts the wanted sections that no line of a text begins.
func missing(text string, wanted []section) (n int32) {
	begun := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, dress)
		for _, s := range wanted {
			if len(line) >= len(s.title) && strings.EqualFold(line[:len(s.title)], s.title) {
				begun[s.title] = true
			}
		}
	}
	return int32(len(wanted) - len(begun))
}

// The tags around the parts of a summary.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// extract returns the text in the summary block of an answer and in the
// analysis before it. The whole of an answer with neither is a summary. Tags
// inside the summary are the model's words.
func extract(text string) (summary, analysis string) {
	text = clean(text)
	lower := lowered(text)
	begin, open := strings.Index(lower, analysisOpen), strings.Index(lower, summaryOpen)
	if begin >= 0 && (open < 0 || begin < open) {
		from, next := begin+len(analysisOpen), len(text)
		end := strings.Index(lower[from:], analysisClose) + from
		switch {
		case end >= from:
			next = end + len(analysisClose)
		case open >= 0: // the end of the analysis is missing
			end, next = open, open
		default:
			end = len(text)
		}
		analysis = strings.TrimSpace(text[from:end])
		text, lower = text[next:], lower[next:]
		open = strings.Index(lower, summaryOpen)
	}
	if end := strings.LastIndex(lower, summaryClose); end > open {
		text = text[:end]
	}
	if open >= 0 {
		text = text[open+len(summaryOpen):]
	}
	return strings.TrimSpace(text), analysis
}

// lowered returns a text with its ASCII letters in lower case, of the same length.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// memory holds the summaries of a run by digest, for calls that send them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what preceded the summary; most clients discard it
	tokens   int32  // of text, in the server's count
	output   int32  // of both
}

// usualHeader is the size of the client's own words around a summary, tokens: 30 to say that the session continues,
// 60 for a pointer to the transcript, 45 to ask no questions (strategies.SummaryText).
const usualHeader = 135

// message returns the text of a summary message of so many tokens, with the analysis if that size is nearer.
func (w *written) message(tokens int32) string {
	text, analysis := w.text, w.analysis
	without, with := tokens-w.tokens-usualHeader, tokens-w.output-usualHeader
	if analysis == "" || max(without, -without) <= max(with, -with) {
		return text
	}
	return "Analysis:\n" + analysis + "\n\nSummary:\n" + text
}

// keep stores the summary of a call and returns its digest: equal texts of two calls are two summaries.
func (m *memory) keep(k Key, w written) prompt.Digest {
	d := prompt.DigestString(w.text).Extend(prompt.DigestString(string(k)))
	m.texts.Store(d, w)
	return d
}

// find returns the summary with a digest.
func (m *memory) find(d prompt.Digest) (written, bool) {
	v, ok := m.texts.Load(d)
	if !ok {
		return written{}, false
	}
	w, ok := v.(written)
	return w, ok
}

// Words returns the text of a summary from a call of the run, "" if it is unknown: what agents do behind a
// compaction depends on it.
func (s *Summarizer) Words(summary *prompt.Block) string {
	w, ok := s.memory.find(summary.Digest)
	if !ok {
		return ""
	}
	return w.message(summary.Tokens)
}

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
