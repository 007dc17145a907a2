package agenttest

import (
	"fmt"
	"strings"
)

// clineForm writes a document of Cline's SDK.
type clineForm struct{}

func (clineForm) head(*writer) {}

func (clineForm) message(w *writer, o object) {
	if o["id"] == nil {
		o["id"] = fmt.Sprintf("%s-line-%d", w.tag, len(w.lines))
	}
	o["ts"] = w.clock.UnixMilli()
	w.line(o)
}

func (f clineForm) prompt(w *writer, text string) {
	f.message(w, object{"role": "user", "content": []object{{"type": "text", "text": text}}})
}

func (f clineForm) call(w *writer, id, tool, said, result string, read, grown int) {
	content := []object{{"type": "text", "text": said}}
	if tool != "" {
		content = append(content, object{"type": "tool_use", "id": tool, "name": "read_file", "input": object{"path": "/repo/" + tool}})
	}
	f.message(w, object{
		"id": id, "role": "assistant", "content": content, "modelInfo": object{"id": "anthropic/claude-opus-4-6", "provider": "cline"},
		"metrics": object{"inputTokens": 3 + read + grown, "outputTokens": 40 + grown%53, "cacheReadTokens": read, "cacheWriteTokens": grown, "cost": 0.01},
	})
	if tool != "" {
		f.message(w, object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": tool, "content": result, "is_error": false}}})
	}
}

// compaction takes all out that it summarises.
func (clineForm) compaction(w *writer, summary string) {
	w.lines = nil
	w.line(object{"role": "user", "content": []object{{"type": "text", "text": "Context summary:\n" + summary}}, "metadata": object{"kind": "compaction"}})
}

func (clineForm) text(w *writer) string {
	return fmt.Sprintf("{\"version\":1,\"updated_at\":%q,\"agent\":\"lead\",\"sessionId\":%q,\"messages\":[\n%s\n]}\n", w.stamp(), w.id, strings.Join(w.lines, ",\n"))
}
