package texts

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/internal/codex"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// agree reads what a reader made of a file again: whatever the bytes are, every
// block with a line is found on it.
func agree(t *testing.T, c *traces.Corpus) {
	for _, s := range c.Sessions {
		readAll(t, c, s)
	}
	c.Close()
}

func FuzzClaudeCode(f *testing.F) {
	f.Add([]byte(small()))
	f.Add([]byte(lines(
		user("u01", "", "\"\xff \\ud83d\\ud800 \\u00e9\""),
		assistant("a02", "u01", `[{"type":"tool_use","id":"t","name":"Re\u0061d","input":{"a":1, "a":2}},"x",{},{"type":"thinking","signature":"s"}]`),
		user("u03", "a02", `[{"tool_use_id":"t","content":[{"text":"\u0000","te\u0078t":"b"},1],"type":"tool_result"},{"type":"document","source":{"data":3,"url":"u"}},`+
			`{"type":"image","source":{"data":"x"},"source":{}},{"type":"tool_result","content":"a","content":[{"text":"b"}]}]`),
		assistant("a04", "u03", `["\ud800\\",[],{"type":"redacted_thinking","data":"d"}]`),
	)))
	fsys := synthetic.Samples()
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		f.Fatal(err)
	}
	r, err := inputs.Files[0].Open()
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	var sample bytes.Buffer
	if _, err := sample.ReadFrom(r); err != nil {
		f.Fatal(err)
	}
	f.Add(sample.Bytes()[:bytes.LastIndexByte(sample.Bytes()[:20_000], '\n')])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := agents.ReadFS(context.Background(), traces.Options{}, fstest.MapFS{"S.jsonl": {Data: data}})
		if err == nil {
			agree(t, c)
		}
	})
}

func FuzzCodex(f *testing.F) {
	f.Add([]byte(lines(
		record("session_meta", `{"id":"S"}`),
		record("response_item", `{"type":"message","role":"user","content":["x",{"text":"a`+"\xff"+`b"}]}`),
		record("response_item", `{"type":"message","role":"assistant","content":"\ud800"}`),
		record("response_item", `{"type":"function_call","call_id":"c","name":"n","arguments":"1"}`),
		counted("900"),
		record("response_item", `{"type":"tool_search_output","call_id":"c","tools":[{"name":"t"}]}`),
		record("compacted", `{"replacement_history":[{"type":"compaction_summary","encrypted_content":"e"}]}`),
		record("response_item", `{"type":"reasoning","summary":[{"text":"s"}]}`),
		counted("950"),
	)))
	f.Fuzz(func(t *testing.T, data []byte) {
		inputs, err := traces.FindFS(fstest.MapFS{"r.jsonl": {Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := codex.ReadInputs(context.Background(), traces.Options{}, inputs, "fuzz")
		if err == nil {
			agree(t, c)
		}
	})
}
