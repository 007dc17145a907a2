package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces/texts"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Composed counts how requests differ from the recording.
type Composed struct {
	Unseen int64 `json:"unseen"` // about the bytes of text that no recording shows
	Lost   int   `json:"lost"`   // tokens of summaries in it
}

// composer is a call with what makes its request.
type composer struct {
	opts   *Options
	memory *memory
	call   *summarizer.Call
	plan   *plan
	texts  Texts
	sent   *Request
	key    Key
	blocks []placed
	quote  string // the beginning of the part to summarise, if that does not begin the conversation
	count  Composed
}

// System prompts of this package: recordings have none.
const (
	agentSystem   = "You are an agent that helps a person with software. You read and change files and run commands by your tools."
	summarySystem = "You summarise conversations between a person and a coding agent so that the work can go on from your summary."
)

func (p *composer) request() (*Request, error) {
	r := &Request{Model: p.plan.model, MaxTokens: p.plan.maxOutput, System: []Block{Text(agentSystem)}}
	if p.call.Intent.Own {
		r.System = []Block{Text(summarySystem)}
	}
	c := p.call.Context
	end := p.end()
	for i := c.Messages(); i < end; i++ {
		if err := p.entry(i); err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i, c.Len(), err)
		}
	}
	p.add(end, roleUser, p.plan.instruction(p.quote, p.opts.Instructions))
	if first := p.blocks[0]; first.role == roleAssistant { // the API wants the user's words first
		p.blocks = slices.Insert(p.blocks, 0, placed{at: first.at, role: roleUser, block: Text(leadingText)})
	}
	mark(r, p.blocks, p.call)
	r.Messages = messages(p.blocks)
	return r, nil
}

// end returns the position after the conversation: the position of the instruction, if the call has one.
func (p *composer) end() int {
	n := p.call.Context.Len()
	if p.call.Intent.Instruction > 0 && n > 0 && p.call.Context.At(n-1).Block < 0 {
		n--
	}
	return n
}

func (p *composer) add(at int, role, text string) {
	if strings.TrimSpace(text) != "" { // the API refuses empty text
		p.blocks = append(p.blocks, placed{at: at, role: role, block: Text(text)})
	}
}

// entry adds the block of an entry of the conversation.
func (p *composer) entry(i int) error {
	e, b := *p.call.Context.At(i), p.call.Context.BlockAt(i)
	switch {
	case e.Kind == prompt.KindThinking:
		return nil // another key signed it
	case e.Tokens <= 0 && e.Kind != prompt.KindToolUse && e.Kind != prompt.KindToolResult:
		return nil // an entry without weight is not sent
	case e.Block < 0:
		return p.injected(i, e, b)
	}
	content := texts.Content{}
	if e.Form != prompt.FormCleared || e.Kind == prompt.KindToolUse {
		var err error
		if content, err = p.texts.Block(int32(e.Block)); err != nil {
			return err
		}
	}
	if content.Filler {
		content.Text = p.unseen(int64(len(content.Text)))
	}
	p.place(i, e, b, &content)
	return nil
}

// place adds a block of the recording in the form of its entry. A call of a tool and its result are text with a number
// in common: so no request depends on how calls and results are paired after a strategy has edited them.
func (p *composer) place(i int, e prompt.Entry, b *prompt.Block, content *texts.Content) {
	var text string
	switch e.Kind {
	case prompt.KindToolUse:
		input := clean(string(content.Input))
		if e.Form == prompt.FormCleared {
			input = ""
		}
		text = fmt.Sprintf("<tool_call number=%d tool=%q>%s</tool_call>", b.Call, p.toolName(b, content.Name), input)
	case prompt.KindToolResult:
		failed := ""
		if content.Error || b.Flags&prompt.FlagError != 0 {
			failed = " failed"
		}
		text = fmt.Sprintf("<tool_result number=%d%s>\n%s\n</tool_result>", b.Call, failed, formatEntry(e, b, content))
	default:
		text = formatEntry(e, b, content)
	}
	p.cover(i, text)
	p.add(i, roleOf(e), text)
}

// toolName returns the name of the tool that a block calls.
func (p *composer) toolName(b *prompt.Block, read string) string {
	if t := p.call.Session.Tools; b.Tool > 0 && int(b.Tool) < len(t) {
		return t[b.Tool]
	}
	return read
}

// roleOf returns who says an entry.
func roleOf(e prompt.Entry) string {
	if e.Kind.Assistant() {
		return roleAssistant
	}
	return roleUser
}

// formatEntry returns the text of an entry other than a tool call, in its form.
func formatEntry(e prompt.Entry, b *prompt.Block, content *texts.Content) string {
	text, result := clean(content.Text), e.Kind == prompt.KindToolResult
	whole := withMedia(text, content.Media)
	switch {
	case e.Form == prompt.FormCleared:
		return clearedText
	case e.Kind == prompt.KindImage:
		return withMedia(text, "image")
	case e.Kind == prompt.KindDocument:
		return withMedia(text, "document")
	case !result && e.Form == prompt.FormRange:
		return share(text, e, b)
	case e.Form == prompt.FormPointer && result:
		return stored(whole, int(e.Tokens)*bytesPerToken)
	case e.Form == prompt.FormRange && b.Flags&prompt.FlagImage == 0:
		return stored(whole, len(share(whole, e, b)))
	case result && strings.TrimSpace(whole) == "":
		return emptyResult
	}
	return whole
}

// share returns the beginning of a text, as much as its entry still weighs.
func share(text string, e prompt.Entry, b *prompt.Block) string {
	return cut(text, int(int64(len(text))*int64(e.Tokens)/int64(max(1, b.Tokens))))
}

// cover records how the part begins that the summary replaces.
func (p *composer) cover(i int, text string) {
	if i >= p.plan.pivot && p.quote == "" && p.plan.part == ask.PartFrom {
		p.quote = strings.Join(strings.Fields(cut(text, 200)), " ")
	}
}

// placed is a block of a request, its speaker, and the entry of the call's context that it shows.
type placed struct {
	at    int
	role  string
	block Block
}

// messages groups consecutive blocks by speaker.
func messages(blocks []placed) []Message {
	var list []Message
	for _, p := range blocks {
		if n := len(list); n == 0 || list[n-1].Role != p.role {
			list = append(list, Message{Role: p.role})
		}
		m := &list[len(list)-1]
		m.Content = append(m.Content, p.block)
	}
	return list
}

const ttl5m, ttl1h = "5m", "1h"

// mark puts cache breakpoints where the client has them: at the block of the marked entry, or the last one sent before
// it, be it the system prompt. Of two at one block the later one stays.
func mark(r *Request, blocks []placed, call *summarizer.Call) {
	markers := call.Markers
	for _, m := range markers[max(0, len(markers)-exchange.MaxMarkers):] {
		if m.Position < 0 || int(m.Position) >= call.Context.Len() {
			continue
		}
		c := &CacheControl{Type: "ephemeral", TTL: ttl5m}
		if m.TTL == exchange.TTL1h {
			c.TTL = ttl1h
		}
		i := len(blocks) - 1
		for i >= 0 && blocks[i].at > int(m.Position) {
			i--
		}
		if i >= 0 {
			blocks[i].block.CacheControl = c
		} else {
			r.System[len(r.System)-1].CacheControl = c
		}
	}
}

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
