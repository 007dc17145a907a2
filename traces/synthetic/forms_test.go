package synthetic

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Forms in which a session can be written besides transcripts of Claude Code: one file each, in
// which every call shows all that it sent.
const (
	formOTel     = facts.OTel     // OpenTelemetry GenAI spans, a line of OTLP JSON each
	formRequests = facts.Requests // lines of request and response
)

// recorder writes the calls of a session.
type recorder struct {
	*scribe
	form string
	head []any // tools and system prompt of the thread, in the form of a request
}

// turn is a message of a request, with its content in Anthropic's form.
type turn struct {
	role    string
	content []any
}

// files returns the files of a session in a form, by name.
func (w *Workload) files(t *testing.T, s *traces.Session, form string) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	if form == facts.ClaudeCode {
		for _, f := range w.Transcripts(s) {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			fsys[f.Name] = &fstest.MapFile{Data: b.Bytes()}
		}
		return fsys
	}
	var b bytes.Buffer
	x := &recorder{scribe: newScribe(&b, w, s, 0), form: form}
	x.calls(0, nil, "", "")
	if err := x.buf.Flush(); err != nil {
		t.Fatal(err)
	}
	fsys[s.ID+".jsonl"] = &fstest.MapFile{Data: b.Bytes()}
	return fsys
}

// calls writes the calls of a thread, each with the history it sends, and after it the calls of the
// sub-agents it started and of the branches that leave it. above is the span of a trace that the calls
// are in, "" for none.
func (x *recorder) calls(i int, history []turn, trace, above string) {
	t, head := &x.s.Threads[i], x.head
	defer func() { x.head = head }()
	if t.Kind != traces.ThreadBranch {
		x.head = x.ahead(t)
	}
	next := 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		absorbed := false
		for ; next < len(t.Events) && int(t.Events[next].Round) == r; next++ {
			if ev := &t.Events[next]; ev.Kind == traces.EventCompact {
				history = []turn{{"user", []any{textContent(exactly(&x.s.Blocks[ev.Summary.From], prose))}}}
				absorbed = ev.Absorbed > 0
			}
		}
		if in := x.asks(rd); len(in) > 0 && !absorbed {
			history = append(slices.Clip(history), turn{"user", in})
		}
		if above == "" && (trace == "" || rd.Trigger == traces.TriggerPrompt) {
			trace = spanID(rd.ID, "trace") + spanID(rd.ID, "turn")
		}
		var reply []any
		for b := rd.Reply.From; b < rd.Reply.To; b++ {
			reply = append(reply, x.content(&x.s.Blocks[b]))
		}
		if x.form == formRequests {
			x.pair(rd, history, reply)
		} else {
			x.span(rd, history, reply, trace, above)
		}
		history = append(slices.Clip(history), turn{"assistant", reply})
		for b := rd.Reply.From; b < rd.Reply.To; b++ {
			if use := &x.s.Blocks[b]; use.Kind == prompt.KindToolUse {
				id := x.tool(t, r, use, trace, above)
				if sub := x.agents[use.Call]; sub != nil && t.Kind == traces.ThreadMain {
					x.calls(slices.IndexFunc(x.s.Threads, func(o traces.Thread) bool { return o.ID == sub.ID }), nil, trace, id)
				}
			}
		}
		for k := range x.s.Threads {
			if o := &x.s.Threads[k]; o.Kind == traces.ThreadBranch && int(o.Parent) == i && int(o.ParentRound) == r {
				x.calls(k, history, trace, above)
			}
		}
	}
}

// ahead returns tools and system prompt of the sizes that a thread begins with.
func (x *recorder) ahead(t *traces.Thread) (head []any) {
	for b := t.Prefix.From; b < t.Prefix.To && x.form == formRequests; b++ {
		block := x.s.Blocks[b]
		block.Bytes = 4 * block.Tokens
		switch text := exactly(&block, prose); block.Kind {
		case prompt.KindTools:
			head = append(head, "tools", []any{fields{"name", "tools", "description", text}})
		case prompt.KindSystem:
			head = append(head, "system", []any{append(textContent(text), "cache_control", fields{"type", "ephemeral"})})
		}
	}
	return head
}

// asks returns the content of what a call answers.
func (x *recorder) asks(rd *traces.Round) (list []any) {
	blocks := x.s.Blocks[rd.Input.From:rd.Input.To]
	for i := range blocks {
		switch b := &blocks[i]; b.Kind {
		case prompt.KindToolResult:
			content, _ := x.resultContent(b)
			list = append(list, content)
		case prompt.KindPrompt:
			list = append(list, textContent(exactly(b, request)))
		}
	}
	return list
}

// spanID returns 16 digits that a name determines.
func spanID(name, what string) string { return fmt.Sprintf("%016x", prompt.DigestString(name+what).Lo) }

// pair writes a line of request and response.
func (x *recorder) pair(rd *traces.Round, history []turn, reply []any) {
	var messages []any
	for i, m := range history {
		content := m.content
		if n := len(content); i == len(history)-1 {
			content = slices.Clone(content)
			content[n-1] = append(slices.Clip(content[n-1].(fields)), "cache_control", fields{"type", "ephemeral"})
		}
		messages = append(messages, fields{"role", m.role, "content", content})
	}
	u, model := &rd.Usage, x.s.Models[rd.Model]
	x.emit(fields{
		"start", timestamp(rd.At), "end", timestamp(rd.At + rd.Stream),
		"request", append(append(fields{"model", model, "metadata", fields{"user_id", "user_0_session_" + x.s.ID}}, x.head...), "messages", messages),
		"response", fields{"id", rd.ID, "type", "message", "role", "assistant", "model", model, "content", reply, "usage", fields{
			"input_tokens", u.Uncached, "cache_creation_input_tokens", u.Writes(), "cache_read_input_tokens", u.Read,
			"cache_creation", fields{"ephemeral_5m_input_tokens", u.Write5m, "ephemeral_1h_input_tokens", u.Write1h}, "output_tokens", u.Output,
		}},
	})
}

// span writes the span of a call.
func (x *recorder) span(rd *traces.Round, history []turn, reply []any, trace, above string) {
	list := func(turns ...turn) string {
		var messages []any
		for _, m := range turns {
			messages = append(messages, fields{"role", m.role, "parts", parts(m.content)})
		}
		return string(appendJSON(nil, messages))
	}
	u, model := &rd.Usage, x.s.Models[rd.Model]
	x.spanOf(trace, spanID(rd.ID, "call"), above, "chat "+model, rd.At, rd.At+rd.Stream,
		"gen_ai.operation.name", "chat", "gen_ai.response.model", model, "gen_ai.response.id", rd.ID,
		"gen_ai.response.time_to_first_chunk", strconv.FormatFloat(float64(rd.First)/1e9, 'f', -1, 64),
		"gen_ai.usage.input_tokens", u.Input(), "gen_ai.usage.cache_read.input_tokens", u.Read,
		"gen_ai.usage.cache_write.input_tokens", u.Writes(), "gen_ai.usage.output_tokens", u.Output,
		"gen_ai.input.messages", list(history...), "gen_ai.output.messages", list(turn{"assistant", reply}))
}

// tool writes the span of a tool that a call asked for, and returns its id.
func (x *recorder) tool(t *traces.Thread, r int, use *prompt.Block, trace, above string) string {
	id, from := spanID(t.Rounds[r].ID, fmt.Sprint(use.Call)), t.Rounds[r].At+t.Rounds[r].Stream
	if to := from; x.form == formOTel {
		if r+1 < len(t.Rounds) {
			to = max(from, t.Rounds[r+1].At)
		}
		x.spanOf(trace, id, above, "execute_tool "+x.s.Tools[use.Tool], from, to, "gen_ai.operation.name", "execute_tool",
			"gen_ai.tool.name", x.s.Tools[use.Tool], "gen_ai.tool.call.id", x.d.apiID(toolUsePrefix, uint64(use.Call)))
	}
	return id
}

// spanOf writes a span as a line of OTLP JSON.
func (x *recorder) spanOf(trace, id, above, name string, from, to int64, attributes ...any) {
	var list []any
	for i := 0; i < len(attributes); i += 2 {
		value := fields{"stringValue", attributes[i+1]}
		if n, ok := attributes[i+1].(int64); ok {
			value = fields{"intValue", strconv.FormatInt(n, 10)}
		}
		list = append(list, fields{"key", attributes[i], "value", value})
	}
	list = append(list, fields{"key", "gen_ai.conversation.id", "value", fields{"stringValue", x.s.ID}})
	span := fields{
		"traceId", trace, "spanId", id, "parentSpanId", above, "name", name, "kind", 3,
		"startTimeUnixNano", strconv.FormatInt(from, 10), "endTimeUnixNano", strconv.FormatInt(to, 10), "attributes", list,
	}
	x.emit(fields{"resourceSpans", []any{fields{"scopeSpans", []any{fields{"spans", []any{span}}}}}})
}

// parts returns a content in the form of the GenAI convention.
func parts(content []any) (list []any) {
	for _, c := range content {
		m := map[string]any{}
		f := c.(fields)
		for i := 0; i < len(f); i += 2 {
			m[f[i].(string)] = f[i+1]
		}
		switch m["type"] {
		case "tool_use":
			f = fields{"type", "tool_call", "id", m["id"], "name", m["name"], "arguments", m["input"]}
		case "tool_result":
			f = fields{"type", "tool_call_response", "id", m["tool_use_id"], "response", m["content"]}
		case "thinking":
			f = fields{"type", "reasoning", "content", m["thinking"]}
		default:
			f = fields{"type", "text", "content", m["text"]}
		}
		list = append(list, f)
	}
	return list
}
