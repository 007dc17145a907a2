package assembly

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Response is the body of a response of a model, or the events of its stream, in the forms of Anthropic's
// interface, OpenAI's two, Google's and Bedrock's.
type Response struct {
	ID, Model string
	Created   jsontext.Value
	Known     bool // a model counted it
	Failed    bool
	Open      bool // the final count of its output has not come

	file   *File
	counts Values
	// Summaries are the passes in which the server summarized the context; no other count has them.
	Summaries []Usage
	tier      string
	inside    bool // the input holds what was read and written
	sparse    bool // the interface leaves out what is 0
	bad       bool // an object of counts is none, or cannot be read to its end
	blocks    []Block
	pieces    []piece // of a stream
}

// Response reads a response.
func (f *File) Response(body []byte) *Response {
	a := &Response{file: f, counts: Values{}}
	if len(body) > 0 && body[0] == '{' {
		a.add(body)
		return a
	}
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if data = bytes.TrimSpace(data); ok && len(data) > 0 && data[0] == '{' {
			a.add(data)
		}
	}
	return a
}

// piece is a part of a streamed response.
type piece struct {
	kind     prompt.Kind
	index    int
	id, name string
	text     []byte
}

// event is an event of a stream, or the body of a response.
type event struct {
	Type     string         `json:"type"`
	ID       string         `json:"id|responseId|response_id"`
	Model    string         `json:"model|modelVersion|model_version"`
	Created  jsontext.Value `json:"created|created_at|createTime|create_time"`
	Message  jsontext.Value `json:"message"`  // of Anthropic's first event
	Response jsontext.Value `json:"response"` // of OpenAI's last event
	Content  jsontext.Value `json:"content"`
	Output   jsontext.Value `json:"output"`
	Choices  []struct {
		Message jsontext.Value `json:"message"`
		Delta   delta          `json:"delta"`
	} `json:"choices"`
	Index int            `json:"index"`
	Block delta          `json:"content_block"`
	Delta jsontext.Value `json:"delta"`
	Usage jsontext.Value `json:"usage|usageMetadata|usage_metadata"`
	// Candidates are what Google's interface answers, in a stream the next part of its text.
	Candidates []struct {
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
	} `json:"candidates"`
	Tier  string         `json:"service_tier"` // of OpenAI's interfaces
	Error jsontext.Value `json:"error"`
}

// delta is what an event adds to a part, or begins it with.
type delta struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Text    jsontext.Value `json:"text|content|partial_json"`
	Thought jsontext.Value `json:"thinking|reasoning|reasoning_content"`
	Uses    []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// add reads a body, or an event.
func (a *Response) add(v []byte) {
	var e event
	if Decode(v, &e) != nil {
		a.file.Maker.Skip("response")
	}
	switch {
	case e.Type == "message_start":
		a.add(e.Message)
		a.Open = true
		return
	case e.Type == "response.completed" || e.Type == "response.incomplete" || e.Type == "response.failed":
		a.blocks = nil
		a.add(e.Response)
		return
	case strings.HasPrefix(e.Type, "response."):
		return
	}
	a.Failed = a.Failed || len(e.Error) > 0 && e.Error.Kind() != 'n'
	a.ID, a.Model = cmp.Or(a.ID, e.ID), cmp.Or(a.Model, e.Model)
	if a.Created == nil && string(e.Created) != "0" {
		a.Created = e.Created
	}
	a.tier = cmp.Or(e.Tier, a.tier)
	if e.Usage.Kind() == '{' {
		a.Known, a.Open = true, false
		a.count(e.Usage)
	}
	if e.Content.Kind() == '[' {
		a.say(v)
	}
	if s := jsonscan.New(e.Output); e.Output.Kind() == '[' {
		a.Known = true
		for range s.Elements {
			a.say(s.Raw())
		}
	}
	if e.Output.Kind() == '{' { // as Bedrock answers
		var output struct {
			Message jsontext.Value `json:"message"`
		}
		if Decode(e.Output, &output) == nil && output.Message.Kind() == '{' {
			a.say(output.Message)
		}
	}
	for i := range e.Candidates {
		a.Known = true
		for k := range e.Candidates[i].Content.Parts {
			a.next(&e.Candidates[i].Content.Parts[k])
		}
	}
	for i := range e.Choices {
		a.Known = true
		if m := e.Choices[i].Message; m.Kind() == '{' {
			a.say(m)
		}
		a.delta(-1, &e.Choices[i].Delta)
	}
	a.delta(e.Index, &e.Block)
	var d delta
	if e.Delta.Kind() == '{' && Decode(e.Delta, &d) == nil {
		a.delta(e.Index, &d)
	}
}

// say adds a message, or one part of a message.
func (a *Response) say(raw []byte) {
	a.Known = true
	a.blocks = append(a.blocks, a.file.Message(raw).Blocks...)
}

// next adds a part of Google's answer. A text goes on with the text before it, a call of a tool is whole.
func (a *Response) next(p *part) {
	switch {
	case p.Use.Kind() == '{':
		var use FunctionCall
		if Decode(p.Use, &use) != nil {
			a.file.Maker.Skip("part")
		}
		a.piece(prompt.KindToolUse, len(a.pieces), use.ID, use.Name, string(use.Args))
	case p.Thought:
		a.piece(prompt.KindThinking, 0, "", "", p.Text)
	default:
		a.piece(prompt.KindText, 0, "", "", p.Text)
	}
}

// delta adds what an event of a stream says.
func (a *Response) delta(index int, d *delta) {
	a.piece(prompt.KindThinking, index, "", "", TextOf(d.Thought))
	kind := prompt.KindText
	if d.Type == "input_json_delta" || strings.HasSuffix(d.Type, "tool_use") {
		kind = prompt.KindToolUse
	}
	a.piece(kind, index, d.ID, d.Name, TextOf(d.Text))
	for _, u := range d.Uses {
		a.piece(prompt.KindToolUse, u.Index, u.ID, u.Function.Name, u.Function.Arguments)
	}
}

// piece adds to the last part if it is the same, or begins one.
func (a *Response) piece(k prompt.Kind, index int, id, name, text string) {
	if text == "" && name == "" {
		return
	}
	if n := len(a.pieces); n > 0 {
		if p := &a.pieces[n-1]; p.kind == k && p.index == index && (id == "" || id == p.id) {
			p.text = append(p.text, text...)
			p.name = cmp.Or(p.name, name)
			return
		}
	}
	a.pieces = append(a.pieces, piece{kind: k, index: index, id: id, name: name, text: []byte(text)})
}

// Reply returns what was answered.
func (a *Response) Reply() []Block {
	list := a.blocks
	for _, p := range a.pieces {
		if p.kind == prompt.KindToolUse {
			list = append(list, a.file.Maker.Use(CallID(p.id), p.name, p.text))
		} else {
			list = append(list, a.file.Maker.Text(p.kind, string(p.text)))
		}
	}
	return list
}

// counted are the names of token counts in these interfaces and in the interfaces of gateways before them. Google counts thoughts and
// what its own tools put into the prompt beside output and input.
var counted = TableOf(`
input     prompt_tokens input_tokens promptTokenCount prompt_token_count inputTokens
output    output_tokens completion_tokens candidatesTokenCount candidates_token_count outputTokens
read      cache_read_input_tokens cached_tokens prompt_cache_hit_tokens cachedContentTokenCount cached_content_token_count cacheReadInputTokens cacheReadInputTokenCount
write     cache_creation_input_tokens cache_write_tokens cache_creation_tokens cacheWriteInputTokens cacheWriteInputTokenCount
hour      ephemeral_1h_input_tokens
thoughts  thoughtsTokenCount thoughts_token_count
tool      toolUsePromptTokenCount tool_use_prompt_token_count
half_hour ttl_30m_tokens
half_day  ttl_12h_tokens
reasoning reasoning_tokens thinking_tokens
total     total_tokens totalTokenCount total_token_count totalTokens
speed     speed
geo       inference_geo
tier      service_tier
cost      cost
`)

// count reads an object of counts, and those in it. They take the place of earlier ones, as in a stream.
func (a *Response) count(v []byte) {
	s := jsonscan.New(v)
	for name := range s.Distinct {
		c, ok := counted[string(name)]
		switch string(name) {
		case "prompt_tokens", "input_tokens_details":
			a.inside = true
		case "promptTokenCount", "prompt_token_count":
			a.inside, a.sparse = true, true
		}
		switch v := s.Raw(); {
		case len(v) == 0 || v[0] == 'n':
		case string(name) == "iterations":
			a.Summaries = Summaries(v)
		case ok:
			a.counts[c.what] = Value{JSON: v}
		default:
			a.bad = a.bad || bytes.HasSuffix(name, []byte("_details")) && v[0] != '{'
			a.count(v)
		}
	}
	a.bad = a.bad || s.Err() != nil
}

// Summaries returns the passes of type compaction of a list of iterations, as Anthropic's interface has
// it: "a compaction entry's tokens are not included in the top-level usage fields" (anthropic 2.14.0,
// BetaIterationsUsage).
func Summaries(iterations []byte) (list []Usage) {
	s := jsonscan.New(iterations)
	if s.Peek() != '[' {
		return nil
	}
	for range s.Elements {
		var kind struct {
			Type string `json:"type"`
		}
		if v := s.Raw(); Decode(v, &kind) == nil && kind.Type == "compaction" {
			list = append(list, (*File)(nil).Counted(v).Usage())
		}
	}
	return list
}

// Usage splits the counts into disjoint classes. Anthropic's interface always has both reads and writes; none has writes alone.
func (a *Response) Usage() Usage {
	l := a.counts.Logged()
	if thoughts := a.counts.Count("thoughts"); thoughts.N > 0 {
		l.Reasoning = thoughts
		l.Output = Count{Logged: true, N: l.Output.N + thoughts.N}
	}
	l.Input.N += max(0, a.counts.Count("tool").N)
	l.Apart = !a.inside
	if half := l.Read.Logged != l.Write.Logged && (l.Apart || l.Write.Logged); a.bad || half {
		return Usage{Reasoning: -1, Bad: true}
	}
	return l.Usage()
}

// Cached reports whether the counts say what was read from the cache, if only that it was nothing.
func (a *Response) Cached() bool { return a.counts.Has("read") }

// Says returns whether the counts say what was read and what was written; see Signs. Google's interface leaves out what is 0.
func (a *Response) Says() [2]bool {
	return [2]bool{a.sparse || a.Cached(), a.sparse || a.counts.Has("write")}
}

// USD returns the cost that a gateway states, 0 for none.
func (a *Response) USD() float64 {
	usd, _ := a.counts.Number("cost")
	return usd
}

// Served returns the name of the model with the terms that the call was served under.
func (a *Response) Served() string {
	if a.Model == "" {
		return ""
	}
	terms := a.Terms()
	return Served(ModelName(a.Model), terms[:]...)
}

// Terms returns the speed, the place and the tier that the call was served with.
func (a *Response) Terms() [3]string {
	return [3]string{a.counts.Text("speed"), a.counts.Text("geo"), cmp.Or(a.tier, a.counts.Text("tier"))}
}

// Counted returns a response of which only the object of token counts is known.
func (f *File) Counted(object []byte) *Response {
	a := &Response{file: f, counts: Values{}}
	a.count(object)
	return a
}
