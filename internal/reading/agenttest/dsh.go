package agenttest

import "strings"

// dshForm writes the events of DeepSeek Harness.
type dshForm struct{ step, from int }

func (*dshForm) event(w *writer, typ string, data object, more ...object) {
	o := object{"type": typ, "seq": len(w.lines) - 1, "time": w.clock.UnixMilli(), "data": data}
	for _, m := range more {
		o["surfaceOp"] = m
	}
	w.line(o)
}

func (f *dshForm) head(w *writer) {
	w.lines = append(w.lines, `{"type":"session","version":0,"id":"`+w.id+`","createdAt":1780304400000,"cwd":"/repo","delegationDepth":0}`)
	f.event(w, "request/context", object{"provider": "deepseek-official", "model": "deepseek-v4-flash", "contextWindow": 200_000})
}

func dshText(text string) []object { return []object{{"type": "text", "text": text}} }

func (f *dshForm) prompt(w *writer, text string) {
	f.event(w, "user/message", object{"role": "user", "source": object{"kind": "user"}, "content": dshText(text)})
}

func (f *dshForm) call(w *writer, id, tool, said, result string, read, grown int) {
	f.step++
	usage := object{"inputTokens": 3, "outputTokens": 40 + grown%53, "cacheReadTokens": read, "cacheWriteTokens": grown - 3, "reasoningTokens": 0}
	f.event(w, "step/start", object{"turn": 1, "step": f.step})
	f.event(w, "assistant/chunk", object{"turn": 1, "step": f.step, "chunk": object{"type": "usage", "usage": usage}})
	content := dshText(said)
	if tool != "" {
		content = append(content, object{"type": "tool-call", "id": tool, "name": "read", "arguments": `{"path":"/repo/` + tool + `"}`})
	}
	f.event(w, "assistant/message", object{
		"turn": 1, "step": f.step, "usage": usage,
		"message": object{"id": id, "role": "assistant", "content": content, "source": object{"kind": "model", "model": "deepseek-v4-flash"}},
	})
	if tool != "" {
		f.event(w, "tool/result", object{"turn": 1, "step": f.step, "message": object{"role": "user", "content": []object{
			{"type": "tool-result", "toolCallId": tool, "isError": false, "content": dshText(result)},
		}}})
	}
}

func (f *dshForm) compaction(w *writer, summary string) {
	end := len(w.lines) - 2
	f.event(w, "compaction/summary", object{
		"shadowedTokenCount": w.context, "model": "deepseek-v4-flash",
		"usage": object{"inputTokens": 100, "outputTokens": 200, "cacheReadTokens": w.context},
	})
	f.event(w, "user/message", object{"role": "user", "source": object{"kind": "plugin"}, "content": dshText(summary)},
		object{"op": "replace", "start": f.from, "end": end})
	f.from = len(w.lines) - 2
}

func (*dshForm) text(w *writer) string { return strings.Join(w.lines, "\n") + "\n" }
