package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// blockTokens is what a block weighs beside its text.
const blockTokens = 3

// canonical returns JSON of a value without markers, with members in the order of their names.
func canonical(v any) string {
	b, _ := json.Marshal(without(v)) // of decoded JSON, which encodes
	return string(b)
}

// without returns a value without its cache markers.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			if k != "cache_control" {
				m[k] = without(x)
			}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, x := range v {
			l[i] = without(x)
		}
		return l
	}
	return v
}

// text returns the strings of a value, which are what a model reads; names of members and ids count as nothing.
func text(v any) string {
	var b strings.Builder
	gather(&b, v)
	return b.String()
}

func gather(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			switch k {
			case "cache_control", "type", "id", "tool_use_id", "call_id", "signature", "status":
			default:
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			gather(b, v[k])
		}
	case []any:
		for _, x := range v {
			gather(b, x)
		}
	case nil:
	default:
		fmt.Fprintln(b, v)
	}
}

// list returns the parts of a content that may be a plain text.
func list(v any) []any {
	switch v := v.(type) {
	case string:
		return []any{map[string]any{"type": "text", "text": v}}
	case []any:
		return v
	}
	return nil
}

// messages is Anthropic's interface (POST /v1/messages).
type messages struct{}

func (messages) parse(body map[string]any, density float64) request {
	r := request{model: text1(body["model"]), stream: body["stream"] == true}
	add := func(place string, v any, weigh string, run byte) {
		b := block{text: place + canonical(v), tokens: tokens(weigh, density) + blockTokens, run: run}
		if m, ok := v.(map[string]any); ok {
			if mark, ok := m["cache_control"].(map[string]any); ok {
				b.ttl = 5 * time.Minute
				if mark["ttl"] == "1h" {
					b.ttl = time.Hour
				}
			}
		}
		r.blocks = append(r.blocks, b)
	}
	for _, t := range list(body["tools"]) {
		if m, ok := t.(map[string]any); ok && m["defer_loading"] != true {
			add("tool", t, canonical(t), 0)
			r.tools++
		}
	}
	for _, s := range list(body["system"]) {
		// A header that the first-party server takes out; it differs from call to call.
		if t := text(s); !strings.HasPrefix(t, "x-anthropic-billing-header") {
			add("system", s, t, 0)
		}
	}
	// Other parameters of thinking and of the choice of tools are another cache of messages ("What invalidates the cache").
	params := canonical([]any{body["thinking"], body["tool_choice"]})
	var said strings.Builder
	msgs := list(body["messages"])
	for i, m := range msgs {
		m, _ := m.(map[string]any)
		for _, c := range list(m["content"]) {
			var run byte
			if c, ok := c.(map[string]any); ok {
				switch c["type"] {
				case "tool_use":
					run = 'u'
				case "tool_result":
					run = 'r'
				}
			}
			t := text(c)
			add(text1(m["role"])+params, c, t, run)
			said.WriteString(t)
			if i == len(msgs)-1 {
				r.last += t
			}
		}
	}
	r.words = said.String()
	return r
}

// text1 returns a value that is a string.
func text1(v any) string { s, _ := v.(string); return s }

func (messages) answer(w http.ResponseWriter, r *request, a reply) {
	use := map[string]any{"input_tokens": a.usage.Uncached, "cache_read_input_tokens": a.usage.Read,
		"cache_creation_input_tokens": a.usage.Write5m + a.usage.Write1h, "output_tokens": a.usage.Output, "service_tier": "standard",
		"cache_creation": map[string]any{"ephemeral_5m_input_tokens": a.usage.Write5m, "ephemeral_1h_input_tokens": a.usage.Write1h}}
	content := []map[string]any{{"type": "text", "text": a.text}}
	stop := "end_turn"
	for k, c := range a.calls {
		content = append(content, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%05d%02d", a.n, k), "name": c.name, "input": c.input})
		stop = "tool_use"
	}
	msg := map[string]any{"id": fmt.Sprintf("msg_%05d", a.n), "type": "message", "role": "assistant", "model": r.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": use}
	w.Header().Set("Request-Id", fmt.Sprintf("req_%05d", a.n))
	if !r.stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(msg)
		return
	}
	send := events(w)
	msg["content"], msg["stop_reason"] = []any{}, nil
	begun := map[string]any{}
	for k, v := range use {
		begun[k] = v
	}
	begun["output_tokens"] = 1
	msg["usage"] = begun
	send("message_start", map[string]any{"message": msg})
	for i, c := range content {
		delta := map[string]any{"type": "text_delta", "text": c["text"]}
		start := map[string]any{"type": "text", "text": ""}
		if c["type"] == "tool_use" {
			in, _ := json.Marshal(c["input"])
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(in)}
			start = map[string]any{"type": "tool_use", "id": c["id"], "name": c["name"], "input": map[string]any{}}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": use})
	send("message_stop", map[string]any{})
}

// events returns a function that sends one event of a stream.
func events(w http.ResponseWriter) func(name string, data map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return func(name string, data map[string]any) {
		data["type"] = name
		b, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, b)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// responses is OpenAI's interface (POST /v1/responses).
type responses struct{}

func (responses) parse(body map[string]any, density float64) request {
	r := request{model: text1(body["model"]), cacheKey: text1(body["prompt_cache_key"]), stream: true}
	add := func(v any, weigh string) {
		r.blocks = append(r.blocks, block{text: weigh, tokens: tokens(weigh, density) + blockTokens})
	}
	for _, t := range list(body["tools"]) {
		add(t, canonical(t))
		r.tools++
	}
	if s := text1(body["instructions"]); s != "" {
		add(s, s)
	}
	var said strings.Builder
	items := list(body["input"])
	for i, m := range items {
		t := text(m)
		add(m, t)
		said.WriteString(t)
		if i == len(items)-1 {
			r.last = t
			if m, ok := m.(map[string]any); ok {
				r.trigger = m["type"] == "compaction_trigger"
			}
		}
	}
	r.words = said.String()
	return r
}

func (responses) answer(w http.ResponseWriter, r *request, a reply) {
	use := map[string]any{"input_tokens": a.usage.prompt(), "input_tokens_details": map[string]any{"cached_tokens": a.usage.Read},
		"output_tokens": a.usage.Output, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": a.usage.prompt() + a.usage.Output}
	out := []map[string]any{{"type": "message", "id": fmt.Sprintf("msg_%05d", a.n), "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}}}
	if a.compacted {
		out = []map[string]any{{"type": "compaction", "id": fmt.Sprintf("cmp_%05d", a.n), "encrypted_content": a.text}}
	}
	for k, c := range a.calls {
		id := fmt.Sprintf("call_%05d%02d", a.n, k)
		if free, ok := c.input.(string); ok {
			out = append(out, map[string]any{"type": "custom_tool_call", "id": "ctc" + id, "call_id": id, "name": c.name, "input": free, "status": "completed"})
			continue
		}
		in, _ := json.Marshal(c.input)
		out = append(out, map[string]any{"type": "function_call", "id": "fc" + id, "call_id": id, "name": c.name, "arguments": string(in), "status": "completed"})
	}
	response := map[string]any{"id": fmt.Sprintf("resp_%05d", a.n), "object": "response", "created_at": time.Now().Unix(), "status": "in_progress", "model": r.model, "output": []any{}}
	send := events(w)
	seq := 0
	next := func(name string, data map[string]any) {
		data["sequence_number"] = seq
		seq++
		send(name, data)
	}
	next("response.created", map[string]any{"response": response})
	for i, o := range out {
		next("response.output_item.added", map[string]any{"output_index": i, "item": o})
		if o["type"] == "message" {
			next("response.output_text.delta", map[string]any{"item_id": o["id"], "output_index": i, "content_index": 0, "delta": a.text})
		}
		next("response.output_item.done", map[string]any{"output_index": i, "item": o})
	}
	response["status"], response["output"], response["usage"] = "completed", out, use
	next("response.completed", map[string]any{"response": response})
}
