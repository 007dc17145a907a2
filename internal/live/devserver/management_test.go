package devserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

// tools writes a conversation with n tool calls whose results have 203 tokens
// each (3 of the result and 200 of a text), and the declared edits.
func tools(n int, edits string) string {
	messages := []string{message("user", hello)}
	for i := range n {
		messages = append(messages,
			message("assistant", `{"type":"thinking","thinking":"hm","signature":"s"}`, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"T%d","input":{"path":"a/b.go"}}`, i, i%2)),
			message("user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":[%s]}`, i, block("r", 200, ""))))
	}
	return strings.TrimSuffix(talk(messages...), "}") + `,"thinking":{"type":"adaptive"},"context_management":{"edits":[` + edits + `]}}`
}

const editing = "context-management-2025-06-27"

// Tool results are cleared oldest first when the prompt is over the trigger, but
// for those to keep, those of excluded tools, and only if enough is freed. A
// cleared result keeps 3+3+8 of its tokens: the placeholder has 25 bytes.
func TestClearToolUses(t *testing.T) {
	const freed = 203 - 14
	for _, tc := range []struct {
		edit   string
		uses   int
		tokens int64
	}{
		{`{"type":"clear_tool_uses_20250919"}`, 0, 0}, // under 100,000 tokens
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":1000}}`, 7, 7 * freed},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":9000}}`, 0, 0},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":9}}`, 7, 7 * freed},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":10}}`, 0, 0},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":8}}`, 2, 2 * freed},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"exclude_tools":["T1"]}`, 2, 2 * freed},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"clear_at_least":{"type":"input_tokens","value":1323}}`, 7, 7 * freed},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"clear_at_least":{"type":"input_tokens","value":1324}}`, 0, 0},
		{`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"clear_tool_inputs":true}`, 7, 7 * (freed + 4)}, // {"path":"a/b.go"} and the name: 19 bytes, then 4
	} {
		s := serve(t, devserver.Options{})
		whole := s.ask(tools(10, ""), "Anthropic-Beta", editing).Usage.Input
		r := s.ask(tools(10, tc.edit), "Anthropic-Beta", editing)
		uses, tokens := 0, int64(0)
		for _, e := range r.Management.Edits {
			uses, tokens = uses+e.Uses, tokens+e.Tokens
		}
		if uses != tc.uses || tokens != tc.tokens || r.Usage.Input != whole-tokens {
			t.Errorf("%s: cleared %d uses and %d tokens of %d, left %d; want %d and %d", tc.edit, uses, tokens, whole, r.Usage.Input, tc.uses, tc.tokens)
		}
	}
}

// Thinking is dropped from all but the newest turns that have some.
func TestClearThinking(t *testing.T) {
	for _, tc := range []struct {
		keep  string
		turns int
	}{{`{"type":"thinking_turns","value":1}`, 9}, {`{"type":"thinking_turns","value":12}`, 0}, {`"all"`, 0}} {
		r := serve(t, devserver.Options{}).ask(tools(10, `{"type":"clear_thinking_20251015","keep":`+tc.keep+`}`), "Anthropic-Beta", editing)
		turns := 0
		for _, e := range r.Management.Edits {
			turns += e.Turns
		}
		if turns != tc.turns {
			t.Errorf("keep %s: dropped from %d turns, want %d", tc.keep, turns, tc.turns)
		}
	}
}

// Compaction on demand: nothing in the call's usage, all in its iteration.
func TestCompactOnDemand(t *testing.T) {
	s := serve(t, devserver.Options{})
	body := strings.Replace(user("claude-opus-5", block("a", 1003, "")), `"max_tokens"`, `"compaction":{"type":"summarize"},"max_tokens"`, 1)
	r := s.ask(body, "Anthropic-Beta", "compact-2026-09-04")
	u := r.Usage
	if r.Stop != "compaction" || u.Input+u.Output != 0 || len(u.Iterations) != 1 || u.Iterations[0].Type != "compaction" || u.Iterations[0].Input != 1003 {
		t.Errorf("%+v", r)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "compaction" || !strings.Contains(r.Content[0].Content, "Pending Tasks") {
		t.Errorf("content %+v", r.Content)
	}
	if status, _, text := s.post("/v1/messages", body); status != 400 || !strings.Contains(text, "Extra inputs") {
		t.Errorf("without the beta: %d %s", status, text)
	}
}
