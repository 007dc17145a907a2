package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Tools go by name, by what they do, or all; MCP tools only where the layer takes MCP tools.
func TestToolsByNameAndOperation(t *testing.T) {
	for text, want := range map[string][]int32{
		"[Read]":           {12, 30000, 30000},
		"[read]":           {12, 30000, 30000},
		"read":             {12, 30000, 30000},
		"[agent, write]":   {30000, 12, 30000},
		"all":              {12, 12, 30000},
		"[all]":            {12, 12, 30000},
		"[mcp__db__query]": {30000, 30000, 30000},
	} {
		k := newTalk()
		for _, tool := range []string{"Read", "Task", "mcp__db__query"} {
			k.round(tool, "", 30000)
		}
		microcompacted(t, k, "microcompact: {trigger: {fixed: 1}, threshold: 1, keep_last: 0, min_saved: 1, tools: "+text+"}")
		if !slices.Equal(k.results(), want) {
			t.Errorf("tools: %s: %v, want %v", text, k.results(), want)
		}
	}
}

func TestStarIsNoTool(t *testing.T) {
	err := builtin(t).AddPreset([]byte("name: test\nlayers:\n  - microcompact: {trigger: {fixed: 1}, tools: [\"*\"]}\n"), "test.yaml")
	if err == nil || !strings.Contains(err.Error(), "tools: all") || !strings.Contains(err.Error(), "test.yaml:3") {
		t.Errorf("%v, want an error with its line that names tools: all", err)
	}
}

// A layer is not run in a session whose calls are all of other tools.
func TestUnfitLayers(t *testing.T) {
	s := &traces.Session{Tools: []string{"", "exec_command"}, Blocks: []prompt.Block{{Kind: prompt.KindToolUse, Tool: 1, Op: op.Exec}}}
	for text, want := range map[string]bool{
		"microcompact: {trigger: {fixed: 1}}":              true,
		"time-microcompact: {}":                            true,
		"server-hint: {}":                                  true,
		"cached-microcompact: {}":                          true,
		"time-microcompact: {tools: [exec]}":               false,
		"time-microcompact: {tools: [Read, exec_command]}": false,
		"time-microcompact: {tools: all}":                  false,
	} {
		l := layer(t, text).(Choosy)
		if got := l.Unfit(s); got != "" != want || want && !strings.HasPrefix(got, measures.NotRun) {
			t.Errorf("%s: %q", text, got)
		}
		if got := l.Unfit(&traces.Session{}); got != "" {
			t.Errorf("%s: %q in a session without calls", text, got)
		}
	}
}
