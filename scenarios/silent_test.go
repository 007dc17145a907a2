package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// asCodex returns sessions as if Codex had recorded them.
func asCodex(c *traces.Corpus) *traces.Corpus {
	out := &traces.Corpus{}
	for _, s := range c.Sessions {
		v := *s
		v.Agent = traces.AgentCodex
		out.Sessions = append(out.Sessions, &v)
	}
	return out
}

// silent returns what is said of a scenario's settings over sessions.
func silent(t *testing.T, text string, c *traces.Corpus) []string {
	t.Helper()
	p := Plan{Registry: registry(t), Prices: prices(t), Design: expand(t, text)}
	list, err := p.Silent(c)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// cellRows returns the rows of a scenario by cell, those of cells that follow each
// other and have the same once.
func cellRows(t *testing.T, text string, c *traces.Corpus) [][]results.Row {
	t.Helper()
	p := Plan{Registry: registry(t), Prices: prices(t), Design: expand(t, text)}
	run, err := p.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]results.Row
	for i := range run.Cells {
		rows = append(rows, run.Cells[i].Rows)
	}
	return slices.CompactFunc(rows, func(a, b []results.Row) bool { return cmp.Equal(a, b) })
}

// A setting that can have no effect is named with its place and why; a run without
// it has the same rows.
func TestSilentSettingsSaySomething(t *testing.T) {
	const plain = "strategies: [none]\n"
	for _, tc := range []struct {
		base, text  string // the setting stands in the last line of text
		codex       bool
		place, says string
	}{
		{plain, "client:\n  ttl: {employee: true}\n", false, "t.yaml:3", "client.ttl.employee true changes nothing: only client.ttl.choice policy asks"},
		{plain, "client:\n  ttl:\n    latch: false\n", false, "t.yaml:4", "client.ttl.latch false changes nothing: only client.ttl.choice policy asks"},
		{plain + "client:\n  provider: bedrock\n  ttl:\n    choice: policy\n", "    employee: true\n", false, "t.yaml:6", "users of first_party alone"},
		{plain + "client:\n  ttl:\n    choice: policy\n", "    latch: false\n", false, "t.yaml:5", "no event overage"},
		{plain + "client:\n  ttl:\n    choice: policy\n    employee: true\n", "    overage: true\n", false, "t.yaml:6", "an employee"},
		{plain + "client:\n  env: {FORCE_PROMPT_CACHING_5M: 1}\n", "  ttl: {choice: 1h}\n", false, "t.yaml:4", "variables of client.env decide"},
		{plain + "client:\n", "  env: {ENABLE_PROMPT_CACHING_1H_BEDROCK: 1}\n", false, "t.yaml:3", "only client.ttl.choice policy asks"},
		{plain + "client:\n", "  env: {BASH_MAX_OUTPUT_LENGTH: 10}\n", false, "t.yaml:3", "no strategy has tool-storage"},
		{plain + "client:\n", "  env: {CONTEXT_COLLAPSE: 1}\n", false, "t.yaml:3", "no document says what it does"},
		{plain + "client:\n", "  env: {CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 120}\n", false, "t.yaml:3", "ignores what does not lie in (0, 100]"},
		{plain + "client:\n", "  system: {sizes: {identity: 99}}\n", false, "t.yaml:3", "no sections"},
		{plain + "client:\n", "  system: {claude_md_tokens: 99}\n", false, "t.yaml:3", "nothing moves"},
		{plain + "client:\n", "  system: {mcp_tools: 99}\n", false, "t.yaml:3", "client.system.mcp is deferred"},
		{plain + "client:\n", "  system: {mcp_notice: 99}\n", false, "t.yaml:3", "no event connects a server"},
		{plain + "client:\n", "  system: {rendered_prompt_reuse: false}\n", false, "t.yaml:3", "no event flag_change"},
		{plain, "server: {hint_at: 9000}\n", false, "t.yaml:2", "server.hint_at 9000 changes nothing: no strategy has the layer server-hint in use"},
		{plain, "server: {bytes_per_token: 9}\n", false, "t.yaml:2", "there is no server.capacity_bytes"},
		{plain, "levels: {block: compact}\n", false, "t.yaml:2", "no strategy has the layer full-compact"},
		{"strategies: [auto-compact/167k]\n", "levels: {block: compact}\n", false, "t.yaml:2", "takes compactions by hand"},
		{plain, "summarizer: {median: 9}\n", false, "t.yaml:2", "no strategy asks the summarizer"},
		{"strategies: [auto-compact/167k]\n", "summarizer: {share: 0.5}\n", false, "t.yaml:2", "only summarizer.sizing fraction asks for it"},
		{"strategies: [auto-compact/167k]\nsummarizer:\n  sizing: fixed\n", "  sigma: 2\n", false, "t.yaml:4", "only summarizer.sizing lognormal"},
		{"strategies: [auto-compact/167k]\nsummarizer:\n  sizing: fraction\n  share: 0.1\n", "  median: 9\n", false, "t.yaml:5", "asks for summarizer.share instead"},
		{plain, "server: {delete_uncached: true}\n", false, "t.yaml:2", "no strategy has the layer cached-microcompact in use"},
		{plain + "breaks: false\n", "detector: {min_drop: 9}\n", false, "t.yaml:3", "the detector watches nothing"},
		{plain, "sessions: {organisations: session}\n", false, "t.yaml:2", "each is alone anyway"},
		{plain, "sessions: {generate: {seed: 7}}\n", false, "t.yaml:2", "sessions.generate.profile names none"},
		{plain, "client:\n  ttl: {choice: 1h}\n", true, "t.yaml:3", "client.ttl.choice 1h changes nothing: all sessions are Codex's"},
		{plain, "client:\n  env: {DISABLE_PROMPT_CACHING: 1}\n", true, "t.yaml:3", "all sessions are Codex's"},
		{plain, "client: {system: {tool_marker: last}}\n", true, "t.yaml:2", "all sessions are Codex's"},
		{plain, "server: {lookback: 2}\n", true, "t.yaml:2", "server.lookback 2 changes nothing: all sessions are Codex's"},
		{plain, "server: {lifetime_5m: [5m, 1h]}\n", true, "t.yaml:2", "server.lifetime_5m [5m, 1h] changes nothing: all sessions are Codex's"},
		{plain, "events: [{at: {round: 2}, do: mcp_disconnect}]\n", false, "t.yaml:2", "events: mcp_disconnect at round 2 changes nothing: no server is connected by then"},
		{plain, "events: [{at: {round: 99999}, do: effort}]\n", false, "t.yaml:2", "events: effort at round 99999 changes nothing: no thread it happens on has more than"},
		{plain, "events: [{at: {every: 99999}, do: effort, threads: all}]\n", false, "t.yaml:2", "every 99999 rounds"},
		{plain, "events: [{at: {tokens: 900000000}, do: effort}]\n", false, "t.yaml:2", "at 900000000 tokens changes nothing: no session has more than"},
		{plain, "events: [{at: {after: 9000h}, do: effort}]\n", false, "t.yaml:2", "after 9000h0m0s changes nothing: no session lasts longer"},
	} {
		c := samples(t, "short-fix")
		if tc.codex {
			c = asCodex(c)
		}
		list := silent(t, tc.base+tc.text, c)
		if len(list) != 1 || !strings.HasPrefix(list[0], tc.place+": ") || !strings.Contains(list[0], tc.says) {
			t.Errorf("%q: %q does not say %q at %s", tc.text, list, tc.says, tc.place)
			continue
		}
		base := tc.base
		if strings.HasSuffix(base, "client:\n") {
			base += "  {}\n"
		}
		with, without := cellRows(t, tc.base+tc.text, c), cellRows(t, base, c)
		if diff := cmp.Diff(without, with); diff != "" {
			t.Errorf("%q changes something:\n%s", tc.text, diff)
		}
	}
}

// Of settings that may have an effect nothing is said.
func TestSettingsWithAnEffectAreSilent(t *testing.T) {
	for _, text := range []string{
		"{}",
		"summarizer: {sizing: [fraction, lognormal], share: 0.5, sigma: 2}\nstrategies: [auto-compact/167k]",
		"server: {delete_uncached: true}\nstrategies: [claude-code/2026-03]",
		"client: {ttl: {choice: 1h}}",
		"client: {ttl: {choice: [recorded, policy], employee: true}}",
		"client: {ttl: {choice: policy, latch: false}}\nevents: [{at: {round: 2}, do: overage}]",
		"client: {provider: bedrock, ttl: {choice: policy}, env: {ENABLE_PROMPT_CACHING_1H_BEDROCK: 1}}",
		"client: {env: {DISABLE_COMPACT: 1}}",
		"client: {env: {CLAUDE_CODE_AUTO_COMPACT_WINDOW: 120000}}",
		"client: {env: {CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 80}}",
		"client: {system: {split: sections, sizes: {identity: 99}}}",
		"server: {capacity_bytes: 999999, bytes_per_token: 9}",
		"strategies: [{name: x, layers: [{server-hint: {}}]}]\nserver: {hint_at: 9000}",
		"strategies: [{name: x, layers: [{full-compact: {manual: true, trigger: {fixed: 150000}}}]}]\nlevels: {block: compact}",
		"levels: {block: end}",
		"summarizer: {median: 9}",
		"sessions: {cohort: all, organisations: session}",
		"seed: 7",
		"events: [{at: {round: 1}, do: effort}]",
		"events: [{at: {tokens: 9000}, do: effort}, {at: {after: 1s}, do: effort}]",
	} {
		if list := silent(t, text, samples(t, "short-fix")); len(list) > 0 {
			t.Errorf("%s: %q", text, list)
		}
	}
	for _, text := range []string{
		"client: {version: 2.1.17}", "client: {window: 100000}", "client: {count: {tool_input_bytes: 2}}",
		"server: {evict_per_call: 0.1, anchor: start}",
		"strategies: [{name: x, layers: [{keepalive: {}}]}]\nclient: {ttl: {choice: 1h}}",
	} {
		if list := silent(t, text, asCodex(samples(t, "short-fix"))); len(list) > 0 {
			t.Errorf("%s: %q", text, list)
		}
	}
}
