package agenttest

import (
	"fmt"
	"strings"
	"time"
)

// geminiForm writes lines of the Gemini CLI: a message of the model first without its tools, then with them.
type geminiForm struct{}

func (geminiForm) head(w *writer) {
	w.lines = append(w.lines, fmt.Sprintf(`{"sessionId":%q,"projectHash":"f00d","startTime":%q,"kind":"main"}`, w.id, w.stamp()))
}

func (geminiForm) message(w *writer, o object) {
	o["timestamp"] = w.stamp()
	if o["id"] == nil {
		o["id"] = fmt.Sprintf("%s-line-%d", w.tag, len(w.lines))
	}
	w.line(o)
}

func (f geminiForm) prompt(w *writer, text string) {
	f.message(w, object{"type": "user", "content": []object{{"text": text}}})
}

func (f geminiForm) call(w *writer, id, tool, said, result string, read, grown int) {
	output := 40 + grown%53
	message := func() object {
		return object{
			"type": "gemini", "id": id, "content": said, "model": "gemini-3-flash-preview",
			"thoughts": []object{{"subject": "s", "description": said, "timestamp": w.clock.Add(-time.Second).Format("2006-01-02T15:04:05.000Z")}},
			"tokens":   object{"input": read + grown, "cached": read, "output": output, "thoughts": 7, "tool": 0, "total": read + grown + output + 7},
		}
	}
	f.message(w, message())
	if tool == "" {
		return
	}
	at := w.stamp()
	o := message()
	o["toolCalls"] = []object{{
		"id": tool, "name": "read_file", "args": object{"file_path": "/repo/" + tool}, "status": "success", "timestamp": at,
		"result": []object{{"functionResponse": object{"id": tool, "name": "read_file", "response": object{"output": result}}}},
	}}
	o["timestamp"] = at
	w.line(o)
}

func (f geminiForm) compaction(w *writer, summary string) {
	id := fmt.Sprintf("%s-line-%d", w.tag, len(w.lines))
	w.line(object{"$set": object{"lastUpdated": w.stamp(), "messages": []object{
		{"type": "user", "id": id, "timestamp": w.stamp(), "content": []object{{"text": summary}}},
		{"type": "gemini", "id": id + "-ack", "timestamp": w.stamp(), "content": "Got it. Thanks for the additional context!", "model": "gemini-3-flash-preview"},
	}}})
}

func (geminiForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }
