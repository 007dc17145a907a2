package otel

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// add adds a span; all is its JSON.
func (f *file) add(line int, v values, all []byte) {
	sp := &span{
		key: v.id("span"), up: v.id("parent"), trace: v.text("trace"), file: f, line: line,
		start: f.Moment(line, v["start"].json), end: f.Moment(line, v["end"].json),
	}
	if us, ok := v.number("duration"); ok && sp.end == 0 && sp.start != 0 && us >= 0 && us < 9e9 {
		sp.end = sp.start + int64(us)*1000
	}
	sp.end = max(sp.end, sp.start)
	if sp.key.IsZero() { // it arrives twice if all of it does
		sp.key = prompt.DigestBytes(all)
	}
	if bytes.HasPrefix(v["conversation"].json, []byte(`"`)) { // a number is a thread of the machine
		sp.conversation = v.text("conversation")
	}
	f.Speaks(sp.trace)
	f.Speaks(sp.conversation)
	state := v["status"].json
	failed := bytes.Contains(state, []byte("ERROR")) || bytes.Contains(bytes.ReplaceAll(state, []byte(" "), nil), []byte(`"code":2`))
	name, op, kind := v.text("name"), v.text("operation"), strings.ToLower(v.text("kind"))
	if before, _, more := strings.Cut(name, " "); op == "" && more && !slices.ContainsFunc([]string{"kind", "input", "output", "model", "response"}, v.has) {
		op = before // as the convention names a span: its attributes are lost
	}
	switch {
	case op == "execute_tool" || kind == "tool" || strings.HasPrefix(name, "claude_code.tool"):
		sp.name = cmp.Or(v.text("id"), v.text("span"))
		id := assembly.CallID(sp.name)
		sp.tool = []assembly.Block{
			f.Maker.Use(id, cmp.Or(v.text("tool"), name), []byte(v.text("arguments"))),
			f.Maker.Result(id, v.text("result"), failed, false),
		}
	case strings.HasPrefix(op, "invoke_") || op == "create_agent" || name == "invoke_agent":
	case op == "embeddings" || kind == "embedding" || kind == "reranker":
		f.Unknown["span/"+cmp.Or(op, kind)]++
	case slices.Contains([]string{"agent", "chain", "workflow", "task", "retriever", "guardrail", "evaluator"}, kind):
	case v.has("input") || v.has("output"),
		(op == "chat" || op == "generate_content" || op == "text_completion" || kind == "llm") && !failed && !v.has("failure"):
		f.calls++
		sp.call = f.call(sp, v)
	}
	f.spans = append(f.spans, sp)
}

// call returns the call of a span.
func (f *file) call(sp *span, v values) *assembly.Request {
	usd, _ := v.number("cost")
	r := &assembly.Request{
		Source: f.File, Line: int32(sp.line), ID: cmp.Or(v.text("response"), v.text("span")), Model: v.text("model"),
		Project: f.service, Version: f.version, USD: f.Cost(sp.line, usd),
		Start: sp.start, First: sp.end, End: sp.end, Usage: v.usage(), Compacted: v.text("compacted") == "true",
	}
	wait, _ := v.number("chunk")
	if wait *= 1e9; strings.HasSuffix(v["chunk"].name, "_ms") || strings.Contains(v["chunk"].name, ".msTo") {
		wait /= 1000
	}
	if sp.start != 0 && wait > 0 && wait < float64(sp.end-sp.start) {
		r.First = sp.start + int64(wait)
	}
	for _, m := range f.messages(v, "sent") {
		if m.System {
			r.Head = r.Head.Extend(m.Digest)
		} else {
			r.Messages = append(r.Messages, m)
		}
	}
	for _, what := range [...]string{"instructions", "tools"} {
		if v.has(what) {
			r.Head = r.Head.Extend(prompt.DigestBytes(v[what].json))
		}
	}
	for _, m := range f.messages(v, "answered") {
		r.Reply = append(r.Reply, m.Blocks...)
	}
	if t := v.text("said"); t != "" && len(r.Reply) == 0 {
		r.Reply = append(r.Reply, f.Maker.Text(prompt.KindText, t))
	}
	return r
}

// messages returns messages, which are often in a string, and in one that may have been cut off.
func (f *file) messages(v values, what string) (list []*assembly.Message) {
	if !v.has(what) {
		return nil
	}
	s := jsonscan.New(v[what].json)
	if s.Peek() == '"' {
		s = jsonscan.New(s.Text(&f.scratch))
	}
	if list = f.List(&s); s.Err() != nil {
		f.cut++
	}
	return list
}

// usage splits the counts of a call into disjoint classes. By the convention input holds what was read from the cache and
// written to it, but not in Claude Code's spans, and output the reasoning.
func (v values) usage() assembly.Usage {
	l := assembly.Logged{
		Input: v.count("input"), Output: v.count("output"), Read: v.count("read"), Write: v.count("write"),
		Reasoning: v.count("reasoning"), Sum: v.count("total"), Apart: v["input"].name == "input_tokens",
	}
	if l.Reasoning.N > l.Output.N && l.Output.N >= 0 {
		l.Output.N += l.Reasoning.N
	}
	return l.Usage()
}
