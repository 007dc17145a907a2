package devserver_test

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

// said puts members into a request.
func said(body, members string) string { return strings.TrimSuffix(body, "}") + "," + members + "}" }

// What the API refuses of thinking, effort and what goes with them.
func TestThinkingIsChecked(t *testing.T) {
	s := serve(t, devserver.Options{})
	fine := strings.Replace(talk(message("user", hello)), `"max_tokens":9`, `"max_tokens":4000`, 1)
	of := func(model, body string) string { return strings.Replace(body, "claude-opus-5", model, 1) }
	budget := `"thinking":{"type":"enabled","budget_tokens":2000}`
	thought := `{"type":"thinking","thinking":"hm","signature":"s"}`
	answering := func(blocks ...string) string {
		return strings.Replace(talk(message("user", hello), message("assistant", blocks...), message("user", result, hello)), `"max_tokens":9`, `"max_tokens":4000`, 1)
	}
	const edits = `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`
	for _, tc := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"adaptive", said(fine, `"thinking":{"type":"adaptive"}`), 200, `"type":"thinking"`},
		{"disabled", said(fine, `"thinking":{"type":"disabled"}`), 200, ""},
		{"a budget", of("claude-opus-4-5", said(fine, budget)), 200, `"thinking_tokens":`},
		{"a budget of a model between", of("claude-opus-4-6", said(fine, budget)), 200, ""},
		{"a budget of a later model", said(fine, budget), 400, "thinking.type.enabled"},
		{"adaptive of an earlier model", of("claude-haiku-4-5", said(fine, `"thinking":{"type":"adaptive"}`)), 400, "adaptive thinking is not supported"},
		{"adaptive with a budget", said(fine, `"thinking":{"type":"adaptive","budget_tokens":2000}`), 400, "Extra inputs"},
		{"no budget", of("claude-opus-4-5", said(fine, `"thinking":{"type":"enabled"}`)), 400, "Field required"},
		{"a small budget", of("claude-opus-4-5", said(fine, `"thinking":{"type":"enabled","budget_tokens":1023}`)), 400, "equal to 1024"},
		{"a budget of all", of("claude-opus-4-5", said(fine, `"thinking":{"type":"enabled","budget_tokens":4000}`)), 400, "must be greater than"},
		{"unknown", said(fine, `"thinking":{"type":"deep"}`), 400, "does not match"},
		{"calls without their thinking", of("claude-opus-4-5", said(answering(use), budget)), 400, "Expected `thinking`"},
		{"calls with it", of("claude-opus-4-5", said(answering(thought, use), budget)), 200, ""},
		{"calls without it, adaptive", said(answering(use), `"thinking":{"type":"adaptive"}`), 200, ""},
		{"effort", said(fine, `"output_config":{"effort":"max"}`), 200, ""},
		{"effort of Opus 4.5", of("claude-opus-4-5-20251101", said(fine, `"output_config":{"effort":"low"}`)), 200, ""},
		{"effort of an earlier model", of("claude-sonnet-4-5", said(fine, `"output_config":{"effort":"low"}`)), 400, "does not support the effort"},
		{"unknown effort", said(fine, `"output_config":{"effort":"lots"}`), 400, "output_config.effort"},
		{"clearing without thinking", said(fine, edits), 400, "requires `thinking` to be enabled or adaptive"},
		{"clearing with it", said(said(fine, edits), `"thinking":{"type":"adaptive"}`), 200, ""},
		{"long instructions", said(fine, `"compaction":{"type":"summarize","instructions":"`+strings.Repeat("x", 16_385)+`"}`), 400, "at most 16384 characters"},
	} {
		status, _, text := s.post("/v1/messages", tc.body, "Anthropic-Beta", editing+",compact-2026-09-04")
		if status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %d %s, want %d and %q", tc.name, status, text, tc.status, tc.says)
		}
	}
}

// Inputs are cleared of the tools that are named: every second of ten calls is of
// T1, and three are kept.
func TestClearSomeInputs(t *testing.T) {
	s := serve(t, devserver.Options{})
	cleared := func(inputs string) int64 {
		r := s.ask(tools(10, `{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"clear_tool_inputs":`+inputs+`}`), "Anthropic-Beta", editing)
		return r.Management.Edits[0].Tokens
	}
	none, all, some := cleared("false"), cleared("true"), cleared(`["T1"]`)
	// Of the first seven calls those with odd numbers are of T1.
	if each := (all - none) / 7; some != none+3*each {
		t.Errorf("%d tokens without inputs, %d with all, %d with those of T1", none, all, some)
	}
}
