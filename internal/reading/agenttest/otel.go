package agenttest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// otelForm writes spans as lines of OTLP JSON: a trace for each prompt, whose last
// span is the agent's, with the sums of its calls.
type otelForm struct {
	messages []object
	turns    int
	sums     [3]int // input, read, written
	began    time.Time
}

func (*otelForm) head(*writer) {}

// span writes a span that began at a time and ends now. Attributes are names and values.
func (f *otelForm) span(w *writer, id, parent, name string, began time.Time, attributes ...any) {
	var list []object
	attributes = append([]any{"gen_ai.conversation.id", w.id}, attributes...)
	for i := 0; i < len(attributes); i += 2 {
		value := object{"stringValue": attributes[i+1]}
		if n, ok := attributes[i+1].(int); ok {
			value = object{"intValue": strconv.Itoa(n)}
		}
		list = append(list, object{"key": attributes[i], "value": value})
	}
	trace := fmt.Sprintf("%s-trace-%d", w.tag, f.turns)
	span := object{
		"traceId": trace, "spanId": id, "parentSpanId": parent, "name": name, "kind": 3,
		"startTimeUnixNano": strconv.FormatInt(began.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(w.clock.UnixNano(), 10),
		"attributes": list,
	}
	resource := object{"attributes": []object{{"key": "service.name", "value": object{"stringValue": "agent"}}}}
	w.lines = append(w.lines, encode(object{"resourceSpans": []object{{"resource": resource, "scopeSpans": []object{{"spans": []object{span}}}}}}))
}

// turn ends the trace of the last prompt.
func (f *otelForm) turn(w *writer) {
	if !f.began.IsZero() {
		f.span(w, f.agent(w), "", "invoke_agent coder", f.began, "gen_ai.operation.name", "invoke_agent",
			"gen_ai.usage.input_tokens", f.sums[0], "gen_ai.usage.cache_read.input_tokens", f.sums[1], "gen_ai.usage.cache_creation.input_tokens", f.sums[2],
			"gen_ai.usage.output_tokens", 1)
	}
	f.sums, f.began = [3]int{}, time.Time{}
	f.turns++
}

func (f *otelForm) agent(w *writer) string { return fmt.Sprintf("%s-agent-%d", w.tag, f.turns) }

func (f *otelForm) say(role string, parts ...object) {
	f.messages = append(f.messages, object{"role": role, "parts": parts})
}

func (f *otelForm) prompt(w *writer, text string) {
	f.turn(w)
	f.began = w.clock
	f.say("user", object{"type": "text", "content": text})
}

func (f *otelForm) call(w *writer, id, tool, said, result string, read, grown int) {
	began := w.clock
	parts := []object{{"type": "text", "content": said}}
	if tool != "" {
		parts = append(parts, object{"type": "tool_call", "id": tool, "name": "read_file", "arguments": object{"path": "/repo/" + tool}})
	}
	sent := list(f.messages)
	f.say("assistant", parts...)
	w.clock = w.clock.Add(4 * time.Second)
	f.span(w, id, f.agent(w), "chat claude-opus-4-6", began, "gen_ai.operation.name", "chat", "gen_ai.response.model", "claude-opus-4-6",
		"gen_ai.response.id", "msg_"+id, "gen_ai.usage.input_tokens", read+grown, "gen_ai.usage.cache_read.input_tokens", read,
		"gen_ai.usage.cache_creation.input_tokens", grown-3, "gen_ai.usage.output_tokens", 40+grown%53, "gen_ai.usage.cost", "0.01", "gen_ai.response.time_to_first_chunk", "1.5",
		"gen_ai.input.messages", sent, "gen_ai.output.messages", list(f.messages[len(f.messages)-1:]))
	f.sums[0], f.sums[1], f.sums[2] = f.sums[0]+read+grown, f.sums[1]+read, f.sums[2]+grown-3
	if tool == "" {
		return
	}
	began, w.clock = w.clock, w.clock.Add(time.Second)
	f.span(w, id+"-tool", f.agent(w), "execute_tool read_file", began, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "read_file",
		"gen_ai.tool.call.id", tool)
	f.say("tool", object{"type": "tool_call_response", "id": tool, "response": result})
}

// list writes messages as the text of a list.
func list(messages []object) string {
	var b strings.Builder
	for i, m := range messages {
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(encode(m))
	}
	return b.String() + "]"
}

func (f *otelForm) compaction(_ *writer, summary string) {
	f.messages = nil
	f.say("user", object{"type": "text", "content": summary})
}

func (f *otelForm) text(w *writer) string {
	f.turn(w)
	return strings.Join(w.lines, "\n") + "\n"
}
