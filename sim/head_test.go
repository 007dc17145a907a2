package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// headConfig returns a cell of a strategy whose requests are assembled as change
// says, with events.
func headConfig(t *testing.T, strategy string, change func(*client.Assembly), events ...client.Event) Config {
	t.Helper()
	c := testConfig(t, strategy)
	a := client.DefaultAssembly()
	if change != nil {
		change(&a)
	}
	if problems := append(spec.Validate(&a), spec.Validate(events)...); len(problems) > 0 {
		t.Fatal(problems)
	}
	c.Assembly, c.Events = &a, events
	return c
}

// divided is the smallest change that sends the system prompt in sections.
func divided(a *client.Assembly) { a.System.Split = client.SplitSections }

// atRound is an event ahead of a request of the main thread.
func atRound(n int32, do, value string) client.Event {
	return client.Event{At: client.When{Round: n}, Do: do, Value: value}
}

// threeCalls is a prompt and two rounds of results: unchanged, the second call
// reads the 18,300 tokens of the first and the third 19,500.
func threeCalls() *traces.Session { return newSession("head").turns(3, 0, 1000).session() }

// served keeps the markers of every request of the conversation.
type served struct{ markers [][]exchange.Marker }

func (*served) Checked(Point, strategies.Check)                    {}
func (*served) Answered(Point, string, string, strategies.Outcome) {}
func (*served) Changed(Point, string, strategies.Boundary)         {}
func (s *served) Served(_ Point, layer string, r *exchange.Request, _ *exchange.Outcome) {
	if layer == "" {
		s.markers = append(s.markers, slices.Clone(r.Markers))
	}
}

// The head in sections (000:36-60, 95-101): tools 12,000, billing header 40,
// identity 15, static 3,045, memoised 800, uncached 100: in all the recorded
// 16,000. Markers stand behind identity and static.
func TestSectionMarkers(t *testing.T) {
	const org, global = exchange.ScopeOrg, exchange.ScopeGlobal
	type mark struct {
		At    int32
		Scope exchange.Scope
	}
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		want   []mark // ahead of the messages
	}{
		"one block":       {nil, []mark{{1, org}}},
		"one block, tool": {func(a *client.Assembly) { a.System.ToolMarker = "last" }, []mark{{0, org}, {1, org}}},
		"sections":        {divided, []mark{{2, org}, {3, global}}},
		"dynamic marked":  {func(a *client.Assembly) { divided(a); a.System.DynamicScope = "org" }, []mark{{2, org}, {3, global}, {5, org}}},
		"tools marked":    {func(a *client.Assembly) { divided(a); a.System.ToolMarker = "last" }, []mark{{0, org}, {2, org}, {3, global}}},
		"third party":     {func(a *client.Assembly) { divided(a); a.Provider = "third_party" }, []mark{{2, org}, {3, org}}},
		"custom prompt":   {func(a *client.Assembly) { divided(a); a.System.Custom = true }, []mark{{2, org}}},
		"servers' tools": {func(a *client.Assembly) { divided(a); a.System.MCP, a.System.MCPTools = "prefix", 3000 },
			[]mark{{2, org}, {3, org}}},
		"servers' tools deferred": {func(a *client.Assembly) { divided(a); a.System.MCPTools = 3000 }, []mark{{2, org}, {3, global}}},
	} {
		c := headConfig(t, "none", tc.change)
		var o served
		c.Observer = &o
		_, calls := run(t, c, threeCalls())
		var got []mark
		for _, m := range o.markers[0][:len(o.markers[0])-1] {
			got = append(got, mark{m.Position, m.Scope})
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: markers %v, want %v", name, got, tc.want)
		}
		if calls[0].Context != 18_300 {
			t.Errorf("%s: the first request has %d tokens, the recorded one 18,300", name, calls[0].Context)
		}
	}
}

// Sections that ask for more than was recorded are cut, and that is counted.
func TestSectionsThatDoNotFit(t *testing.T) {
	row, calls := run(t, headConfig(t, "none", func(a *client.Assembly) { divided(a); a.System.Sizes.Static = 9000 }), threeCalls())
	if calls[0].Context != 18_300 || row.Reasons["system prompt: its sections are larger than the recorded one"] != 1 {
		t.Errorf("%d tokens, reasons %v", calls[0].Context, row.Reasons)
	}
}

// What the first call behind a compaction reads: the prefix through the last
// marker ahead of the messages. 12,000 + 4,000 in one block; without the dynamic
// sections 12,000 + 40 + 15 + 3,045.
func TestFloorBehindACompaction(t *testing.T) {
	edit := atRound(3, "claude_md_edit", "500")
	project := func(a *client.Assembly) { divided(a); a.System.DynamicScope, a.System.ClaudeMD = "org", "system" }
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		events []client.Event
		want   int64
	}{
		"one block":                              {nil, nil, 16_000},
		"dynamic not marked":                     {divided, nil, 15_100},
		"dynamic marked":                         {func(a *client.Assembly) { divided(a); a.System.DynamicScope = "org" }, nil, 16_000},
		"with 1,500 of project files":            {project, nil, 17_500},
		"project files edited in the system":     {project, []client.Event{edit}, 15_100},
		"project files edited in the reminder":   {nil, []client.Event{edit}, 16_000},
		"a flag that the static section follows": {divided, []client.Event{atRound(3, "flag_change", "")}, 12_055},
	} {
		c := headConfig(t, "auto-compact/167k", tc.change, tc.events...)
		_, calls := run(t, c, newSession("s").turns(60, 0, 4000).session())
		i := slices.IndexFunc(calls, func(r results.CallRecord) bool { return r.Source == measures.SourceCompact })
		if got := calls[i+1].Usage.Read; got != tc.want {
			t.Errorf("%s: %d tokens read behind the compaction, want %d", name, got, tc.want)
		}
	}
}

// A fork sends the prompt as it was rendered, and reads the conversation; off, a
// flag change since leaves it the identity, 12,055. Without a change nothing
// breaks (000, rendered prompt reuse).
func TestRenderedPromptReuse(t *testing.T) {
	flag := []client.Event{atRound(3, "flag_change", "")}
	reads := func(reuse bool, events []client.Event) int64 {
		c := headConfig(t, "auto-compact/167k", func(a *client.Assembly) { divided(a); a.System.RenderedReuse = reuse }, events...)
		_, calls := run(t, c, newSession("s").turns(60, 0, 4000).session())
		i := slices.IndexFunc(calls, func(r results.CallRecord) bool { return r.Source == measures.SourceCompact })
		return calls[i].Usage.Read
	}
	if with, without := reads(true, flag), reads(false, nil); with != without || with < 160_000 {
		t.Errorf("the fork reads %d with the rendered prompt, %d without a change", with, without)
	}
	if got := reads(false, flag); got != 12_055 {
		t.Errorf("the fork reads %d of a prompt rendered anew, want 12,055", got)
	}
}

// A billing header in the key differs in every request: nothing behind it is
// read. First-party servers leave it out (assumed), others do not.
func TestBillingHeader(t *testing.T) {
	for _, tc := range []struct {
		provider, inKey, tools string
		want                   int64
	}{
		{"first_party", "by_provider", "none", 18_300},
		{"first_party", "true", "none", 0},
		{"first_party", "true", "last", 12_000},
		{"third_party", "by_provider", "none", 0},
		{"third_party", "false", "none", 18_300},
	} {
		_, calls := run(t, headConfig(t, "none", func(a *client.Assembly) {
			divided(a)
			a.Provider, a.System.HeaderInKey, a.System.ToolMarker = tc.provider, tc.inKey, tc.tools
		}), threeCalls())
		if got := calls[1].Usage.Read; got != tc.want {
			t.Errorf("%+v: the second call reads %d", tc, got)
		}
	}
}

// A section that is not memoised and differs in every request leaves what stands
// before it: 15,100. At probability 0 it never does.
func TestUncachedSection(t *testing.T) {
	for p, want := range map[float64]int64{0: 18_300, 1: 15_100} {
		row, calls := run(t, headConfig(t, "none", func(a *client.Assembly) { divided(a); a.System.UncachedChange = p }), threeCalls())
		if calls[1].Usage.Read != want || int64(row.N(measures.HeadChanges)) != int64(2*p) {
			t.Errorf("probability %g: read %d, want %d; %d changes", p, calls[1].Usage.Read, want, row.N(measures.HeadChanges))
		}
	}
}

// writer is a layer that writes 300 tokens of memories behind the first response.
type writer struct{}

func (writer) Name() string              { return "writer" }
func (w writer) Clone() strategies.Layer { return w }
func (writer) Reset()                    {}
func (writer) AfterResponse(t *strategies.Turn) strategies.Outcome {
	if t.Round == 0 {
		t.SetMemory(300, prompt.DigestString("memories"))
	}
	return strategies.Outcome{}
}

// New memories wait for the next compaction in a memoised section; in one that
// is not, the next request shows them: 300 tokens more, read up to the static
// section.
func TestMemoisedSection(t *testing.T) {
	for memoised, want := range map[bool][2]int64{true: {18_300, 19_500}, false: {15_100, 19_800}} {
		c := headConfig(t, "none", func(a *client.Assembly) { divided(a); a.System.Memoised = memoised })
		registry, err := strategies.Builtin()
		if err != nil {
			t.Fatal(err)
		}
		type none struct{}
		err = registry.Define(strategies.Define("writer", "for a test", none{}, func(none) strategies.Layer { return writer{} }))
		if err != nil {
			t.Fatal(err)
		}
		if err := registry.AddPreset([]byte("name: writer\ndoc: for a test\nlayers:\n  - writer: {}\n"), "writer.yaml"); err != nil {
			t.Fatal(err)
		}
		if c.Strategy, err = registry.Strategy("writer"); err != nil {
			t.Fatal(err)
		}
		_, calls := run(t, c, threeCalls())
		if got := [2]int64{calls[1].Usage.Read, calls[1].Context}; got != want {
			t.Errorf("memoised %v: read and size %v, want %v", memoised, got, want)
		}
	}
}

// owned is a server that takes every thread for another organisation's.
type owned struct{ Server }

func (o owned) Begin(t int64, r *exchange.Request) exchange.Outcome {
	r.Owner = 1 + r.Thread
	return o.Server.Begin(t, r)
}

// The static section is everyone's (000:75-79): the first call of another
// organisation reads it a minute later, unless the whole prompt is one block,
// another provider serves, or the tools of some server stand before it.
func TestStaticSectionIsShared(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		want   int64
	}{
		"one block":      {nil, 0},
		"sections":       {divided, 15_100},
		"third party":    {func(a *client.Assembly) { divided(a); a.Provider, a.System.HeaderInKey = "third_party", "false" }, 0},
		"custom prompt":  {func(a *client.Assembly) { divided(a); a.System.Custom = true }, 0},
		"servers' tools": {func(a *client.Assembly) { divided(a); a.System.MCP, a.System.MCPTools = "prefix", 3000 }, 0},
	} {
		c := headConfig(t, "none", tc.change)
		c.Server = func(facts.Cache) Server { return owned{promptcache.New(promptcache.Config{})} }
		var firsts []results.CallRecord
		c.Record = func(r *results.CallRecord) {
			if r.Round == 0 {
				firsts = append(firsts, *r)
			}
		}
		a, b := threeCalls(), threeCalls()
		b.ID, b.Start = "other", a.Start+minute
		if _, err := NewLoop(c).RunCohort([]*traces.Session{a, b}); err != nil {
			t.Fatal(err)
		}
		if got := firsts[1].Usage.Read; got != tc.want {
			t.Errorf("%s: the other organisation's first call reads %d, want %d", name, got, tc.want)
		}
	}
}

// A header of its own takes a fork what the conversation left, as far as the
// tools: with a marker behind them 12,000 stay.
func TestBillingHeaderOfForks(t *testing.T) {
	for inKey, want := range map[string]int64{"true": 12_000, "false": 160_000} {
		_, calls := run(t, headConfig(t, "auto-compact/167k", func(a *client.Assembly) {
			divided(a)
			a.System.HeaderInKey, a.System.ToolMarker = inKey, "last"
		}), newSession("s").turns(60, 0, 4000).session())
		i := slices.IndexFunc(calls, func(r results.CallRecord) bool { return r.Source == measures.SourceCompact })
		if got := calls[i].Usage.Read; got < want || inKey == "true" && got != want {
			t.Errorf("header in the key %s: the summary call reads %d, want %d", inKey, got, want)
		}
	}
}
