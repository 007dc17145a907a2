package strategies

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// valueAt returns a parameter of a strategy by its layer and path, as text; ""
// where the strategy has no such layer.
func valueAt(t *testing.T, preset, path string) string {
	t.Helper()
	s, err := builtin(t).Strategy(preset)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return find(&root, strings.Split(path, "."))
}

// find returns the value behind keys, wherever in n their mapping begins.
func find(n *yaml.Node, keys []string) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value != keys[0] {
				continue
			}
			v := n.Content[i+1]
			if len(keys) > 1 {
				return find(v, keys[1:])
			}
			if v.Kind == yaml.SequenceNode {
				var list []string
				for _, e := range v.Content {
					list = append(list, e.Value)
				}
				return fmt.Sprint(list)
			}
			return v.Value
		}
	}
	for _, c := range n.Content {
		if v := find(c, keys); v != "" {
			return v
		}
	}
	return ""
}

// What the documents and recordings say of each generation (SPEC §0), one row of
// docs/coverage.md after the other.
func TestGenerations(t *testing.T) {
	for _, tc := range []struct{ preset, values string }{
		// version 1 (001:167-231, 683-755, 1137-1181)
		{"claude-code/1", "full-compact.trigger.reserve=13000; full-compact.trigger.reserve_output=false"},
		{"claude-code/1", "microcompact.trigger.reserve=13000; microcompact.trigger.less=0; microcompact.min_saved=20000"},
		{"claude-code/1", "full-compact.call=[small-model]; full-compact.small_model.head=20; full-compact.small_model.strip_thinking=true"},
		{"claude-code/1", "full-compact.prompt_too_long.retries=0; full-compact.breaker=0; full-compact.reactive=false"},
		{"claude-code/1", "full-compact.attachments.todos=true; full-compact.attachments.plan=true; full-compact.attachments.files.over_budget=skip"},
		{"claude-code/1", "full-compact.analysis=keep; full-compact.report=call"},
		// 2.1 (004)
		{"claude-code/2.1", "full-compact.trigger.reserve=13000; full-compact.trigger.reserve_output=true; full-compact.trigger.output_cap=32000"},
		{"claude-code/2.1", "microcompact.trigger.less=20000; microcompact.persist=true; microcompact.clear_memory=true"},
		{"claude-code/2.1", "session-memory.enabled=true; full-compact.call=[streaming]; full-compact.streaming.retries=2"},
		{"claude-code/2.1", "full-compact.attachments.todos=true; full-compact.attachments.plan=true; full-compact.attachments.files.over_budget=stop"},
		// March 2026 (002, 003)
		{"claude-code/2026-03", "full-compact.trigger.reserve=13000; full-compact.trigger.output_cap=20000"},
		{"claude-code/2026-03", "tool-storage.enabled=true; cached-microcompact.enabled=true; session-memory.enabled=true"},
		{"claude-code/2026-03", "full-compact.call=[fork streaming]; full-compact.prompt_too_long.retries=3; full-compact.breaker=3"},
		{"claude-code/2026-03", "time-microcompact.enabled=false; api-context.enabled=false"},
		{"claude-code/2026-03", "full-compact.attachments.todos=false; full-compact.attachments.plan=true; full-compact.attachments.plan_mode=300"},
		// summer 2026, recordings of 2.1.204 to 2.1.233
		{"claude-code/2026-08", "full-compact.keep.rounds=1; full-compact.attachments.resend_skill_listing=true; microcompact.enabled=; session-memory.enabled="},
		// October 2026
		{"claude-code/2026-10", "server-hint.enabled=true; full-compact.call=[server fork streaming]; full-compact.idle.enabled=true; full-compact.rapid_refill.times=3"},
	} {
		for want := range strings.SplitSeq(tc.values, "; ") {
			path, value, _ := strings.Cut(want, "=")
			if got := valueAt(t, tc.preset, path); got != value {
				t.Errorf("%s: %s is %q, want %q", tc.preset, path, got, value)
			}
		}
	}
}
