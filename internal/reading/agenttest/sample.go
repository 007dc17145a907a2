package agenttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// Agents returns the names of all agents that have samples.
func Agents() []string {
	return []string{traces.AgentClaudeCode, traces.AgentCodex, traces.AgentOpenCode, traces.AgentPi, traces.AgentGemini, traces.AgentCopilot, traces.AgentDSH, traces.AgentCline, traces.AgentOTel, traces.AgentRequests, traces.AgentATIF}
}

// Sample returns a session in the format of an agent: several prompts, each
// answered in several calls with tools between them, and a compaction. The same
// agent, id and seed give the same bytes; sessions of different seeds share
// nothing. Every line, or message, is a line of the file.
func Sample(agent, id string, seed uint64) string {
	return sample(agent, id, seed, 4, func(w *writer) string { return w.words(300) })
}

// Long returns a session of 60 calls whose tools give 8 kB each, in lines, for benchmarks.
func Long(agent string) string {
	return sample(agent, "long", 1, 20, func(w *writer) string {
		var b strings.Builder
		for range 200 {
			b.WriteString(w.words(33) + "\n")
		}
		return b.String()
	})
}

// sample writes a session of some prompts with results of tools.
func sample(agent, id string, seed uint64, prompts int, result func(*writer) string) string {
	w := &writer{
		id: id, random: rand.New(rand.NewPCG(seed, 1)), tag: fmt.Sprintf("%s%d", id, seed),
		clock: time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seed) * time.Hour), context: 24_000,
	}
	form := map[string]form{
		traces.AgentClaudeCode: claudeForm{}, traces.AgentCodex: &codexForm{}, traces.AgentOpenCode: openCodeForm{},
		traces.AgentPi: piForm{}, traces.AgentGemini: geminiForm{}, traces.AgentCopilot: &copilotForm{}, traces.AgentDSH: &dshForm{}, traces.AgentCline: clineForm{}, traces.AgentOTel: &otelForm{},
		traces.AgentRequests: &requestForm{}, traces.AgentATIF: &atifForm{},
	}[agent]
	form.head(w)
	for prompt := range prompts {
		if prompt == 2 {
			form.compaction(w, w.words(400))
			w.context = 22_000
		}
		form.prompt(w, w.words(60))
		for call := range 3 {
			tool := ""
			if call < 2 {
				tool = fmt.Sprintf("tool-%s-%d-%d", w.tag, prompt, call)
			}
			w.clock = w.clock.Add(time.Duration(5+w.random.IntN(20)) * time.Second)
			grown := 200 + w.random.IntN(2000)
			form.call(w, fmt.Sprintf("%s-%d-%d", w.tag, prompt, call), tool, w.words(40), result(w), w.context, grown)
			w.context += grown
		}
		w.clock = w.clock.Add(time.Duration(1+w.random.IntN(9)) * time.Minute)
	}
	return form.text(w)
}

// form writes the format of an agent.
type form interface {
	head(w *writer)
	prompt(w *writer, text string)
	// call writes a call whose context was read from the cache except for what it
	// grew by, and the result of its tool if it names one.
	call(w *writer, id, tool, said, result string, read, grown int)
	compaction(w *writer, summary string)
	text(w *writer) string
}

// writer writes lines.
type writer struct {
	id, tag string
	random  *rand.Rand
	clock   time.Time
	context int // tokens
	lines   []string
	last    string // id of the last line
}

type object = map[string]any

// words returns n words that occur nowhere else.
func (w *writer) words(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x ", w.random.Uint32())
	}
	return b.String()
}

// line writes an object as a line, a second later.
func (w *writer) line(o object) {
	w.clock = w.clock.Add(time.Second)
	w.lines = append(w.lines, encode(o))
}

// encode writes an object with its type first, by which files are recognized.
func encode(o object) string {
	typ, typed := o["type"].(string)
	delete(o, "type")
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // objects hold only strings and numbers
	}
	if typed {
		return fmt.Sprintf(`{"type":%q,%s`, typ, b[1:])
	}
	return string(b)
}

func (w *writer) stamp() string { return w.clock.Format("2006-01-02T15:04:05.000Z") }

// chain names a line and the one it follows.
func (w *writer) chain(o object, id, parent string) {
	o[id], o[parent] = fmt.Sprintf("%s-line-%d", w.tag, len(w.lines)), nil
	if w.last != "" {
		o[parent] = w.last
	}
	w.last = o[id].(string)
}

type claudeForm struct{}

func (claudeForm) head(*writer) {}

func (claudeForm) add(w *writer, o object) {
	o["sessionId"], o["version"], o["cwd"], o["timestamp"] = w.id, "2.1.60", "/repo", w.stamp()
	w.chain(o, "uuid", "parentUuid")
	w.line(o)
}

func (f claudeForm) prompt(w *writer, text string) {
	f.add(w, object{"type": "user", "message": object{"role": "user", "content": text}})
}

func (f claudeForm) call(w *writer, id, tool, said, result string, read, grown int) {
	usage := object{
		"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": grown, "output_tokens": 40 + grown%53,
		"cache_creation": object{"ephemeral_5m_input_tokens": grown, "ephemeral_1h_input_tokens": 0},
	}
	blocks := []object{{"type": "text", "text": said}}
	if tool != "" {
		blocks = append(blocks, object{"type": "tool_use", "id": tool, "name": "Read", "input": object{"file_path": "/repo/" + tool}})
	}
	for _, b := range blocks {
		f.add(w, object{"type": "assistant", "message": object{
			"id": id, "model": "claude-opus-4-6", "role": "assistant", "content": []object{b}, "usage": usage, "stop_reason": "end_turn",
		}})
	}
	if tool != "" {
		f.add(w, object{"type": "user", "message": object{"role": "user", "content": []object{
			{"type": "tool_result", "tool_use_id": tool, "content": result},
		}}})
	}
}

func (f claudeForm) compaction(w *writer, summary string) {
	f.add(w, object{
		"type": "system", "subtype": "compact_boundary", "logicalParentUuid": w.last,
		"compactMetadata": object{"trigger": "auto", "preTokens": w.context},
	})
	f.add(w, object{"type": "user", "isCompactSummary": true, "message": object{"role": "user", "content": summary}})
}

func (claudeForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }

type codexForm struct{ input, cached, output int }

func (*codexForm) add(w *writer, typ string, payload object) {
	w.line(object{"timestamp": w.stamp(), "type": typ, "payload": payload})
}

func (f *codexForm) head(w *writer) {
	f.add(w, "session_meta", object{"id": w.id, "cwd": "/repo", "cli_version": "0.142.0"})
	f.add(w, "turn_context", object{"model": "gpt-5.5"})
}

func (f *codexForm) prompt(w *writer, text string) {
	f.add(w, "response_item", object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}})
}

func (f *codexForm) call(w *writer, _, tool, said, result string, read, grown int) {
	f.add(w, "response_item", object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": said}}})
	if tool != "" {
		f.add(w, "response_item", object{
			"type": "function_call", "name": "exec_command", "call_id": tool, "arguments": encode(object{"cmd": "cat " + tool}),
		})
	}
	output := 40 + grown%53
	f.input, f.cached, f.output = f.input+read+grown, f.cached+read, f.output+output
	f.add(w, "event_msg", object{"type": "token_count", "info": object{
		"total_token_usage": object{"input_tokens": f.input, "cached_input_tokens": f.cached, "output_tokens": f.output},
		"last_token_usage": object{
			"input_tokens": read + grown, "cached_input_tokens": read, "output_tokens": output, "total_tokens": read + grown + output,
		},
		"model_context_window": 258_400,
	}})
	if tool != "" {
		f.add(w, "response_item", object{"type": "function_call_output", "call_id": tool, "output": result})
	}
}

func (f *codexForm) compaction(w *writer, summary string) {
	f.add(w, "compacted", object{"message": summary, "replacement_history": []object{}})
}

func (*codexForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }

type openCodeForm struct{}

func (openCodeForm) head(*writer) {}

func (openCodeForm) message(w *writer, info object, parts ...object) {
	info["id"] = fmt.Sprintf("msg_%s_%d", w.tag, len(w.lines))
	w.line(object{"info": info, "parts": parts})
}

func (f openCodeForm) prompt(w *writer, text string) {
	f.message(w, object{"role": "user", "time": object{"created": w.clock.UnixMilli()}}, object{"type": "text", "text": text})
}

func (f openCodeForm) call(w *writer, _, tool, said, result string, read, grown int) {
	at := w.clock.UnixMilli()
	parts := []object{{"type": "text", "text": said, "time": object{"start": at + 100, "end": at + 200}}}
	if tool != "" {
		parts = append(parts, object{"type": "tool", "tool": "read", "callID": tool, "state": object{
			"status": "completed", "input": object{"filePath": "/repo/" + tool}, "output": result,
			"time": object{"start": at + 300, "end": at + 900},
		}})
	}
	f.message(w, object{
		"role": "assistant", "modelID": "claude-opus-4-6", "time": object{"created": at, "completed": at + 1000}, "cost": 0.01,
		"tokens": object{"input": 3, "output": 40 + grown%53, "reasoning": 0, "cache": object{"read": read, "write": grown}},
	}, parts...)
}

func (f openCodeForm) compaction(w *writer, summary string) {
	at := w.clock.UnixMilli()
	f.message(w, object{"role": "user", "time": object{"created": at}}, object{"type": "compaction", "auto": true})
	f.message(w, object{
		"role": "assistant", "modelID": "claude-opus-4-6", "time": object{"created": at, "completed": at + 1000}, "summary": true,
		"tokens": object{"input": 3, "output": 200, "reasoning": 0, "cache": object{"read": w.context, "write": 0}},
	}, object{"type": "text", "text": summary})
}

func (openCodeForm) text(w *writer) string {
	info := fmt.Sprintf(`{"id":"ses_%s","directory":"/repo","version":"1.4.3","time":{"created":%d}}`, w.id, w.clock.UnixMilli())
	return "{\n\"info\":" + info + ",\n\"messages\":[\n" + strings.Join(w.lines, ",\n") + "\n]}\n"
}

type piForm struct{}

func (piForm) head(w *writer) {
	w.line(object{"type": "session", "version": 3, "id": w.id, "timestamp": w.stamp(), "cwd": "/repo"})
}

func (piForm) add(w *writer, o object) {
	o["timestamp"] = w.stamp()
	w.chain(o, "id", "parentId")
	w.line(o)
}

func (f piForm) prompt(w *writer, text string) {
	f.add(w, object{"type": "message", "message": object{"role": "user", "content": text}})
}

func (f piForm) call(w *writer, _, tool, said, result string, read, grown int) {
	content := []object{{"type": "text", "text": said}}
	if tool != "" {
		content = append(content, object{"type": "toolCall", "id": tool, "name": "read", "arguments": object{"path": "/repo/" + tool}})
	}
	f.add(w, object{"type": "message", "message": object{
		"role": "assistant", "content": content, "model": "claude-opus-4-6", "timestamp": w.clock.Add(-time.Second).UnixMilli(),
		"stopReason": "stop", "usage": object{
			"input": 3, "output": 40 + grown%53, "cacheRead": read, "cacheWrite": grown, "cost": object{"total": 0.01},
		},
	}})
	if tool != "" {
		f.add(w, object{"type": "message", "message": object{
			"role": "toolResult", "toolCallId": tool, "content": []object{{"type": "text", "text": result}},
		}})
	}
}

func (f piForm) compaction(w *writer, summary string) {
	f.add(w, object{"type": "compaction", "summary": summary, "tokensBefore": w.context})
}

func (piForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }
