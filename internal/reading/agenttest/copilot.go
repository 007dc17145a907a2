package agenttest

import "strings"

// copilotForm writes the events of the Copilot CLI, whose last line counts the input of all calls.
type copilotForm struct{ input, read, written, output int }

const copilotModel = "claude-opus-4-6"

func (*copilotForm) event(w *writer, typ string, data object) {
	o := object{"type": typ, "timestamp": w.stamp(), "data": data}
	w.chain(o, "id", "parentId")
	w.line(o)
}

func (f *copilotForm) head(w *writer) {
	f.event(w, "session.start", object{
		"sessionId": w.id, "producer": "copilot-agent", "copilotVersion": "1.0.74", "selectedModel": copilotModel, "context": object{"cwd": "/repo"},
	})
}

func (f *copilotForm) prompt(w *writer, text string) {
	f.event(w, "user.message", object{"content": text, "transformedContent": "<now>\n" + text})
}

func (f *copilotForm) call(w *writer, id, tool, said, result string, read, grown int) {
	output := 40 + grown%53
	f.input, f.read, f.written, f.output = f.input+3+read+grown, f.read+read, f.written+grown, f.output+output
	data := object{"messageId": id, "apiCallId": "msg_" + id, "model": copilotModel, "content": said, "outputTokens": output}
	if tool != "" {
		data["toolRequests"] = []object{{"toolCallId": tool, "name": "view", "arguments": object{"path": "/repo/" + tool}, "type": "function"}}
	}
	f.event(w, "assistant.message", data)
	if tool != "" {
		f.event(w, "tool.execution_complete", object{"toolCallId": tool, "success": true, "model": copilotModel, "result": object{"content": result}})
	}
}

func (f *copilotForm) compaction(w *writer, summary string) {
	f.event(w, "session.compaction_start", object{"systemTokens": 12_000, "toolDefinitionsTokens": 8000, "conversationTokens": w.context - 20_000})
	f.event(w, "session.compaction_complete", object{
		"success": true, "preCompactionTokens": w.context, "summaryContent": summary,
		"compactionTokensUsed": object{
			"inputTokens": w.context, "outputTokens": 200, "cacheReadTokens": 15_000, "cacheWriteTokens": w.context - 15_002, "model": copilotModel,
		},
	})
}

func (f *copilotForm) text(w *writer) string {
	f.event(w, "session.shutdown", object{
		"shutdownType": "routine", "totalNanoAiu": 12_000_000_000, "systemTokens": 12_000, "toolDefinitionsTokens": 8000,
		"modelMetrics": object{copilotModel: object{"usage": object{
			"inputTokens": f.input, "cacheReadTokens": f.read, "cacheWriteTokens": f.written, "outputTokens": f.output,
		}}},
	})
	return strings.Join(w.lines, "\n") + "\n"
}
