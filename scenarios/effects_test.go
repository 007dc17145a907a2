package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/scenarios/builtin"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
)

// assigned returns the cells of strategies under assignments; false when these contradict each other.
func assigned(t testing.TB, strategies string, set ...string) (*Design, bool) {
	t.Helper()
	f, err := Parse(scenariostest.Registry(t), []byte("strategies: ["+strategies+"]\n"), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set {
		if f.Assign(s) != nil {
			return nil, false
		}
	}
	d, err := f.Expand()
	return d, err == nil
}

// cellRows returns the rows of cells. Where cells that follow each other have the same rows, it returns the rows once.
func cellRows(t testing.TB, d *Design, c *traces.Corpus) [][]*results.Row {
	t.Helper()
	p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}
	run, err := p.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]*results.Row
	for i := range run.Cells {
		rows = append(rows, run.Cells[i].Rows.List())
	}
	return slices.CompactFunc(rows, func(a, b []*results.Row) bool { return cmp.Equal(a, b) })
}

// A setting whose conditions no cell meets is named with what it needs; where one cell meets them nothing is said.
func TestUnmetSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const compact = "auto-compact/167k"
	for _, tc := range []struct {
		strategies, set, needs string
		under, met             string // a strategy and a setting that meet the conditions
	}{
		{"none", "client.ttl.employee=true", "client.ttl.choice policy", "none", "client.ttl.choice=[5m, policy]"},
		{"none", "client.env.BASH_MAX_OUTPUT_LENGTH=10", "tool-storage", "none, tool-storage", "seed=1"},
		{"none", "client.system.sizes.identity=99", "client.system.split sections", "none", "client.system.split=sections"},
		{"none", "server.hint_at=[9000, 9001]", "server-hint", "{name: x, layers: [{server-hint: {}}]}", "seed=1"},
		{"none", "sessions.organisations=session", "sessions.cohort project or sessions.cohort all", "none", "sessions.cohort=all"},
		{"none", "sessions.generate.seed=7", "sessions.generate.profile", "none", "sessions.generate.profile=chat"},
		{"none", "detector.min_drop=9", "", "none", "seed=1"}, // breaks are watched unless a scenario says otherwise
		{compact, "full-compact.trigger.count=parts", "full-compact.trigger.measure messages or full-compact.trigger.per_message", compact, "full-compact.trigger.per_message=9"},
		{compact, "full-compact.keep.count=parts", "full-compact.keep.first or full-compact.keep.messages or full-compact.keep.by_count or full-compact.keep.reach or full-compact.keep.least", compact, "full-compact.keep.messages=9"},
		{compact, "full-compact.keep.pairs_go=true", "full-compact.keep.rounds or full-compact.keep.messages or full-compact.keep.prompts or full-compact.keep.tokens or full-compact.keep.share or full-compact.keep.window", compact, "full-compact.keep.messages=9"},
		{compact, "summarizer.share=0.5", "summarizer.sizing fraction", compact, "summarizer.sizing=fraction"},
		{compact, "summarizer.fail_as=API error", "summarizer.fail_calls", compact, "summarizer.fail_calls=[1]"},
		{compact, "full-compact.idle.min_tokens=9", "full-compact.idle.enabled", compact, "full-compact.idle.enabled=true"},
	} {
		d, ok := assigned(t, tc.strategies, tc.set)
		if !ok {
			t.Fatalf("%s is no setting", tc.set)
		}
		var want []string
		if tc.needs != "" {
			want = []string{"--set " + tc.set + " changes nothing: it needs " + tc.needs}
		}
		if got := d.Unmet(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tc.set, got, want)
		}
		if d, ok = assigned(t, tc.under, tc.set, tc.met); !ok {
			t.Fatalf("%s and %s contradict each other", tc.set, tc.met)
		}
		if got := d.Unmet(); len(got) > 0 {
			t.Errorf("%s with %s under %s: %q", tc.set, tc.met, tc.under, got)
		}
	}
}

// A setting of a file is named with its place.
func TestUnmetSettingsOfAFile(t *testing.T) {
	text := "strategies: [none]\nbreaks: false\nclient:\n  ttl:\n    latch: false\ndetector: {min_drop: 9}\n"
	want := []string{
		"t.yaml:5: client.ttl.latch false changes nothing: it needs client.ttl.choice policy",
		"t.yaml:6: detector.min_drop 9 changes nothing: it needs breaks",
	}
	d := expand(t, text)
	if got := d.Unmet(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d.file.Builtin = true // what comes with the program is not named
	if got := d.Unmet(); got != nil {
		t.Errorf("of a scenario of the program: %q", got)
	}
}

// The client of a generation meets a condition only where the scenario takes it.
func TestGenerationsMeetConditions(t *testing.T) {
	for _, tc := range []struct {
		strategy, prefix string
		met              bool
	}{{"claude-code/2026-03", "preset", true}, {"claude-code/2026-03", "session", false}, {"claude-code/1", "preset", false}, {"own", "preset", true}} {
		d, ok := assigned(t, tc.strategy, "client.ttl.employee=true", "client.prefix="+tc.prefix)
		if !ok || (len(d.Unmet()) == 0) != tc.met {
			t.Errorf("%+v: %q", tc, d.Unmet())
		}
	}
}

// What a scenario says around strategies reaches the simulation: other rows than without it.
func TestSettingsReachTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const hinted = "strategies: [{name: x, layers: [{server-hint: {}}]}]\n"
	for text, with := range map[string]string{
		"strategies: [none]\nclient: {window: 20000}\n": "overflow: end\n",
		"strategies: [none]\n":                          "events: [{at: {round: 2}, do: skill, value: 9}]\n",
		hinted:                                          "server: {hint_at: 9000}\n",
	} {
		c := scenariostest.Samples(t, "short-fix")
		if cmp.Equal(cellRows(t, expand(t, text), c), cellRows(t, expand(t, text+with), c)) {
			t.Errorf("%q changes nothing", text+with)
		}
	}
}

// Nothing that a built-in scenario sets is in vain.
func TestShippedScenariosSetNothingInVain(t *testing.T) {
	builtins, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builtins {
		if list := expand(t, string(b.Text)).Unmet(); len(list) > 0 {
			t.Errorf("%s: %q", b.Name, list)
		}
	}
}

// settable are assignments with conditions, and some that meet these.
var settable = []string{
	"sessions.cohort=all", "sessions.organisations=session", "client.provider=bedrock", "client.windows.small_auto_window_off=true",
	"client.system.split=sections", "client.system.sizes.identity=30", "client.system.mcp=prefix", "client.system.mcp_tools=100",
	"client.system.billing_header_in_key=false", "client.system.uncached_change=0.5", "client.system.claude_md=system",
	"client.system.claude_md_tokens=10", "client.ttl.choice=policy", "client.ttl.source=sdk", "client.ttl.employee=true",
	"client.ttl.subscriber=true", "client.ttl.overage=true", "client.ttl.latch=false", "client.env.BASH_MAX_OUTPUT_LENGTH=300",
	"client.env.MAX_MCP_OUTPUT_TOKENS=300", "client.env.USER_TYPE=ant", "client.env.ENABLE_PROMPT_CACHING_1H_BEDROCK=1",
	"client.env.CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS=9", "client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=150000", "server.delete_uncached=true",
	"server.hint_at=9000", "summarizer.median=900", "summarizer.sigma=2", "summarizer.share=0.5", "summarizer.sizing=fixed",
	"summarizer.sizing=fraction", "summarizer.fail_as=API error", "summarizer.fail_calls=[1]", "breaks=false", "detector.min_drop=9",
	"detector.deleted_baseline=false",
}

// What a setting needs, it needs: without those that are said to change nothing the rows are the same, whatever else
// is set.
func TestUnmetSettingsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpora, tried := []*traces.Corpus{scenariostest.Samples(t, "short-fix"), asCodex(scenariostest.Samples(t, "short-fix"))}, 0
	rapid.Check(t, func(r *rapid.T) {
		if tried++; tried > 40 && !t.Failed() {
			return // a try takes a tenth of a second
		}
		strategy := rapid.SampledFrom([]string{"none", "auto-compact/167k", "claude-code/2026-03", "own", "cached-microcompact"}).Draw(r, "strategy")
		set := rapid.SliceOfNDistinct(rapid.SampledFrom(settable), 1, 6, func(s string) string { path, _, _ := strings.Cut(s, "="); return path }).Draw(r, "set")
		d, ok := assigned(t, strategy, set...)
		if !ok {
			r.Skip("they contradict each other")
		}
		list := d.Unmet()
		left := slices.DeleteFunc(slices.Clone(set), func(s string) bool {
			return slices.ContainsFunc(list, func(text string) bool { return strings.HasPrefix(text, "--set "+s+" changes nothing") })
		})
		if len(left)+len(list) != len(set) {
			r.Fatalf("%q of %q", list, set)
		}
		without, ok := assigned(t, strategy, left...)
		if !ok || len(list) == 0 {
			return
		}
		c := rapid.SampledFrom(corpora).Draw(r, "sessions")
		if diff := cmp.Diff(cellRows(t, without, c), cellRows(t, d, c)); diff != "" {
			r.Fatalf("%q, but of %q they change:\n%s", list, set, diff)
		}
	})
}

// What a tag needs exists: a parameter beside it or of the scenario, a layer, or a
// parameter of a layer.
func TestNeedsLeadToParameters(t *testing.T) {
	r := scenariostest.Registry(t)
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
