package devserver_test

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

// message writes a message with blocks.
func message(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func talk(messages ...string) string {
	return `{"model":"claude-opus-5","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	hello  = `{"type":"text","text":"hello"}`
	use    = `{"type":"tool_use","id":"t1","name":"Read","input":{}}`
	result = `{"type":"tool_result","tool_use_id":"t1","content":"ok"}`
	edits  = `{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"context_management":{"edits":[`
)

// What the API refuses, with the status and the words of the API.
func TestValidation(t *testing.T) {
	s := serve(t, devserver.Options{})
	fine := talk(message("user", hello))
	for _, tc := range []struct {
		name, body string
		headers    []string
		status     int
		says       string
	}{
		{"fine", fine, nil, 200, `"stop_reason":"max_tokens"`},
		{"a pair", talk(message("user", hello), message("assistant", hello, use), message("user", result, hello)), nil, 200, ""},
		{"content as a string", `{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, nil, 200, ""},
		{"no key", fine, []string{"X-Api-Key", ""}, 401, "authentication_error"},
		{"a real key", fine, []string{"X-Api-Key", "sk-ant-1"}, 401, "authentication_error"},
		{"no version", fine, []string{"Anthropic-Version", ""}, 400, "anthropic-version"},
		{"unknown model", strings.Replace(fine, "claude-opus-5", "mistral", 1), nil, 404, "not_found_error"},
		{"no JSON", fine[:20], nil, 400, "not valid"},
		{"no max_tokens", strings.Replace(fine, `"max_tokens":9,`, "", 1), nil, 400, "max_tokens: Field required"},
		{"no messages", talk(), nil, 400, "at least one message"},
		{"empty message", talk(message("user")), nil, 400, "non-empty content"},
		{"empty text", talk(message("user", `{"type":"text","text":""}`)), nil, 400, "text content blocks must be non-empty"},
		{"blank text", talk(message("user", `{"type":"text","text":" \n"}`)), nil, 400, "non-whitespace"},
		{"assistant first", talk(message("assistant", hello), message("user", hello)), nil, 400, "first message must use the user role"},
		{"assistant last", talk(message("user", hello), message("assistant", hello)), nil, 400, "must end with a user message"},
		{"same role twice", talk(message("user", hello), message("user", hello)), nil, 400, "roles must alternate"},
		{"system role", talk(message("system", hello)), nil, 400, "neither user nor assistant"},
		{"call without result", talk(message("user", hello), message("assistant", use), message("user", hello)), nil, 400, "`tool_use` ids were found without `tool_result` blocks immediately after: t1"},
		{"result without call", talk(message("user", result)), nil, 400, "unexpected `tool_use_id`"},
		{"result twice", talk(message("user", hello), message("assistant", use), message("user", result, result)), nil, 400, "unexpected `tool_use_id`"},
		{"result after text", talk(message("user", hello), message("assistant", use), message("user", hello, result)), nil, 400, "must come first"},
		{"call by the user", talk(message("user", use), message("assistant", hello), message("user", hello)), nil, 400, "misplaced"},
		{"unknown block", talk(message("user", `{"type":"video"}`)), nil, 400, `unknown type \"video\"`},
		{"five markers", user("claude-opus-5", blocks(6, 1, 2, 3, 4, 5)...), nil, 400, "maximum of 4 blocks with cache_control may be provided. Found 5"},
		{"an hour behind five minutes", user("claude-opus-5", block("a", 9, "5m"), block("b", 9, "1h")), nil, 400, "must not come after a ttl='5m'"},
		{"unknown lifetime", user("claude-opus-5", block("a", 9, "2h")), nil, 400, "neither 5m nor 1h"},
		{"marked thinking", talk(message("user", `{"type":"thinking","thinking":"x","cache_control":{"type":"ephemeral"}}`)), nil, 400, "cannot be set on thinking"},
		{"empty system prompt", strings.Replace(fine, `"max_tokens"`, `"system":"","max_tokens"`, 1), nil, 400, "system.0: text content blocks must be non-empty"},
		{"a tool without a schema", strings.Replace(fine, `"max_tokens"`, `"tools":[{"name":"A"}],"max_tokens"`, 1), nil, 400, "tools.0.input_schema"},
		{"a schema that is none", strings.Replace(fine, `"max_tokens"`, `"tools":[{"name":"A","input_schema":"x"}],"max_tokens"`, 1), nil, 400, "tools.0.input_schema"},
		{"a tool of the provider", strings.Replace(fine, `"max_tokens"`, `"tools":[{"name":"A","type":"web_search_20250305"}],"max_tokens"`, 1), nil, 200, ""},
		{"a tool's name", strings.Replace(fine, `"max_tokens"`, `"tools":[{"name":"A b","input_schema":{}}],"max_tokens"`, 1), nil, 400, "tools.0.name: String should match pattern"},
		{"a long output", strings.Replace(fine, `"max_tokens":9`, `"max_tokens":128001`, 1), nil, 400, "128001 > 128000, which is the maximum"},
		{"one tool twice", strings.Replace(fine, `"max_tokens"`, `"tools":[{"name":"A","input_schema":{}},{"name":"A","input_schema":{}}],"max_tokens"`, 1), nil, 400, "unique"},
		{"edits without a beta", edits + `{"type":"clear_tool_uses_20250919"}]}}`, nil, 400, "Extra inputs are not permitted"},
		{"thinking second", edits + `{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}]}}`, []string{"Anthropic-Beta", "a,context-management-2025-06-27"}, 400, "must be listed first"},
		{"unknown edit", edits + `{"type":"clear_everything"}]}}`, nil, 400, "unknown type"},
	} {
		status, _, text := s.post("/v1/messages", tc.body, tc.headers...)
		if status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s: status %d, %s; want %d and %q", tc.name, status, text, tc.status, tc.says)
		}
	}
}

// A prompt beyond the window is refused, with its size.
func TestWindow(t *testing.T) {
	body := user("claude-opus-5", block("a", 1003, ""))
	for _, tc := range []struct {
		o    devserver.Options
		says string
	}{
		{devserver.Options{Window: 1002}, "prompt is too long: 1003 tokens > 1002 maximum"},
		{devserver.Options{Window: 1052}, "input length and `max_tokens` exceed context limit: 1003 + 50 > 1052"},
		{devserver.Options{Window: 1053}, `"stop_reason"`},
	} {
		if _, _, text := serve(t, tc.o).post("/v1/messages", body); !strings.Contains(text, tc.says) {
			t.Errorf("%+v: %s, want %q", tc.o, text, tc.says)
		}
	}
	s := serve(t, devserver.Options{Window: 1000})
	_, _, text := s.post("/v1/chat/completions", `{"model":"gpt-5","messages":[{"role":"user","content":"`+strings.Repeat("x", 4000)+`"}]}`)
	if !strings.Contains(text, "maximum context length is 1000 tokens. However, your messages resulted in 1203 tokens") {
		t.Errorf("chat: %s", text)
	}
}

// More than 32 MB are refused as too large.
func TestTooLarge(t *testing.T) {
	status, _, text := serve(t, devserver.Options{}).post("/v1/messages", strings.Repeat("x", 33<<20))
	if status != 413 || !strings.Contains(text, "request_too_large") {
		t.Errorf("status %d: %s", status, text)
	}
}

// What chat completions refuse.
func TestChatValidation(t *testing.T) {
	s := serve(t, devserver.Options{})
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for _, tc := range []struct {
		messages string
		status   int
		says     string
	}{
		{`{"role":"user","content":"hi"}`, 200, `"finish_reason":"stop"`},
		{call + `,{"role":"tool","tool_call_id":"c1","content":"ok"}`, 200, ""},
		{call + `,{"role":"user","content":"hi"}`, 400, "must be followed by tool messages"},
		{`{"role":"tool","tool_call_id":"c1","content":"ok"}`, 400, "no call ahead"},
		{`{"role":"robot","content":"hi"}`, 400, "unknown role"},
		{``, 400, "at least one"},
	} {
		status, _, text := s.post("/v1/chat/completions", `{"model":"gpt-5","messages":[`+tc.messages+`]}`)
		if status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s: status %d, %s; want %d and %q", tc.messages, status, text, tc.status, tc.says)
		}
	}
	if status, _, _ := s.post("/v1/chat/completions", `{"model":"mistral","messages":[{"role":"user","content":"hi"}]}`); status != 404 {
		t.Errorf("unknown model: status %d", status)
	}
}

// All that is wrong with the options is said at once.
func TestOptions(t *testing.T) {
	_, err := devserver.New(devserver.Options{Window: -1, Latency: -1, SummaryTokens: -1, MaxOutput: -1})
	for _, want := range []string{"window -1", "latency -1ns", "summary_tokens -1", "max_output -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
