package texts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json/jsontext"
)

func record(typ, payload string) string {
	return `{"timestamp":"2026-04-01T10:00:00.000Z","type":"` + typ + `","payload":` + payload + `}`
}

func counted(total string) string {
	u := `{"input_tokens":` + total + `,"cached_input_tokens":0,"output_tokens":90,"reasoning_output_tokens":0,"total_tokens":` + total + `}`
	return record("event_msg", `{"type":"token_count","info":{"total_token_usage":`+u+`,"last_token_usage":`+u+`}}`)
}

// What each kind of item says, written down by hand from the lines.
func TestCodex(t *testing.T) {
	c := rollouts(t, files(map[string]string{"r.jsonl": lines(
		record("session_meta", `{"id":"S","cwd":"/p","cli_version":"0.144","base_instructions":"be brief"}`),
		record("turn_context", `{"model":"gpt-5.5"}`),
		record("response_item", `{"type":"message","role":"user","id":"m1","content":[{"type":"input_text","text":"fix "},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"it"}]}`),
		record("response_item", `{"type":"reasoning","id":"rs1","summary":[{"type":"summary_text","text":"think"},{"type":"summary_text","text":"twice"}],"encrypted_content":"zzz"}`),
		record("response_item", `{"type":"reasoning","id":"rs2","summary":[],"encrypted_content":"`+strings.Repeat("z", 93)+`"}`),
		record("response_item", `{"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{\"cmd\":\"ls\"}"}`),
		record("response_item", `{"type":"custom_tool_call","name":"apply_patch","call_id":"c2","input":"*** Update File: a.go\n+x"}`),
		record("response_item", `{"type":"web_search_call","action":{"query":"q"}}`),
		record("response_item", `{"type":"custom_tool_call","name":"wait","call_id":"c3","input":"12"}`),
		counted("9000"),
		record("response_item", `{"type":"function_call_output","call_id":"c1","output":"Exit code: 1\nno"}`),
		record("response_item", `{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"output_text","text":"done"}]}`),
		record("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fixed"}]}`),
		counted("9500"),
		record("compacted", `{"message":"so far","replacement_history":[{"type":"message","role":"user","content":"fix it"},{"type":"compaction","id":"k","encrypted_content":"`+strings.Repeat("y", 60)+`"}]}`),
		record("response_item", `{"type":"message","role":"user","content":"<environment_context>e</environment_context>"}`),
		record("response_item", `{"type":"message","role":"assistant","content":"bye"}`),
		counted("8000"),
	)}))
	got := onLines(t, c)
	want := []Content{
		{Text: "fix it"},
		{Media: MediaImage},
		{Text: "think\ntwice"},
		{Filler: true},
		{Name: "exec_command", Input: jsontext.Value(`{"cmd":"ls"}`)},
		{Name: "apply_patch", Input: jsontext.Value(`{"input":"*** Update File: a.go\n+x"}`)},
		{Name: "web_search", Input: jsontext.Value(`{"query":"q"}`)},
		{Name: "wait", Input: jsontext.Value(`{"input":"12"}`)},
		{Name: "exec_command", Text: "Exit code: 1\nno", Error: true},
		{Name: "apply_patch", Text: "done"},
		{Text: "fixed"},
		{Text: "so far"},
		{Filler: true},
		{Text: "<environment_context>e</environment_context>"},
		{Text: "bye"},
	}
	// 3 + 93 + 2 bytes of id, encrypted text and empty summary; 1 + 60.
	for i, n := range map[int]int{3: 98, 12: 61} {
		if len(got[i].Text) != n || !strings.HasPrefix(got[i].Text, "[filler for ") {
			t.Errorf("content %d: %q, want %d bytes of filler", i, got[i].Text, n)
		}
		got[i].Text = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
