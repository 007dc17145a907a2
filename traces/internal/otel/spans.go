package otel

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// names has the names of members and, after an empty line, the names of attributes: first the current convention's, then its
// predecessors, OpenInference, Vercel's AI SDK, Traceloop, Codex and Claude Code.
//
//go:embed names.txt
var names string

var members, attributes = func() (members, attributes assembly.Table) {
	head, tail, _ := strings.Cut(names, "\n\n")
	return assembly.TableOf(head), assembly.TableOf(tail)
}()

var (
	errNoSpans = errors.New("it holds no spans")
	errNoList  = errors.New("a part of the export has no list of spans, or an empty one")
	errNoSpan  = errors.New("an element of a list of spans is none")
	errNoPair  = errors.New("an element of the attributes of a span is none")
)

// read reads an object of the file.
func (f *file) read(c *assembly.Cursor) error {
	if f.bad = nil; !f.object(c) {
		return errNoSpans
	}
	return f.bad
}

// object reads an object and reports whether it is a span, holds spans, or is known to hold none.
func (f *file) object(c *assembly.Cursor) (known bool) {
	from, line := c.Offset(), c.Line()
	v := assembly.Values{}
	for name := range c.Distinct {
		switch string(name) {
		case "resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "batches", "data", "trace": // OTLP, Tempo, Jaeger, a list with a head
			known = f.list(string(name), c) || known
		case "resource":
			object(v, &c.Scanner, nil, 0)
			f.service, f.version = cmp.Or(v.Text("service"), f.service), cmp.Or(v.Text("version"), f.version)
		case "scope", "instrumentationLibrary", "instrumentation_scope":
			scope := assembly.Values{}
			object(scope, &c.Scanner, members, 0)
			f.scope = scope.Text("name")
		case "resourceLogs", "resourceMetrics":
			f.Unknown[string(name)]++
			known = true
			c.Skip()
		case "type":
			typ := string(c.Str())
			known = known || typ == "metric" || typ == "log"
		default:
			member(v, name, &c.Scanner, members, 0)
			f.shown = f.shown || v.Has("span") && v.Has("start") || v["name"].Name == "spanName" && len(v) > 1
		}
	}
	if c.Err() == nil && (v.Has("span") || v.Has("name") && len(v) > 1) {
		known = true
		f.add(line, v, c.From(from))
	}
	return known
}

// list reads a member that lists spans, or parts of an export each of which has a list of its own, and reports whether it does.
func (f *file) list(name string, c *assembly.Cursor) (known bool) {
	parts := name == "resourceSpans" || name == "scopeSpans"
	known = strings.HasSuffix(strings.ToLower(name), "spans")
	f.shown = f.shown || known && name != "spans"
	if (parts || name == "spans") && c.Peek() != '[' {
		f.bad = errNoList
	}
	n := 0
	c.Each(func() {
		n++
		if f.object(c) {
			known = true
		} else if f.bad = errNoSpan; parts {
			f.bad = errNoList
		}
	})
	if n == 0 && known {
		f.bad = errNoList
	}
	return known
}

// object reads what a span holds: members or attributes by their names, or one attribute with its key and its value. It reports whether
// the object has a key.
func object(v assembly.Values, s *jsonscan.Scanner, names assembly.Table, later int) (keyed bool) {
	var key, json []byte
	for name := range s.Distinct {
		switch string(name) {
		case "key":
			key = s.Str()
		case "value":
			json = plain(s)
		default:
			member(v, name, s, names, later)
		}
	}
	v.Take(names, key, json, later)
	return len(key) > 0
}

// broken is a value of a span that lists an attribute without a key and a value.
const broken = "broken"

// member reads a member of a span, or of an object in it, whose values rank later.
func member(v assembly.Values, name []byte, s *jsonscan.Scanner, names assembly.Table, later int) {
	switch string(name) {
	case "attributes", "tags":
		listed := s.Peek() == '['
		s.Each(func() {
			keyed := false
			if s.Peek() != '{' {
				s.Skip()
			} else {
				keyed = object(v, s, attributes, later)
			}
			if listed && !keyed {
				v[broken] = assembly.Value{}
			}
		})
	case "events", "span_events":
		s.Each(func() { object(v, s, nil, 100) }) // after what the span itself says
	case "context":
		object(v, s, members, later)
	case "references": // Jaeger's
		s.Each(func() {
			up := assembly.Values{}
			if object(up, s, members, 0); up.Text("reference") == "CHILD_OF" {
				v["parent"] = up["span"]
			}
		})
	default:
		v.Take(names, name, plain(s), later)
	}
}

// plain reads a value, or what an object of OTLP wraps.
func plain(s *jsonscan.Scanner) []byte {
	if s.Peek() != '{' {
		return s.Raw()
	}
	from, wrapped := s.Offset(), []byte(nil)
	for name := range s.Distinct {
		if v := s.Raw(); bytes.HasSuffix(name, []byte("Value")) {
			wrapped = v
		}
	}
	if wrapped != nil {
		return wrapped
	}
	return s.From(from)
}

// sums are operations and kinds of spans whose counts are sums, or of no call.
var sums = strings.Fields("create_agent agent chain workflow task retriever guardrail evaluator")

// add adds a span; all is its JSON.
func (f *file) add(line int, v assembly.Values, all []byte) {
	sp := &span{
		key: idOf(v, "span"), up: idOf(v, "parent"), trace: v.Text("trace"), scope: cmp.Or(v.Text("scope"), f.scope), file: f, line: line,
		start: f.Moment(line, v["start"].JSON), end: f.Moment(line, v["end"].JSON),
	}
	if us, ok := v.Number("duration"); ok && sp.end == 0 && sp.start != 0 && us >= 0 && us < 9e9 {
		sp.end = sp.start + int64(us)*1000
	}
	sp.open, sp.end = sp.end == 0, max(sp.end, sp.start)
	if sp.key.IsZero() { // it arrives twice if its trace does
		sp.key = prompt.DigestBytes(all)
	}
	if bytes.HasPrefix(v["conversation"].JSON, []byte(`"`)) { // a number is a thread of the machine
		sp.conversation = v.Text("conversation")
	}
	f.Speaks(sp.trace)
	f.Speaks(sp.conversation)
	if _, is := v[broken]; is {
		f.bad = errNoPair
	}
	state := v["status"].JSON
	failed := bytes.Contains(state, []byte("ERROR")) || bytes.Contains(bytes.ReplaceAll(state, []byte(" "), nil), []byte(`"code":2`))
	name, op, kind := v.Text("name"), v.Text("operation"), strings.ToLower(v.Text("kind"))
	if before, _, more := strings.Cut(name, " "); op == "" && more && !slices.ContainsFunc([]string{"kind", "input", "output", "model", "response"}, v.Has) {
		op = before // as the convention names a span: its attributes are lost
	}
	switch {
	case op == "execute_tool" || kind == "tool" || strings.HasPrefix(name, "claude_code.tool"):
		sp.name = cmp.Or(v.Text("id"), v.Text("span"))
		id := assembly.CallID(sp.name)
		sp.tool = f.Keep(f.Maker.Use(id, cmp.Or(v.Text("tool"), name), []byte(v.Text("arguments"))), f.Maker.Result(id, v.Text("result"), failed, false))
	case strings.HasPrefix(op, "invoke_") || name == "invoke_agent" || slices.Contains(sums, op) || slices.Contains(sums, kind):
	case op == "embeddings" || kind == "embedding" || kind == "reranker":
		f.Unknown["span/"+cmp.Or(op, kind)]++
	case v.Has("input") || v.Has("output"),
		(op == "chat" || op == "generate_content" || op == "text_completion" || kind == "llm") && !failed && !v.Has("failure"):
		sp.call, sp.answered = f.call(sp, v), v.Has("response")
	default:
		sp.bare = !failed && !slices.ContainsFunc([]string{"operation", "kind", "model", "response", "service"}, v.Has)
	}
	if sp.call != nil || sp.bare {
		sp.label = name
	}
	f.spans = append(f.spans, sp)
}

// call returns the call of a span.
func (f *file) call(sp *span, v assembly.Values) *assembly.Request {
	usd, _ := v.Number("cost")
	counts, terms := usage(v), [...]string{v.Text("speed"), v.Text("geo"), v.Text("tier")}
	says := [2]bool{v.Has("read"), v.Has("write")}
	if v.Has("object") {
		o := f.Counted(literal(assembly.Inner(v["object"].JSON, &f.scratch)))
		switch all := o.Usage(); {
		case all.Same(&counts): // it has more counts, such as lifetimes
			counts, terms = all, o.Terms()
		case all.OK && !v.Has("read") && !v.Has("write"):
			counts, terms, says = all, o.Terms(), o.Says()
			f.objects++
		}
	}
	r := &assembly.Request{
		Place: assembly.Place{Source: f.File, Line: int32(sp.line)}, ID: cmp.Or(v.Text("response"), v.Text("span")), Model: assembly.Served(v.Text("model"), terms[:]...),
		Project: f.service, Version: f.version, USD: f.Cost(sp.line, usd),
		Start: sp.start, First: sp.end, End: sp.end, Usage: counts, Signs: assembly.Signs{Compacted: v.Text("compacted") == "true", Says: says},
	}
	if in, out := v.Count("summary_in"), v.Count("summary_out"); in.N > 0 { // not in the counts above (anthropic 2.14.0)
		r.Summaries = []assembly.Usage{assembly.Logged{Input: in, Output: out}.Usage()}
	}
	seconds, _ := v.Number("chunk")
	ms, _ := v.Number("chunk_ms")
	if wait := max(seconds*1e9, ms*1e6); sp.start != 0 && wait > 0 && wait < float64(sp.end-sp.start) {
		r.First = sp.start + int64(wait)
	}
	for _, m := range f.messages(v["sent"].JSON) {
		if m.System {
			r.Head = r.Head.Extend(m.Digest)
		} else {
			r.Messages = append(r.Messages, m)
		}
	}
	for _, what := range [...]string{"instructions", "tools"} {
		if v.Has(what) {
			r.Head = r.Head.Extend(prompt.DigestBytes(v[what].JSON))
		}
	}
	for _, m := range f.messages(v["answered"].JSON) {
		r.Reply = append(r.Reply, m.Blocks...)
	}
	if t := v.Text("said"); t != "" && len(r.Reply) == 0 {
		r.Reply = f.Keep(f.Maker.Text(prompt.KindText, t))
	}
	return r
}

// messages reads messages, which are often in a string, and in one that may have been cut off.
func (f *file) messages(json []byte) (list []*assembly.Message) {
	s := jsonscan.New(assembly.Inner(json, &f.scratch))
	if s.Peek() == 0 {
		return nil
	}
	if list = f.List(&s); s.Err() != nil {
		f.cut++
	}
	return list
}

// usage splits the counts of a call into disjoint classes. By the convention input holds what was read from the cache and
// written to it, but not in Claude Code's spans, and output the reasoning.
func usage(v assembly.Values) assembly.Usage {
	l := v.Logged()
	l.Apart = v["input"].Name == "input_tokens"
	if l.Reasoning.N > l.Output.N && l.Output.N >= 0 {
		l.Output.N += l.Reasoning.N
	}
	if rest := l.Sum.N - l.Input.N - l.Output.N; l.Sum.Logged && !l.Reasoning.Logged && rest > 0 && l.Input.N > 0 && strings.Contains(v.Text("model"), "gemini") {
		l.Output.N, l.Reasoning = l.Output.N+rest, assembly.Count{N: rest, Logged: true} // Google's total has the thoughts, and its output has not
	}
	return l.Usage()
}

// idOf names a span within all of a corpus, zero for none.
func idOf(v assembly.Values, what string) (d prompt.Digest) {
	if id := v.Text(what); id != "" {
		d = prompt.DigestString(v.Text("trace")).Extend(prompt.DigestString(id))
	}
	return d
}

// literal returns the JSON of an object that a program in Python wrote as it prints there, as LiteLLM does.
func literal(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte("{'")) {
		return text
	}
	var out []byte
	for quote := byte(0); len(text) > 0; {
		switch c := text[0]; {
		case quote != 0 && c == '\\' && len(text) > 1:
			if text[1] != '\'' {
				out = append(out, c)
			}
			out, text = append(out, text[1]), text[1:]
		case quote != 0 && c == quote:
			out, quote = append(out, '"'), 0
		case quote != 0 && c == '"':
			out = append(out, '\\', c)
		case quote == 0 && (c == '\'' || c == '"'):
			out, quote = append(out, '"'), c
		case quote == 0 && bytes.HasPrefix(text, []byte("None")):
			out, text = append(out, "null"...), text[3:]
		case quote == 0 && bytes.HasPrefix(text, []byte("True")):
			out, text = append(out, "true"...), text[3:]
		case quote == 0 && bytes.HasPrefix(text, []byte("False")):
			out, text = append(out, "false"...), text[4:]
		default:
			out = append(out, c)
		}
		text = text[1:]
	}
	return out
}
