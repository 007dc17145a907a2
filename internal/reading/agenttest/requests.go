package agenttest

import (
	"strings"
	"time"
)

// requestForm writes pairs of requests and responses of Anthropic's interface, as claude-trace does.
// The last message and the system prompt carry a marker of the cache.
type requestForm struct{ messages []object }

func (*requestForm) head(*writer) {}

func (f *requestForm) say(role string, content ...object) {
	f.messages = append(f.messages, object{"role": role, "content": content})
}

func (f *requestForm) prompt(_ *writer, text string) {
	f.say("user", object{"type": "text", "text": text})
}

// marked returns the messages, with a marker on the last one.
func (f *requestForm) marked() (list []object) {
	for i, m := range f.messages {
		var content []object
		for _, part := range m["content"].([]object) {
			p := object{"type": part["type"]}
			for k, v := range part {
				p[k] = v
			}
			content = append(content, p)
		}
		if i == len(f.messages)-1 {
			content[len(content)-1]["cache_control"] = object{"type": "ephemeral"}
		}
		list = append(list, object{"role": m["role"], "content": content})
	}
	return list
}

func (f *requestForm) call(w *writer, id, tool, said, result string, read, grown int) {
	began := w.clock
	content := []object{{"type": "text", "text": said}}
	if tool != "" {
		content = append(content, object{"type": "tool_use", "id": tool, "name": "read_file", "input": object{"path": "/repo/" + tool}})
	}
	seconds := func(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
	request := object{
		"timestamp": seconds(began), "method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": object{"x-api-key": "sk-" + w.words(20)},
		"body": object{
			"model": "claude-opus-4-6", "max_tokens": 32_000, "messages": f.marked(), "metadata": object{"user_id": "user_0_account__session_" + w.id},
			"system": []object{{"type": "text", "text": strings.Repeat("Be brief. ", 1000), "cache_control": object{"type": "ephemeral"}}},
			"tools":  []object{{"name": "read_file", "description": strings.Repeat("Reads a file. ", 4000)}},
		},
	}
	w.clock = w.clock.Add(4 * time.Second)
	w.line(object{
		"request": request, "logged_at": w.stamp(),
		"response": object{
			"timestamp": seconds(w.clock), "status_code": 200, "headers": object{"request-id": "req_" + id},
			"body": object{
				"id": "msg_" + id, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": content,
				"usage": object{
					"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": grown - 3, "output_tokens": 40 + grown%53,
					"cache_creation": object{"ephemeral_5m_input_tokens": grown - 3, "ephemeral_1h_input_tokens": 0},
					"cost":           0.01, // as gateways add it
				},
			},
		},
	})
	f.say("assistant", content...)
	if tool != "" {
		f.say("user", object{"type": "tool_result", "tool_use_id": tool, "content": result})
	}
}

func (f *requestForm) compaction(_ *writer, summary string) {
	f.messages = nil
	f.say("user", object{"type": "text", "text": summary})
}

func (*requestForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }
