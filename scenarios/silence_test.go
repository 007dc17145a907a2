package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/spec"
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
	list, err := p.Silent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// cellRows returns the rows of a scenario by cell, those of cells that follow each
// other and have the same once.
func cellRows(t *testing.T, text string, c *traces.Corpus) [][]*results.Row {
	t.Helper()
	p := Plan{Registry: registry(t), Prices: prices(t), Design: expand(t, text)}
	run, err := p.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]*results.Row
	for i := range run.Cells {
		rows = append(rows, run.Cells[i].Rows)
	}
	return slices.CompactFunc(rows, func(a, b []*results.Row) bool { return cmp.Equal(a, b) })
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
		{plain + "client:\n", "  env: {HISTORY_SNIP: 1}\n", false, "t.yaml:3", "no document says what it does"},
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
		{plain, "events: [{at: {round: 2}, do: skill}]\n", false, "t.yaml:2", "skill at round 2 changes nothing: it adds no tokens: give it a value"},
		{plain, "events: [{at: {round: 2}, do: fast_mode, value: off}]\n", false, "t.yaml:2", "the client never takes it back"},
		{plain, "events: [{at: {round: 2}, do: web_search, value: off}]\n", false, "t.yaml:2", "so it is: no other event web_search"},
		{plain, "events: [{at: {round: 2}, do: effort, value: default}]\n", false, "t.yaml:2", "so it is: no other event effort"},
		{plain, "events: [{at: {round: 2}, do: model, value: claude-opus-4-6}]\n", false, "t.yaml:2", "all sessions are on that model"},
		{plain, "events: [{at: {round: 2}, do: claude_md_edit}]\n", false, "t.yaml:2", "nothing compacts; with client.system.memoised false"},
		{plain, "sessions: {utc: true}\n", false, "t.yaml:2", "there is no sessions.since"},
		{plain, "sessions: {cohort: all}\n", false, "t.yaml:2", "the only one of its agent"},
		{plain, "sessions: {cohort: project}\n", false, "t.yaml:2", "the only one of its agent and project"},
		{plain + "sessions:\n  cohort: all\n", "  organisations: session\n", false, "t.yaml:4", "no two sessions share a clock"},
		{plain, "client: {version: 2.1.99}\n", false, "t.yaml:2", "client.version 2.1.99 changes nothing: the versions of the sessions place markers"},
		{plain, "client: {version: 1.0.62}\n", true, "t.yaml:2", "whose client has versions of its own"},
		{plain, "client: {provider: bedrock}\n", false, "t.yaml:2", "only client.system.split sections and client.ttl.choice policy go by it"},
		{plain, "client: {windows: {beta_1m: true}}\n", false, "t.yaml:2", "client.windows.beta_1m true changes nothing: no session is with a model that takes the header"},
		{plain + "client:\n  window: 150000\n", "  windows: {capability: true}\n", false, "t.yaml:4", "client.window sets the window"},
		{plain, "client: {windows: {small_auto_window_off: true}}\n", false, "t.yaml:2", "CLAUDE_CODE_AUTO_COMPACT_WINDOW is not set below 200,000"},
		{plain + "client:\n  env: {CLAUDE_CODE_AUTO_COMPACT_WINDOW: 150000}\n", "  windows: {small_auto_window_off: true}\n", false, "t.yaml:4", "no strategy has full-compact or session-memory"},
		{plain, "client: {system: {billing_header_in_key: false}}\n", false, "t.yaml:2", "client.system.split is none"},
		{plain + "client:\n  system:\n    split: sections\n", "    billing_header_in_key: false\n", false, "t.yaml:5", "so it is with that client.provider"},
		{plain, "client: {system: {mcp: prefix}}\n", false, "t.yaml:2", "no server is connected"},
		{plain, "client: {system: {memoised: false}}\n", false, "t.yaml:2", "nothing memoised changes"},
		{plain + "client:\n  system:\n    split: sections\n    sizes: {uncached: 0}\n", "    uncached_change: 0.5\n", false, "t.yaml:6", "there is no uncached section"},
		{plain, "client: {ttl: {choice: 5m}}\n", false, "t.yaml:2", "client.ttl.choice 5m changes nothing: all calls ask for 5m without it too"},
		{plain + "client:\n  ttl:\n    choice: policy\n", "    employee: true\n", false, "t.yaml:5", "all calls ask for 1h without it too"},
		{plain, "client: {env: {FORCE_PROMPT_CACHING_5M: 1}}\n", false, "t.yaml:2", "all calls ask for 5m without it too"},
		{plain, "client: {env: {FORCE_PROMPT_CACHING_5M: 0}}\n", false, "t.yaml:2", "off is what it is when it is not set"},
		{plain, "client: {env: {CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL: 1h}}\n", false, "t.yaml:2", "no session has sub-agents"},
		{plain, "client: {env: {DISABLE_PROMPT_CACHING_HAIKU: 1}}\n", false, "t.yaml:2", "no call goes to a model with haiku in its name"},
		{plain, "client: {env: {CLAUDE_CODE_DISABLE_1M_CONTEXT: 1}}\n", false, "t.yaml:2", "no session has a window above 200,000 tokens"},
		{plain, "client: {env: {CLAUDE_CODE_AUTO_COMPACT_WINDOW: 900000}}\n", false, "t.yaml:2", "no session has a larger window"},
		{plain, "client: {env: {CLAUDE_CODE_MAX_CONTEXT_TOKENS: 200000}}\n", false, "t.yaml:2", "it is for windows of 200,000 tokens at most"},
		{"strategies: [auto-compact/167k]\n", "client: {env: {CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS: 9}}\n", false, "t.yaml:2", "full-compact with idle.enabled"},
		{"strategies: [tool-storage]\n", "client: {env: {MAX_MCP_OUTPUT_TOKENS: 9000}}\n", false, "t.yaml:2", "no session has a result of an MCP tool"},
		{plain, "client: {count: {documents: bytes}}\n", false, "t.yaml:2", "client.count.documents bytes changes nothing: no session has a document"},
		{plain, "client: {count: {documents: [fixed, bytes]}}\n", true, "t.yaml:2", "no session has a document"},
		{plain, "client: {count: {trailing: true}}\n", false, "t.yaml:2", "the clients of all sessions count so by themselves"},
		{plain, "server: {max_markers: 2}\n", false, "t.yaml:2", "no request carries more than 2"},
		{plain, "server: {lifetime_1h: 2h}\n", false, "t.yaml:2", "server.lifetime_1h 2h changes nothing: no call asks for 1h; client.ttl.choice 1h makes them"},
		{plain + "client: {ttl: {choice: 1h}}\n", "server: {lifetime_5m: 6m}\n", false, "t.yaml:3", "no call asks for 5m"},
		{plain, "server: {ttl_in_key: true}\n", false, "t.yaml:2", "all calls ask for 5m, so that there are no entries of another lifetime"},
		{plain, "seed: [2, 3]\n", false, "t.yaml:2", "seed [2, 3] changes nothing: nothing is drawn"},
		{plain, "latency: {output_rate: 9}\n", false, "t.yaml:2", "no strategy makes calls of its own"},
		{plain, "detector: {deleted_baseline: false}\n", false, "t.yaml:2", "no strategy has the layer cached-microcompact in use"},
		{plain, "prices: {as: {nobody: claude-opus-4-6}}\n", false, "t.yaml:2", "prices.as.nobody claude-opus-4-6 changes nothing: no session has a model of that name"},
		{"strategies: [auto-compact/167k]\n", "summarizer: {fail_as: API error}\n", false, "t.yaml:2", "there are no summarizer.fail_calls"},
		{"strategies: [auto-compact/167k]\n", "summarizer: {failures: {small-model: {api: 1}}}\n", false, "t.yaml:2", "no strategy makes a summary call in that way"},
	} {
		c := samples(t, "short-fix")
		if tc.codex {
			c = asCodex(c)
		}
		base := tc.base
		if strings.HasSuffix(base, "client:\n") {
			base += "  {}\n"
		}
		before := silent(t, base, c)
		list := slices.DeleteFunc(silent(t, tc.base+tc.text, c), func(text string) bool { return slices.Contains(before, text) })
		if len(list) != 1 || !strings.HasPrefix(list[0], tc.place+": ") || !strings.Contains(list[0], "changes nothing") {
			t.Errorf("%q: %q does not say %q at %s", tc.text, list, tc.says, tc.place)
			continue
		}
		with, without := cellRows(t, tc.base+tc.text, c), cellRows(t, base, c)
		if diff := cmp.Diff(without, with); diff != "" {
			t.Errorf("%q changes something:\n%s", tc.text, diff)
		}
	}
}

// Settings that have an effect are not named.
func TestSettingsWithAnEffectAreSilent(t *testing.T) {
	for _, text := range []string{
		"{}",
		"client: {ttl: {choice: 1h}}",
		"client: {ttl: {choice: [recorded, policy]}}",
		"client: {ttl: {choice: policy, latch: false}}\nevents: [{at: {round: 2}, do: overage}]",
		"client: {env: {DISABLE_COMPACT: 1}}",
		"client: {env: {CLAUDE_CODE_AUTO_COMPACT_WINDOW: 120000}}",
		"client: {env: {CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 80}}",
		"strategies: [{name: x, layers: [{server-hint: {}}]}]\nserver: {hint_at: 9000}",
		"client: {version: [2.1.1, 2.1.99]}",
		"server: {max_markers: 1}",
		"strategies: [none]\nclient: {window: 20000}\noverflow: end",
		"client: {windows: {capability: true}}",
		"client: {windows: {small_auto_window_off: true}, env: {CLAUDE_CODE_AUTO_COMPACT_WINDOW: 120000}}",
		"client: {count: {padded: true, string_is_free: false}}",
		"client: {system: {split: sections}, provider: bedrock}",
		"client: {env: {DISABLE_PROMPT_CACHING_OPUS: 1}}",
		"client: {system: {split: sections}}\nserver: {max_markers: 2}",
		"strategies: [none]\nserver: {evict_per_call: 0.5}\nseed: 7",
		"events: [{at: {round: 2}, do: web_search}, {at: {round: 3}, do: web_search, value: off}]",
		"events: [{at: {round: 2}, do: skill, value: 9}]",
		"events: [{at: {round: 2}, do: model, value: claude-haiku-4-5}, {at: {round: 3}, do: model, value: claude-opus-4-6}]",
	} {
		if list := silent(t, text, samples(t, "short-fix")); len(list) > 0 {
			t.Errorf("%s: %q", text, list)
		}
	}
	for _, text := range []string{"client: {window: 100000}", "server: {evict_per_call: 0.1}"} {
		if list := silent(t, text, asCodex(samples(t, "short-fix"))); len(list) > 0 {
			t.Errorf("%s: %q", text, list)
		}
	}
}

// Of two settings that do the same one is named, not both: without both the rows
// are others.
func TestOneOfTwoSettingsIsSilent(t *testing.T) {
	c := samples(t, "short-fix")
	list := silent(t, "strategies: [none]\nclient: {ttl: {choice: 1h}, env: {ENABLE_PROMPT_CACHING_1H: 1}}", c)
	if len(list) != 1 || !strings.Contains(list[0], "client.ttl.choice") {
		t.Errorf("%q", list)
	}
	list = silent(t, "strategies: [none]\nclient: {env: {DISABLE_PROMPT_CACHING: 1, DISABLE_PROMPT_CACHING_OPUS: 1}}", c)
	if len(list) != 1 || !strings.Contains(list[0], "DISABLE_PROMPT_CACHING") {
		t.Errorf("%q", list)
	}
}

// What flags set in layers is tried too.
func TestSilentSettingsOfLayers(t *testing.T) {
	f, err := Parse(registry(t), []byte("strategies: [auto-compact/167k]\n"), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"full-compact.trigger.fixed=150000", "full-compact.idle.min_tokens=9"} {
		if err := f.Assign(set); err != nil {
			t.Fatal(err)
		}
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	list, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Silent(t.Context(), samples(t, "short-fix"))
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0], "--set full-compact.idle.min_tokens=9 changes nothing") {
		t.Errorf("%q, %v", list, err)
	}
}

// A flag that leaves some of the values that a file sweeps has an effect: the other cells are gone.
func TestFewerValuesAreNotSilent(t *testing.T) {
	text := "strategies:\n  - {name: x, preset: auto-compact/167k, set: {full-compact.trigger.fixed: [60000, 70000, 80000]}}\n"
	f, err := Parse(registry(t), []byte(text), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Assign("full-compact.trigger.fixed=[60000, 80000]"); err != nil {
		t.Fatal(err)
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	list, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Silent(t.Context(), samples(t, "short-fix"))
	if err != nil || len(list) > 0 || len(d.Cells) != 3 { // with recorded
		t.Errorf("%q, %d cells, %v", list, len(d.Cells), err)
	}
}

// Silent names a sample of a large corpus as such.
func TestSilentSettingsOfASample(t *testing.T) {
	one := samples(t, "short-fix").Sessions[0]
	many := &traces.Corpus{}
	for i := range 400 {
		s := *one
		s.ID = fmt.Sprint("s", i)
		many.Sessions = append(many.Sessions, &s)
	}
	list := silent(t, "summarizer: {median: 9}", many)
	if len(list) != 1 || !strings.HasSuffix(list[0], "on the 100 of 400 sessions it was tried on") {
		t.Errorf("%q", list)
	}
}

// What a tag needs exists: a parameter beside it or of the scenario, a layer, or a
// parameter of a layer.
func TestNeedsLeadToParameters(t *testing.T) {
	r := registry(t)
	check := func(v any, prefix string) {
		spec.Fields(v, func(f *spec.Field) {
			for need := range strings.SplitSeq(needsOf(v, prefix, f.Path), "|") {
				path, _, _ := strings.Cut(need, "=")
				if path == "" {
					continue
				}
				keys := strings.Split(path, ".")
				def, layer := r.Definition(keys[0])
				ok := layer && (len(keys) == 1 || spec.CheckPath(def.Params(), keys[1:]...) == nil)
				if !ok && spec.CheckPath(Scenario{}, keys...) != nil {
					t.Errorf("%s %s needs %s, which is not there", prefix, f.Path, path)
				}
			}
		})
	}
	check(Default(), "")
	for _, name := range r.Layers() {
		def, _ := r.Definition(name)
		check(def.Params(), name)
	}
}

// Trials end with their context.
func TestSilentCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := Plan{Registry: registry(t), Prices: prices(t), Design: expand(t, "strategies: [recorded]\nseed: 7\n")}
	if list, err := p.Silent(ctx, samples(t, "short-fix")); !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", list, err)
	}
}
