package texts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json/jsontext"
)

// What each kind of content says, written down by hand from the lines.
func TestClaudeCode(t *testing.T) {
	c := claude(t, files(map[string]string{"S.jsonl": lines(
		user("u01", "", `"as a \"string\""`),
		assistant("a02", "u01", `[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"two\nlines"},`+
			`{"type":"tool_use","id":"t1","name":"Read","input":{"file_path": "/p/a.go"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"x"}}]`),
		user("u03", "a02", `[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one "},{"type":"image","source":{}},{"type":"text","text":"two"}]},`+
			`{"tool_use_id":"t2","content":"no such file","is_error":true,"type":"tool_result"}]`),
		assistant("a04", "u03", `[{"type":"redacted_thinking","data":"0123456789abcdef"},{"type":"text","text":"a lone \ud800 half"}]`),
		user("u05", "a04", `[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","data":"iVBORw0="}},{"type":"document","source":{"type":"url","url":"u"}}]`),
		assistant("a06", "u05", `[{"type":"server_tool_use","id":"t3","name":"web_search","input":[1]},{"type":"web_search_tool_result","tool_use_id":"t3","content":[]},{"type":"text","text":""}]`),
		`{"type":"attachment","uuid":"u07","parentUuid":"a06","sessionId":"S","timestamp":"2026-03-25T02:00:07.000Z","attachment":{"type":"nested_memory","content":{"content":"remember"}}}`,
		`{"type":"attachment","uuid":"u08","parentUuid":"u07","sessionId":"S","timestamp":"2026-03-25T02:00:08.000Z","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"and this"}],"content":"not this"}}`,
		`{"type":"attachment","uuid":"u09","parentUuid":"u08","sessionId":"S","timestamp":"2026-03-25T02:00:09.000Z","attachment":{"type":"x","content":"raw"},"rendered":[{"type":"text","text":"as sent"}]}`,
		assistant("a10", "u09", `"bare"`),
	)}))
	want := []Content{
		{Text: `as a "string"`},
		{Text: "hm"},
		{Text: "two\nlines"},
		{Name: "Read", Input: jsontext.Value(`{"file_path": "/p/a.go"}`)},
		{Name: "Bash", Input: jsontext.Value(`{"command":"x"}`)},
		{Name: "Read", Text: "one two", Media: MediaImage},
		{Name: "Bash", Text: "no such file", Error: true},
		{Filler: true, Text: "[filler for."}, // 16 bytes of base64 are 12
		{Text: "a lone \uFFFD half"},
		{Text: "look"},
		{Media: MediaImage},
		{Media: MediaDocument},
		{Name: "web_search", Input: jsontext.Value(`{"input":[1]}`)},
		{Text: `{"type":"web_search_tool_result","tool_use_id":"t3","content":[]}`},
		{},
		{Text: "remember"},
		{Text: "and this"},
		{Text: "as sent"},
		{Text: "bare"},
	}
	if diff := cmp.Diff(want, onLines(t, c)); diff != "" {
		t.Error(diff)
	}
}

// A sub-agent's messages inside progress lines, the summary of a compaction, a
// byte order mark, members twice and in any order, and bytes that are no UTF-8.
func TestClaudeCodeOddLines(t *testing.T) {
	progress := func(id, role, message string) string {
		return `{"type":"progress","uuid":"p` + id + `","parentToolUseID":"t1","sessionId":"S","timestamp":"2026-03-25T02:00:` + id + `.000Z","data":{"message":` +
			`{"type":"` + role + `","uuid":"q` + id + `","timestamp":"2026-03-25T02:00:` + id + `.000Z","message":` + message + `},"type":"agent_progress","agentId":"A"}}`
	}
	c := claude(t, files(map[string]string{"S.jsonl": "\xef\xbb\xbf" + lines(
		user("u01", "", `[{"text":"first","text":"do it","type":"text"}]`),
		assistant("a02", "u01", `[{"type":"tool_use","input":{"prompt":"task"},"name":"Task","id":"t1"}]`),
		progress("03", "user", `{"role":"user","content":"task"}`),
		progress("04", "assistant", `{"id":"msg_p4","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5},"content":[{"type":"text","text":"sub"},{"type":"text","text":"agent"}]}`),
		user("u05", "a02", `[{"type":"tool_result","tool_use_id":"t1","content":"bytes `+"\xff\xfe"+`\n"}]`),
		assistant("a06", "u05", `[{"type":"text","text":"\ud83d\ude00 caf\u00e9"}]`),
		`{"type":"system","subtype":"compact_boundary","uuid":"u07","logicalParentUuid":"a06","sessionId":"S","timestamp":"2026-03-25T02:00:07.000Z","compactMetadata":{"trigger":"auto","preTokens":1}}`,
		`{"isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"in short"},"type":"user","uuid":"u08","parentUuid":"u07","sessionId":"S","timestamp":"2026-03-25T02:00:08.000Z"}`,
		user("u09", "u08", `"more"`),
		assistant("a10", "u09", `[{"type":"text","text":"end"}]`),
	)}))
	want := []Content{
		{Text: "do it"},
		{Name: "Task", Input: jsontext.Value(`{"prompt":"task"}`)},
		{Name: "Task", Text: "bytes \uFFFD\n"},
		{Text: "😀 café"},
		{Text: "in short"},
		{Text: "more"},
		{Text: "end"},
		{Text: "task"},
		{Text: "sub"},
		{Text: "agent"},
	}
	if diff := cmp.Diff(want, onLines(t, c)); diff != "" {
		t.Error(diff)
	}
}
