package otel

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// span is what is kept of a span.
type span struct {
	key, up      prompt.Digest // up is zero for none
	trace        string
	conversation string
	name         string // of a tool: the id of its call
	version      string // of the program
	service      string // the program's name
	file         *file
	line         int
	start, end   int64 // unix ns
	agent        bool
	tool         []assembly.Block // of a tool: its call and its result
	call         *assembly.Request
	usd          float64
}

// blocks returns the blocks that a span has besides its messages.
func (sp *span) blocks() []assembly.Block {
	if sp.call != nil {
		return sp.call.Reply
	}
	return sp.tool
}

// add adds a span.
func (f *file) add(line int, s *scanned) {
	sp := &span{
		key: digest(s.trace, s.id), up: digest(s.trace, s.up), trace: string(s.trace), file: f, line: line,
		start: f.Moment(line, s.start), end: f.Moment(line, s.end),
		version: f.version, service: f.service,
	}
	if n := number(s.lasted); sp.end == 0 && sp.start != 0 && n >= 0 && n < 9e9 {
		sp.end = sp.start + n*1000
	}
	sp.end = max(sp.end, sp.start)
	if sp.key.IsZero() { // it arrives twice if all of it does
		sp.key = prompt.DigestBytes(s.all)
	}
	if v := s.values[conversation].Value; v.Kind() == '"' { // a number is a thread of the machine
		sp.conversation = text(v)
	}
	f.Speaks(sp.trace)
	f.Speaks(sp.conversation)
	op, kind := cmp.Or(text(s.values[operation].Value), s.operation()), strings.ToLower(text(s.values[kind].Value))
	counted := s.values[input].Value != nil || s.values[output].Value != nil
	switch {
	case op == "execute_tool" || kind == "tool" || bytes.HasPrefix(s.name, []byte("claude_code.tool")):
		sp.name = cmp.Or(text(s.values[toolID].Value), string(s.id))
		sp.tool = f.tool(sp, s)
	case strings.HasPrefix(op, "invoke_") || op == "create_agent" || kind == "agent" || string(s.name) == "invoke_agent":
		sp.agent = true
	case op == "embeddings" || kind == "embedding" || kind == "reranker":
		f.Unknown["span/"+cmp.Or(op, kind)]++
	case kind == "chain" || kind == "workflow" || kind == "task" || kind == "retriever" || kind == "guardrail" || kind == "evaluator":
	case counted, (op == "chat" || op == "generate_content" || op == "text_completion" || kind == "llm") && !s.failed && s.values[failure].Value == nil:
		f.calls++
		sp.call = f.call(line, sp, s)
		sp.usd = f.Cost(line, s.values[cost].scaled())
	}
	f.spans = append(f.spans, sp)
}

// operation returns the operation that a span is named after whose attributes were lost: the convention names a span by it
// and the model.
func (s *scanned) operation() string {
	for _, a := range [...]attribute{kind, input, output, model, response} {
		if s.values[a].Value != nil {
			return ""
		}
	}
	op, _, named := bytes.Cut(s.name, []byte(" "))
	if !named {
		return ""
	}
	return string(op)
}

// tool returns the call of a tool and its result.
func (f *file) tool(sp *span, s *scanned) []assembly.Block {
	id := assembly.CallID(sp.name)
	name := cmp.Or(text(s.values[toolName].Value), string(s.name))
	return []assembly.Block{
		f.maker.Use(id, name, []byte(text(s.values[toolInput].Value))),
		f.maker.Result(id, text(s.values[toolResult].Value), s.failed, false),
	}
}

// call returns the call of a span.
func (f *file) call(line int, sp *span, s *scanned) *assembly.Request {
	r := &assembly.Request{
		Source: f.File, Line: int32(line), ID: text(s.values[response].Value), Model: text(s.values[model].Value),
		Start: sp.start, First: sp.end, End: sp.end, Usage: s.usage(), Compacted: text(s.values[compacted].Value) == "true",
	}
	if ns := s.values[chunk].scaled(); sp.start != 0 && ns > 0 && ns < float64(sp.end-sp.start) {
		r.First = sp.start + int64(ns)
	}
	if r.ID == "" {
		r.ID = string(s.id)
	}
	for _, m := range f.list(&s.values[sent]) {
		if m.System {
			r.Head = r.Head.Extend(m.Digest)
		} else {
			r.Messages = append(r.Messages, m)
		}
	}
	for _, a := range [...]attribute{instructions, tools} {
		if v := s.values[a].Value; v != nil {
			r.Head = r.Head.Extend(prompt.DigestBytes(v))
		}
	}
	for _, m := range f.list(&s.values[answered]) {
		r.Reply = append(r.Reply, m.Blocks...)
	}
	if t := text(s.values[said].Value); t != "" && len(r.Reply) == 0 {
		r.Reply = append(r.Reply, f.maker.Text(prompt.KindText, t))
	}
	return r
}

// list returns messages. Those that came before are not read again.
func (f *file) list(v *value) (list []*assembly.Message) {
	if v.Value == nil {
		return nil
	}
	s := jsonscan.New(v.list(&f.scratch))
	add := func() {
		raw := s.Raw()
		if raw == nil {
			return
		}
		d := prompt.DigestBytes(raw)
		m := f.messages[d]
		if m == nil {
			var err error
			if m, err = f.maker.Message(raw); err != nil {
				m = &assembly.Message{Digest: d}
				f.maker.Skip("message")
			}
			f.messages[d] = m
		}
		list = append(list, m)
	}
	if s.Peek() == '[' {
		for range s.Elements {
			add()
		}
	} else {
		add()
	}
	if s.Err() != nil {
		f.cut++
	}
	return list
}

// usage splits the counts of a call into disjoint classes. By the convention input
// holds what was read from the cache and written to it, and output the reasoning.
func (s *scanned) usage() assembly.Usage {
	in, out := s.values[input].count(), s.values[output].count()
	reads, writes := s.values[read].count(), s.values[write].count()
	thought, sum := s.values[reasoning].count(), s.values[total].count()
	if thought.N > out.N && out.N >= 0 {
		out.N += thought.N
	}
	if reads.N < 0 || writes.N < 0 || thought.N < 0 {
		return assembly.Usage{Reasoning: -1, Bad: true}
	}
	reads.Logged, writes.Logged = true, true
	if !thought.Logged {
		thought.N = -1
	}
	if apart := s.values[input].apart || sum.Logged && in.N < reads.N+writes.N && sum.N == in.N+reads.N+writes.N+out.N; !apart && in.N >= 0 {
		return assembly.Inclusive(in, reads, writes, out, sum, thought.N)
	}
	return assembly.Counts(in, reads, writes, out, sum, thought.N)
}
