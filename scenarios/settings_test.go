package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// Every parameter that a variable sets exists.
func TestVariablesSetParameters(t *testing.T) {
	r := scenariostest.Registry(t)
	all := client.Assembly{Env: client.Env{
		AutocompactPct: "80", DisableCompact: "1", DisableAutoCompact: "1", IdleMinTokens: "1", BashMaxOutput: "1", MCPMaxOutput: "1",
		Features: client.Features{
			SessionMemory: "1", SessionCompact: "1", Dream: "1", MemoryExtraction: "1", TimeMicrocompact: "1", CachedMicrocompact: "1",
		},
	}}
	list := settings(&all)
	for _, s := range list {
		def, ok := r.Definition(s.layer)
		if !ok {
			t.Errorf("no layer %s", s.layer)
			continue
		}
		if err := spec.CheckPath(def.Params(), strings.Split(s.path, ".")...); err != nil {
			t.Errorf("%s: %v", s.layer, err)
		}
	}
	if len(list) < 10 || len(settings(&client.Assembly{})) != 0 {
		t.Errorf("%d settings of all variables, %d of none", len(list), len(settings(&client.Assembly{})))
	}
}

// envLayer returns a parameter of a layer of the strategy named x of a scenario, as
// YAML, and "" when there is no such layer.
func envLayer(t *testing.T, text, layer, path string) string {
	t.Helper()
	d := expand(t, text)
	i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name == "x" })
	body, err := d.Cells[i].Strategy.YAML()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := spec.Parse(body, "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layersOf(tree.Root) {
		if l.key.Value == layer {
			return spec.Flow(spec.Find(l.params, strings.Split(path, ".")...))
		}
	}
	return ""
}

// What variables make of the layers of a strategy.
func TestVariablesChangeLayers(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const layers = `
strategies:
  - name: x
    layers:
      - full-compact: {trigger: {fixed: 150000}, manual: true, auto: true}
      - microcompact: {trigger: {fixed: 100000}}
      - tool-storage: {}
      - session-memory: {trigger: {fixed: 150000}}
      - dream: {}
      - memory-extraction: {}
      - time-microcompact: {enabled: false}
      - cached-microcompact: {}
client:
  env: {`
	for _, tc := range []struct{ env, layer, path, want string }{
		{"", "full-compact", "auto", "true"},
		{"DISABLE_AUTO_COMPACT: 1", "full-compact", "auto", "false"},
		{"DISABLE_AUTO_COMPACT: 1", "full-compact", "manual", "true"},
		{"DISABLE_AUTO_COMPACT: 1", "microcompact", "enabled", "true"},
		{"DISABLE_AUTO_COMPACT: 0", "full-compact", "auto", "true"},
		{"DISABLE_COMPACT: true", "full-compact", "enabled", "false"},
		{"DISABLE_COMPACT: true", "microcompact", "enabled", "false"},
		{"DISABLE_COMPACT: true", "tool-storage", "enabled", "true"},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 70", "full-compact", "trigger.pct_override", "70"},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 70", "microcompact", "trigger.pct_override", "70"},
		{"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS: 120000", "full-compact", "idle.min_tokens", "120000"},
		{"CONTEXT_COLLAPSE: 1", "full-compact", "auto", "false"}, // 003:2017
		{"CONTEXT_COLLAPSE: 1", "full-compact", "manual", "true"},
		{"CONTEXT_COLLAPSE: 0", "full-compact", "auto", "true"},
		{"tengu_session_memory: 0", "session-memory", "enabled", "false"}, // 003:1975-1985
		{"tengu_session_memory: 1", "session-memory", "enabled", "true"},
		{"tengu_sm_compact: 0", "session-memory", "compact", "false"},
		{"CONTEXT_COLLAPSE: 1", "session-memory", "compact", "false"},
		{"tengu_onyx_plover: 0", "dream", "enabled", "false"},
		{"tengu_passport_quail: 0", "memory-extraction", "enabled", "false"},
		{"tengu_slate_heron: 1", "time-microcompact", "enabled", "true"},
		{"CACHED_MICROCOMPACT: 0", "cached-microcompact", "enabled", "false"},
		{"mc_disabled: 1", "microcompact", "enabled", "false"}, // 001:1354-1375
		{"mc_disabled: 0", "microcompact", "enabled", "true"},
		{"mc_disabled: 1", "full-compact", "auto", "true"},
		{`tengu_satin_quoll: '{"Bash": 20000, "Grep": 9000}'`, "tool-storage", "limits.tools.Bash", "20000"}, // 003:845
		{`tengu_satin_quoll: '{"Bash": 20000, "Grep": 9000}'`, "tool-storage", "limits.tools.Grep", "9000"},
		{`tengu_satin_quoll: '{"WebFetch": 7000, "mcp__a.b__c": 6000}'`, "tool-storage", "limits.tools.WebFetch", "7000"},
		{`tengu_satin_quoll: '{"WebFetch": 7000, "bash": 1000}'`, "tool-storage", "limits.bash", "30000"}, // a tool of another name
		{`tengu_satin_quoll: '{"WebFetch": 1200}'`, "tool-storage", "preview", "1200"},
		{`tengu_satin_quoll: '{"mcp": 1500}'`, "tool-storage", "limits.mcp", "1500"},
		{`tengu_satin_quoll: '{"mcp": 1500}'`, "tool-storage", "preview", "1500"},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 80abc", "full-compact", "trigger.pct_override", "80"}, // parseFloat
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: ' 8e1 %'", "full-compact", "trigger.pct_override", "80"},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: abc", "full-compact", "trigger.pct_override", "0"},
		{"BASH_MAX_OUTPUT_LENGTH: 8000", "tool-storage", "limits.bash", "8000"},
		{"BASH_MAX_OUTPUT_LENGTH: 100000", "tool-storage", "limits.bash", "30000"}, // it only lowers (runs of 2.1.62 to 2.1.332)
		{"MAX_MCP_OUTPUT_TOKENS: 25000", "tool-storage", "limits.mcp", "100000"},   // 4 bytes a token
	} {
		if got := envLayer(t, layers+tc.env+"}\n", tc.layer, tc.path); got != tc.want {
			t.Errorf("%s: %s.%s is %s, want %s", tc.env, tc.layer, tc.path, got, tc.want)
		}
	}
	// From 2.1.221 on a window below 200,000 switches it off in silence (E3).
	for env, want := range map[string]string{"150000": "false", "250000": "true"} {
		text := layers + "CLAUDE_CODE_AUTO_COMPACT_WINDOW: " + env + "}\n  windows: {small_auto_window_off: true}\n"
		if got := envLayer(t, text, "full-compact", "auto"); got != want {
			t.Errorf("thresholds at %s with the bug: auto is %s", env, got)
		}
	}
	if got := envLayer(t, layers+"CLAUDE_CODE_AUTO_COMPACT_WINDOW: 150000}\n", "full-compact", "auto"); got != "true" {
		t.Errorf("thresholds at 150,000 without the bug: auto is %s", got)
	}
	// Per cent that the client ignores.
	if got := envLayer(t, layers+"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 101}\n", "full-compact", "trigger.pct_override"); got != "0" {
		t.Errorf("101 per cent is taken for %s", got)
	}
}

// 200k at 80 % is 160k in version 1, whose share is of the whole window
// (001:240), and 144k behind a reserve of 20k (E3); 95 % of 180k is above
// 167k and lowers nothing.
func TestPercentOverride(t *testing.T) {
	const first, later = "{reserve: 13000}", "{reserve: 13000, reserve_output: true, output_cap: 20000}"
	for _, tc := range []struct {
		trigger, percent string
		want             int64
	}{
		{first, "80", 160_000},
		{later, "80", 144_000},
		{later, "95", 167_000},
		{later, "0", 167_000},
	} {
		d := expand(t, "strategies: [{name: x, layers: [{full-compact: {trigger: "+tc.trigger+"}}]}]\nclient: {env: {CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "+tc.percent+"}}")
		p := envCompact(t, d)
		tr := p.Fires()
		if got, _ := tr.Value(&strategies.Reading{Window: 200_000, MaxOutput: 32_000}); got != tc.want {
			t.Errorf("%s at %s %%: %d, want %d", tc.trigger, tc.percent, got, tc.want)
		}
	}
}

// envCompact returns the parameters of full-compact of the strategy x.
func envCompact(t *testing.T, d *Design) *strategies.CompactParams {
	t.Helper()
	p, ok := d.Cells[len(d.Cells)-1].Strategy.Params(standard.Compact).(strategies.CompactParams)
	if !ok {
		t.Fatal("no full-compact")
	}
	return &p
}

// A variable is swept like other parameters, and the runs differ: at 90k the
// sample compacts by itself, with the variable it does not.
func TestVariablesAreSwept(t *testing.T) {
	d := expand(t, `
strategies:
  - {name: x, preset: auto-compact/167k, set: {full-compact.trigger: {measure: client_tokens, fixed: 90000}, full-compact.manual: false, full-compact.reactive: false}}
client: {env: {DISABLE_AUTO_COMPACT: [0, 1]}}
`)
	r := run(t, d)
	got := map[string]int{}
	for _, c := range r.Cells {
		got[c.Cell] = c.Total.N(measures.Compactions)
	}
	on, off := got["x client.env.DISABLE_AUTO_COMPACT=0"], got["x client.env.DISABLE_AUTO_COMPACT=1"]
	if on == 0 || off != 0 || len(got) != 5 {
		t.Errorf("compactions by cell %v", got)
	}
}

// What a scenario says of the client reaches the loop: every field, and the events.
func TestClientReachesTheLoop(t *testing.T) {
	d := expand(t, `
strategies: [none]
client:
  provider: third_party
  system: {split: sections, sizes: {static: 2000}, tool_marker: last}
  ttl: {choice: policy, latch: false}
  count: {canonical: input_only}
  env: {FORCE_PROMPT_CACHING_5M: 1}
events:
  - {at: {round: 3}, do: mcp_connect, value: 5000}
  - {at: {after: 30m}, do: effort, value: high, threads: all}
`)
	plan := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}
	c, err := plan.config(&d.Cells[len(d.Cells)-1])
	if err != nil {
		t.Fatal(err)
	}
	want := client.DefaultAssembly()
	want.Provider = "third_party"
	want.System.Split, want.System.Sizes.Static, want.System.ToolMarker = "sections", 2000, "last"
	want.TTL.Choice, want.TTL.Latch = "policy", false
	want.Count.Canonical = "input_only"
	want.Env.Force5m = "1"
	if diff := cmp.Diff(want, *c.Assembly); diff != "" {
		t.Errorf("assembly (-want +got):\n%s", diff)
	}
	events := []client.Event{
		{At: client.When{Round: 3}, Do: "mcp_connect", Value: "5000"},
		{At: client.When{After: 30 * 60 * 1e9}, Do: "effort", Value: "high", Threads: "all"},
	}
	if diff := cmp.Diff(events, c.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := d.switches(); got["client.system.split"] != "sections" || got["client.system"] != "" || got["events"] == "" {
		t.Errorf("a report would tell of %v", got)
	}
}

// Events and variables resolve to a scenario that runs again to the same rows,
// and events change the rows.
func TestClientRunsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const text = "strategies: [none]\nevents: [{at: {every: 7}, do: effort}, {at: {tokens: 30000}, do: model, value: claude-sonnet-4-5}]\n"
	d := expand(t, text)
	resolved, err := d.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	a, b := rowsOf(t, text), rowsOf(t, string(resolved))
	if _, again, _ := strings.Cut(b, "\n"); !strings.HasSuffix(a, again) || a == rowsOf(t, "strategies: [none]") {
		t.Error("the resolved scenario gives other rows, or events none")
	}
	const env = "strategies: [auto-compact/167k]\nclient: {env: {CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: [40, 60], FORCE_PROMPT_CACHING_5M: 1}}\n"
	if resolved, err = expand(t, env).Resolved(); err != nil {
		t.Fatal(err)
	}
	a, b = rowsOf(t, env), rowsOf(t, string(resolved))
	if _, again, _ := strings.Cut(b, "\n"); !strings.HasSuffix(a, again) {
		t.Error("the resolved scenario of variables gives other rows")
	}
	r := run(t, d)
	if i := slices.IndexFunc(r.Cells, func(c results.Cell) bool { return c.Strategy == "none" }); r.Cells[i].Total.N(measures.HeadChanges) < 5 {
		t.Errorf("%d changes of the head", r.Cells[i].Total.N(measures.HeadChanges))
	}
}

// A model without a price would cost nothing: that is an error, with the nearest
// name.
func TestEventModelNeedsAPrice(t *testing.T) {
	d := expand(t, "strategies: [none]\nevents: [{at: {round: 2}, do: model, value: claude-sonet-4-5}]")
	_, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), scenariostest.Samples(t, "short-fix"))
	if err == nil || !strings.Contains(err.Error(), "claude-sonet-4-5") {
		t.Errorf("error %v", err)
	}
}
