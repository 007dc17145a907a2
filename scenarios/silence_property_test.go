package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Nothing that a shipped scenario sets is in vain on the sessions it is for: its
// own, or the samples.
func TestShippedScenariosSetNothingInVain(t *testing.T) {
	builtins, err := Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range claimFiles(t) {
		builtins = append(builtins, Builtin{Name: f.name, Text: f.scenario})
	}
	for _, b := range builtins {
		d := expand(t, string(b.Text))
		c := madeSessions(t, d.Scenario.Sessions.Paths...)
		if len(c.Sessions) == 0 {
			c = samples(t)
		}
		list, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Silent(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		// What a document says is written out, even where it is what sessions have.
		list = slices.DeleteFunc(list, func(text string) bool {
			return strings.Contains(text, "client.window") || strings.Contains(text, "server.anchor")
		})
		if len(list) > 0 {
			t.Errorf("%s: %q", b.Name, list)
		}
	}
}

// settable are assignments of all parts of a scenario, several of a key.
var settable = []string{
	"sessions.cohort=project", "sessions.cohort=all", "sessions.organisations=session", "sessions.utc=true",
	"client.version=1.0.62", "client.version=2.1.1", "client.version=2.1.17", "client.version=2.1.40",
	"client.window=180000", "client.window=200000", "client.provider=bedrock", "client.provider=third_party",
	"client.windows.capability=true", "client.windows.beta_1m=true", "client.windows.small_auto_window_off=true",
	"client.system.split=sections", "client.system.sizes.uncached=0", "client.system.sizes.identity=30", "client.system.tool_marker=last",
	"client.system.mcp=prefix", "client.system.mcp_tools=100", "client.system.mcp_notice=9", "client.system.billing_header_in_key=true",
	"client.system.billing_header_in_key=false", "client.system.memoised=false", "client.system.uncached_change=0.5",
	"client.system.rendered_prompt_reuse=false", "client.system.claude_md=system", "client.system.claude_md_tokens=10",
	"client.ttl.choice=5m", "client.ttl.choice=1h", "client.ttl.choice=policy", "client.ttl.choice=policy", "client.ttl.source=sdk",
	"client.ttl.employee=true", "client.ttl.subscriber=false", "client.ttl.overage=true", "client.ttl.allow=[sdk]", "client.ttl.allow=[]",
	"client.ttl.latch=false",
	"client.count.canonical=input_only", "client.count.trailing=true", "client.count.trailing=false", "client.count.string_is_free=false",
	"client.count.padded=true", "client.count.padded=false", "client.count.tool_input_bytes=2", "client.count.documents=bytes",
	"client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=120000", "client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=900000",
	"client.env.CLAUDE_CODE_MAX_CONTEXT_TOKENS=190000", "client.env.CLAUDE_CODE_DISABLE_1M_CONTEXT=1",
	"client.env.CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS=10", "client.env.BASH_MAX_OUTPUT_LENGTH=100", "client.env.MAX_MCP_OUTPUT_TOKENS=100",
	"client.env.MAX_MCP_OUTPUT_TOKENS=9000", "client.env.ENABLE_PROMPT_CACHING_1H=1", "client.env.ENABLE_PROMPT_CACHING_1H_BEDROCK=1",
	"client.env.FORCE_PROMPT_CACHING_5M=1", "client.env.FORCE_PROMPT_CACHING_5M=0", "client.env.CLAUDE_CODE_PROMPT_CACHE_TTL=1h",
	"client.env.CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=1h", "client.env.DISABLE_PROMPT_CACHING=1", "client.env.DISABLE_PROMPT_CACHING_OPUS=1",
	"client.env.DISABLE_PROMPT_CACHING_HAIKU=1", "client.env.USER_TYPE=ant", "client.env.DISABLE_COMPACT=1", "client.env.DISABLE_AUTO_COMPACT=1",
	"server.lookback=1", "server.max_markers=1", "server.max_markers=2", "server.max_markers=3", "server.lifetime_5m=30s", "server.lifetime_1h=90m",
	"server.ttl_in_key=true", "server.delete_uncached=true", "server.evict_per_call=0.5", "server.hint_at=9000", "server.bytes_per_token=9",
	"summarizer.median=900", "summarizer.sigma=2", "summarizer.share=0.5", "summarizer.sizing=fixed", "summarizer.fail_as=API error",
	"summarizer.fail_calls=[1]", "summarizer.failures.fork.api=1", "summarizer.failures.streaming.api=1", "summarizer.bytes_per_token=1",
	"profile=none", "latency.output_rate=10", "levels.block=compact", "levels.block=end", "prices.as.nobody=claude-opus-4-6",
	"breaks=false", "detector.deleted_baseline=false", "seed=7",
}

// A setting that is said to change nothing changes nothing: without it, and without
// all of them, the rows are the same, whatever else is set. Where none is named each
// changes something.
func TestSilentSettingsAreSilentInAnyCompany(t *testing.T) {
	outer := t
	r, table := registry(t), prices(t)
	rows := func(t *rapid.T, strategy string, set []string, c *traces.Corpus) ([][]*results.Row, []string, bool) {
		f, err := newFile(r, Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Choose("test", []string{strategy}); err != nil {
			t.Fatal(err)
		}
		for _, s := range set {
			if f.Assign(s) != nil {
				return nil, nil, false
			}
		}
		d, err := f.Expand()
		if err != nil {
			return nil, nil, false // they contradict each other
		}
		p := Plan{Registry: r, Prices: table, Design: d}
		list, err := p.Silent(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		run, err := p.Run(context.Background(), c)
		if err != nil {
			return nil, nil, false
		}
		var out [][]*results.Row
		for i := range run.Cells {
			out = append(out, run.Cells[i].Rows)
		}
		return out, list, true
	}
	rapid.Check(t, func(t *rapid.T) {
		c := madeSessions(outer, rapid.SampledFrom([]string{"full-window", "siblings", "turns", "organisations", "long-pause"}).Draw(t, "sessions"))
		if rapid.IntRange(0, 3).Draw(t, "agent") == 0 {
			c = asCodex(c)
		}
		strategy := rapid.SampledFrom([]string{"none", "auto-compact/167k", "claude-code/2026-03", "keepalive", "coordinator"}).Draw(t, "strategy")
		set := rapid.SliceOfNDistinct(rapid.SampledFrom(settable), 1, 6, func(s string) string { path, _, _ := strings.Cut(s, "="); return path }).Draw(t, "set")
		with, list, ok := rows(t, strategy, set, c)
		if !ok {
			t.Skip("not to be run")
		}
		without := slices.Clone(set)
		for _, text := range list {
			i := slices.IndexFunc(without, func(s string) bool {
				path, _, _ := strings.Cut(s, "=")
				return strings.Contains(text, "--set "+path+"=")
			})
			if i < 0 {
				t.Fatalf("%q is of none of %q", text, set)
			}
			without = slices.Delete(without, i, i+1)
			less, _, ok := rows(t, strategy, without, c)
			if diff := cmp.Diff(less, with); ok && diff != "" {
				t.Fatalf("%q, but of %q it changes:\n%s", text, set, diff)
			}
		}
		if len(list) > 0 {
			return // what is left may need what was named
		}
		i := rapid.IntRange(0, len(set)-1).Draw(t, "one")
		less, _, ok := rows(t, strategy, slices.Delete(slices.Clone(set), i, i+1), c)
		if ok && cmp.Equal(less, with) {
			t.Fatalf("nothing is said of %s, which changes nothing in %q", set[i], set)
		}
	})
}
