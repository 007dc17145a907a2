package sim

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/google/go-cmp/cmp"
)

// detected runs a session with the detector and returns its counts and calls.
func detected(t *testing.T, c Config, s *traces.Session) (confusion.Matrix, []results.CallRecord) {
	t.Helper()
	c.Breaks = true
	row, calls := run(t, c, s)
	return *row.Breaks.Matrix(), calls
}

// onlyBreak returns the one break of a session: what was said, what was named
// as changed, and what it missed; all empty for none.
func onlyBreak(t *testing.T, b *confusion.Matrix) (said, changed, missed string) {
	t.Helper()
	if b.Broke() > 1 {
		t.Fatalf("%d breaks, want one at most", b.Broke())
	}
	for r := confusion.Model; int(r) < confusion.NumReasons; r++ {
		for m, n := range b.Calls(r) {
			if n > 0 {
				said, missed = r.String(), exchange.MissClass(m).String()
			}
		}
	}
	var fields []string
	for f := range confusion.NumFields {
		if b.Named(confusion.Field(f)) > 0 {
			fields = append(fields, confusion.Field(f).String())
		}
	}
	return said, strings.Join(fields, ", "), missed
}

// What the detector says of an event ahead of the third call, whose second has
// read 18,300 tokens: tools 12,000 and system 4,000 in front of 2,300. An effort
// leaves 16,000, a fall of 2,300 or 13 %; all else leaves less. The fields are the fields of
// 000:604: thinking is not a field, and images stand in messages, which the detector does not look
// at.
func TestWhatTheDetectorSays(t *testing.T) {
	prefix := func(a *client.Assembly) { a.System.MCP = "prefix" }
	policy := func(a *client.Assembly) { a.TTL.Choice, a.TTL.Latch = "policy", false }
	project := func(a *client.Assembly) { divided(a); a.System.ClaudeMD, a.System.Memoised = "system", false }
	for _, tc := range []struct {
		do, value             string
		change                func(*client.Assembly)
		said, changed, missed string
	}{
		{"tools_change", "700", nil, "state", "tools", "head"},
		{"deny_rule", "", nil, "state", "tools", "head"},
		{"mcp_connect", "5000", prefix, "state", "tools", "head"},
		{"mcp_connect", "5000", func(a *client.Assembly) { divided(a); prefix(a) }, "state", "system prompt, cache markers, tools, global cache strategy", "head"},
		{"mcp_connect", "5000", nil, "", "", ""}, // announced behind the prefix
		{"system_change", "1000", nil, "state", "system prompt", "head"},
		{"claude_md_edit", "500", project, "state", "system prompt", "head"},
		{"web_search", "on", nil, "state", "tools", "head"},
		{"citations", "on", nil, "state", "extra body", "head"},
		{"fast_mode", "on", nil, "state", "fast mode", "head"},
		{"beta", "interleaved", nil, "state", "beta headers", "head"},
		{"effort", "high", nil, "state", "effort", "head"},
		{"tool_choice", "any", nil, "state", "extra body", "head"},
		{"model", "claude-sonnet-4-5", nil, "model", "model", "model"},
		{"overage", "on", policy, "state", "cache markers, overage", "head"},
		{"thinking", "", nil, "server", "", "head"},
		{"images", "on", nil, "server", "", "head"},
	} {
		c := headConfig(t, "none", tc.change, atRound(3, tc.do, tc.value))
		if tc.do == "overage" {
			c.Server = func(facts.Cache) Server { return promptcache.New(promptcache.Config{TTLInKey: true}) }
		}
		b, calls := detected(t, c, threeCalls())
		said, changed, missed := onlyBreak(t, &b)
		if said != tc.said || changed != tc.changed || missed != tc.missed {
			t.Errorf("%s %s: %q, changed %q, missed %q; want %q, %q, %q (read %d, then %d)", tc.do, tc.value,
				said, changed, missed, tc.said, tc.changed, tc.missed, calls[1].Usage.Read, calls[2].Usage.Read)
		}
	}
}

// The thirteenth call has 7 results of 1,000 tokens deleted from the cached
// prefix: the twelfth has read 30,300 of its 31,500 tokens, it reads 31,500 −
// 7,000 = 24,500, a fall of 5,800 or 19 %. Nothing is missed. With the server's
// count of deleted tokens as a baseline the fall is expected; without it that is
// a false break, and the server is blamed (002:56).
func TestDeletedBaseline(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).session())
	without := breaks.DefaultRules()
	without.DeletedBaseline = false
	for _, tc := range []struct {
		rules *breaks.Rules
		said  confusion.Reason
	}{{nil, confusion.Deleted}, {&without, confusion.Server}} {
		c := testConfig(t, "cached-microcompact")
		c.Rules = tc.rules
		b, calls := detected(t, c, s)
		if from, to := calls[11].Usage.Read, calls[12].Usage.Read; from != 30_300 || to != 24_500 {
			t.Fatalf("%d tokens read, then %d; want 30,300 and 24,500", from, to)
		}
		if b.Calls(tc.said)[exchange.MissNone] != 1 || b.Said(tc.said) != 1 || b.Said(confusion.None) != 12 {
			t.Errorf("%+v: said %v", tc.rules, b[:confusion.Changed])
		}
	}
}

// The thresholds are parameters: the same fall of 5,800 of 30,300 tokens is no
// break from 5,800 tokens or 20 % on, and one below.
func TestThresholdsOfTheDetector(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).session())
	for _, tc := range []struct {
		rules breaks.Rules
		want  int
	}{
		{breaks.Rules{MinDrop: 5_799, MinShare: 0.19}, 1},
		{breaks.Rules{MinDrop: 5_800, MinShare: 0.19}, 0},
		{breaks.Rules{MinDrop: 5_799, MinShare: 0.20}, 0},
	} {
		c := testConfig(t, "cached-microcompact")
		c.Rules = &tc.rules
		if b, _ := detected(t, c, s); b.Broke() != tc.want {
			t.Errorf("%+v: %d breaks, want %d", tc.rules, b.Broke(), tc.want)
		}
	}
}

// The first call behind a compaction has no baseline, whichever layer compacts,
// session memory without a call of its own included; the summary call shares the prefix of the
// conversation, and finds the whole prefix (167k) or nothing (155k: a prompt of
// its own).
func TestCompactionIsExpected(t *testing.T) {
	for strategy, tc := range map[string]struct {
		beside confusion.Reason
		memory bool
	}{
		"auto-compact/167k": {confusion.None, false},
		"auto-compact/155k": {confusion.State, false},
		"session-memory":    {confusion.First, true},
	} {
		b, calls := detected(t, testConfig(t, strategy), newSession("s").turns(60, 0, 4000).session())
		var compacted, summaries int
		for i := range calls {
			if calls[i].Miss == exchange.MissCompaction {
				compacted++
			}
			if calls[i].Source == measures.SourceCompact {
				summaries++
			}
		}
		if compacted == 0 || b.Calls(confusion.Compacted)[exchange.MissCompaction] != uint32(compacted) || b.Broke() != 0 {
			t.Errorf("%s: %d compactions, said %v", strategy, compacted, b[:confusion.Changed])
		}
		if tc.memory != (summaries == 0) || b[confusion.Beside+int(tc.beside)] == 0 || !tc.memory &&
			b[confusion.Beside+int(tc.beside)] != uint32(summaries) {
			t.Errorf("%s: %d summary calls, said of calls beside %v", strategy, summaries, b[confusion.Beside:])
		}
	}
}

// Small models are not watched; an expiry is found by the pause on others, and on
// those it is not.
func TestSmallModelsAreNotWatched(t *testing.T) {
	for model, want := range map[string]confusion.Reason{
		"claude-opus-4-5": confusion.Expiry5m, "claude-haiku-4-5": confusion.Excluded,
	} {
		s := newSession("s").turns(3, 0, 4000).turns(1, 10*minute, 0).session()
		s.Models[0] = model
		b, _ := detected(t, testConfig(t, "none"), s)
		if b.Calls(want)[exchange.MissExpiry] != 1 || b.Watched() != 4 {
			t.Errorf("%s: said %v", model, b[:confusion.Changed])
		}
	}
}

// Without the switch nothing is counted, and with it everything else stays.
func TestDetectorChangesNothing(t *testing.T) {
	c := testConfig(t, "claude-code/2026-03")
	s := newSession("s").turns(120, 0, 4000).session()
	without, _ := run(t, c, s)
	if *without.Breaks.Matrix() != (confusion.Matrix{}) {
		t.Errorf("without the detector: %v", without.Breaks.Matrix())
	}
	c.Breaks = true
	with, _ := run(t, c, s)
	if with.Breaks.Matrix().Watched() != with.N(measures.LaterCalls)+1 {
		t.Errorf("%d calls watched of %d", with.Breaks.Matrix().Watched(), with.N(measures.LaterCalls)+1)
	}
	with.Breaks = nil
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("the detector changes the row (-without +with):\n%s", diff)
	}
}

// saying is an Observer that notes what is said of breaks.
type saying struct{ texts *[]string }

func (saying) Checked(Point, strategies.Check)                            {}
func (saying) Answered(Point, string, string, strategies.Outcome)         {}
func (saying) Changed(Point, string, strategies.Boundary)                 {}
func (saying) Served(Point, string, *exchange.Request, *exchange.Outcome) {}
func (s saying) Broke(_ Point, text string)                               { *s.texts = append(*s.texts, text) }

// 000:614-621: a verdict names what changed from what to what: values of parameters, tools
// that came and went by name, the lifetime.
func TestVerdictsNameWhatChanged(t *testing.T) {
	prefix := func(a *client.Assembly) { a.System.MCP = "prefix" }
	policy := func(a *client.Assembly) { a.TTL.Choice, a.TTL.Latch = "policy", false }
	for _, tc := range []struct {
		do, value string
		change    func(*client.Assembly)
		says      []string
	}{
		{"effort", "high", nil, []string{"as recorded", "high"}},
		{"model", "claude-sonnet-4-5", nil, []string{"claude-opus-4-5", "claude-sonnet-4-5"}},
		{"beta", "interleaved", nil, []string{"interleaved"}},
		{"mcp_connect", "5000", prefix, []string{"mcp"}},
		{"web_search", "on", nil, []string{"web_search"}},
		{"tools_change", "700", nil, []string{"built-in tools redefined"}},
		{"overage", "on", policy, []string{"1h", "5m"}},
	} {
		c := headConfig(t, "none", tc.change, atRound(3, tc.do, tc.value))
		if tc.do == "overage" {
			c.Server = func(facts.Cache) Server { return promptcache.New(promptcache.Config{TTLInKey: true}) }
		}
		var texts []string
		c.Observer = saying{&texts}
		detected(t, c, threeCalls())
		for _, want := range tc.says {
			if len(texts) != 1 || !strings.Contains(texts[0], want) {
				t.Errorf("%s %s: %q, want %q in it", tc.do, tc.value, texts, want)
			}
		}
	}
}
