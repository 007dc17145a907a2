package reqlog

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// answer is a response while it is read: a body, or the events of a stream.
type answer struct {
	counts
	maker     assembly.Maker
	id, model string
	created   int64 // unix seconds
	known     bool  // it is that of a model
	open      bool  // the final count of its output has not come
	failed    bool
	blocks    []assembly.Block
	pieces    []piece // of a stream
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
	ID       string         `json:"id"`
	Model    string         `json:"model"`
	Created  jsontext.Value `json:"created"`
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
	Usage jsontext.Value `json:"usage"`
	Error jsontext.Value `json:"error"`
}

// delta is what an event adds to a part, or begins it with.
type delta struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Input     string         `json:"partial_json"`
	Content   jsontext.Value `json:"content"`
	Reasoning jsontext.Value `json:"reasoning"`
	Thought   jsontext.Value `json:"reasoning_content"`
	Uses      []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// hear reads the body of a response.
func (f *file) hear(c *call, x *exchange) {
	a := answer{maker: f.maker}
	body := plain(x.response, &f.scratch[1])
	if len(body) > 0 && body[0] == '{' {
		a.add(body)
	} else {
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '{' {
					a.add(data)
				}
			}
		}
	}
	c.told = a.known
	c.failed = x.status >= 400 || a.failed
	c.ID, c.Model = cmp.Or(a.id, c.ID), cmp.Or(modelName(a.model), c.Model)
	if c.End == 0 && a.created > 0 {
		c.End = f.Moment(x.line, strconv.AppendInt(nil, a.created, 10))
	}
	c.Reply = a.reply()
	c.Usage, c.Open = a.usage(), a.open
	c.usd = f.Cost(x.line, a.usd)
}

// add reads a body, or an event.
func (a *answer) add(v []byte) {
	var e event
	if assembly.Decode(v, &e) != nil {
		a.maker.Skip("response")
	}
	switch {
	case e.Type == "message_start":
		a.add(e.Message)
		a.open = true
		return
	case strings.HasPrefix(e.Type, "response."):
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed":
			a.blocks = nil
			a.add(e.Response)
		}
		return
	}
	a.failed = a.failed || len(e.Error) > 0 && e.Error.Kind() != 'n'
	a.id, a.model = cmp.Or(a.id, e.ID), cmp.Or(a.model, e.Model)
	if n, err := strconv.ParseInt(string(e.Created), 10, 64); err == nil {
		a.created = cmp.Or(a.created, n)
	}
	if len(e.Usage) > 0 && e.Usage.Kind() == '{' {
		a.known, a.open = true, false
		a.counts.read(e.Usage)
	}
	a.whole(v, &e)
	a.stream(&e)
}

// whole reads what a body says.
func (a *answer) whole(v []byte, e *event) {
	say := func(raw []byte) {
		m, err := a.maker.Message(raw)
		if err != nil {
			a.maker.Skip("response")
			return
		}
		a.blocks = append(a.blocks, m.Blocks...)
	}
	if e.Content.Kind() == '[' {
		a.known = true
		say(v)
	}
	if e.Output.Kind() == '[' {
		a.known = true
		s := jsonscan.New(e.Output)
		for range s.Elements {
			say(s.Raw())
		}
	}
	for i := range e.Choices {
		a.known = true
		if m := e.Choices[i].Message; m.Kind() == '{' {
			say(m)
		}
	}
}

// stream adds what an event of a stream says.
func (a *answer) stream(e *event) {
	switch e.Type {
	case "content_block_start":
		switch b := &e.Block; b.Type {
		case "tool_use", "server_tool_use":
			a.piece(prompt.KindToolUse, e.Index, b.ID, b.Name, "")
		case "thinking":
			a.piece(prompt.KindThinking, e.Index, "", "", b.Thinking)
		default:
			a.piece(prompt.KindText, e.Index, "", "", b.Text)
		}
		return
	case "content_block_delta":
		var d delta
		if assembly.Decode(e.Delta, &d) == nil && len(a.pieces) > 0 {
			p := &a.pieces[len(a.pieces)-1]
			p.text = append(p.text, d.Text+d.Thinking+d.Input...)
		}
		return
	}
	for i := range e.Choices {
		d := &e.Choices[i].Delta
		a.text(prompt.KindThinking, d.Reasoning, d.Thought)
		a.text(prompt.KindText, d.Content)
		for _, u := range d.Uses {
			a.piece(prompt.KindToolUse, u.Index, u.ID, u.Function.Name, u.Function.Arguments)
		}
	}
}

// text adds texts, of which each may be missing and the second the first again.
func (a *answer) text(k prompt.Kind, list ...jsontext.Value) {
	for _, v := range list {
		var s string
		if v.Kind() == '"' && assembly.Decode(v, &s) == nil && s != "" {
			a.piece(k, -1, "", "", s)
			return
		}
	}
}

// piece adds to the last part if it is the same, or begins one.
func (a *answer) piece(k prompt.Kind, index int, id, name, text string) {
	if n := len(a.pieces); n > 0 {
		if p := &a.pieces[n-1]; p.kind == k && p.index == index && (id == "" || id == p.id) {
			p.text = append(p.text, text...)
			p.name = cmp.Or(p.name, name)
			return
		}
	}
	a.pieces = append(a.pieces, piece{kind: k, index: index, id: id, name: name, text: []byte(text)})
}

// reply returns what was answered.
func (a *answer) reply() []assembly.Block {
	list := a.blocks
	for i := range a.pieces {
		switch p := &a.pieces[i]; {
		case p.kind == prompt.KindToolUse:
			list = append(list, a.maker.Use(assembly.CallID(p.id), p.name, p.text))
		case len(p.text) > 0:
			list = append(list, a.maker.Text(p.kind, string(p.text)))
		}
	}
	return list
}

// counts are the token counts of a response, by the names of both interfaces and of
// gateways before them. In a stream later counts take the place of earlier ones.
type counts struct {
	input, output, reads, writes, hour, thought, sum assembly.Count
	inside                                           bool // the input holds what was read and written
	usd                                              float64
}

// read reads an object of counts.
func (c *counts) read(v []byte) {
	s := jsonscan.New(v)
	for name := range s.Members {
		to := (*assembly.Count)(nil)
		switch string(name) {
		case "prompt_tokens":
			to, c.inside = &c.input, true
		case "input_tokens":
			to = &c.input
		case "output_tokens", "completion_tokens":
			to = &c.output
		case "cache_read_input_tokens", "cached_tokens", "prompt_cache_hit_tokens":
			to = &c.reads
		case "cache_creation_input_tokens", "cache_write_tokens", "cache_creation_tokens":
			to = &c.writes
		case "ephemeral_1h_input_tokens":
			to = &c.hour
		case "reasoning_tokens", "thinking_tokens":
			to = &c.thought
		case "total_tokens":
			to = &c.sum
		case "input_tokens_details":
			c.inside = true
			c.read(s.Raw())
		case "prompt_tokens_details", "completion_tokens_details", "output_tokens_details", "cache_creation":
			c.read(s.Raw())
		case "cost":
			if x, err := strconv.ParseFloat(string(bytes.Trim(s.Raw(), `"`)), 64); err == nil {
				c.usd = x
			}
		default:
			s.Skip()
		}
		if to == nil {
			continue
		}
		if n := s.Raw(); len(n) > 0 && n[0] != 'n' {
			i, err := strconv.ParseInt(string(n), 10, 64)
			if err != nil {
				i = -1
			}
			*to = assembly.Count{N: i, Logged: true}
		}
	}
}

// usage splits the counts into disjoint classes.
func (c *counts) usage() assembly.Usage {
	in, reads, writes := c.input, c.reads, c.writes
	bad := assembly.Usage{Reasoning: -1, Bad: true}
	if min(reads.N, writes.N, c.hour.N, c.thought.N) < 0 || c.hour.N > writes.N || !c.inside && reads.Logged != writes.Logged {
		return bad
	}
	reads.Logged, writes.Logged = true, true
	if cached := reads.N + writes.N; c.inside && (in.N >= cached || c.sum.N != in.N+cached+c.output.N) {
		if in.N -= cached; in.N < 0 {
			return bad
		}
	}
	thought := int64(-1)
	if c.thought.Logged {
		thought = c.thought.N
	}
	u := assembly.Counts(in, reads, writes, c.output, c.sum, thought)
	if u.OK && c.hour.Logged {
		u.Write5m, u.Write1h, u.Assumed = u.Write5m-c.hour.N, c.hour.N, false
	}
	return u
}
