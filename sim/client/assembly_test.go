package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Of 4,000 recorded tokens: header 40, identity 15, memoised 800 and uncached
// 100 leave 3,045 static. Sections ahead take first; what does not fit is told;
// what nobody asks for goes to the memoised part once the static one has a size.
func TestCut(t *testing.T) {
	type cut struct {
		sizes [NumSections]int32
		short int32
	}
	for name, tc := range map[string]struct {
		total, project, static int32
		custom                 bool
		want                   cut
	}{
		"the rest is static": {4000, 0, 0, false, cut{[NumSections]int32{40, 15, 3045, 0, 800, 100}, 0}},
		"project files":      {4000, 1500, 0, false, cut{[NumSections]int32{40, 15, 3045, 1500, 800, 100}, 0}},
		"static of its own":  {4000, 0, 2000, false, cut{[NumSections]int32{40, 15, 2000, 0, 1845, 100}, 0}},
		"too large":          {4000, 0, 5000, false, cut{[NumSections]int32{40, 15, 3945, 0, 0, 0}, 1055 + 800 + 100}},
		"nearly nothing":     {50, 0, 0, false, cut{[NumSections]int32{40, 10, 0, 0, 0, 0}, 5 + 800 + 100}},
		"custom prompt":      {4000, 0, 0, true, cut{[NumSections]int32{40, 0, 3960, 0, 0, 0}, 0}},
	} {
		s := DefaultSystem()
		s.Sizes.Static = tc.static
		var got cut
		if got.sizes, got.short = s.Cut(tc.total, tc.project, tc.custom); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// The sections keep the total whatever they ask for.
func TestCutKeepsTheTotal(t *testing.T) {
	for total := int32(0); total < 6000; total += 37 {
		for _, static := range []int32{0, 1, 3000, 9000} {
			s := DefaultSystem()
			s.Sizes.Static = static
			sizes, _ := s.Cut(total, 0, false)
			var sum int32
			for _, n := range sizes {
				sum += n
			}
			if sum != total || slices.Min(sizes[:]) < 0 {
				t.Fatalf("%d tokens are cut into %v", total, sizes)
			}
		}
	}
}

// Which calls get 1h under the policy: 000:125-185 for the list, its footnotes
// for the forks, 000 for compact.
func TestPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Assembly)
		ask    Ask
		want   exchange.TTL
	}{
		"main":                {nil, Ask{}, exchange.TTL1h},
		"compact":             {nil, Ask{Source: "compact"}, exchange.TTL1h},
		"session memory":      {nil, Ask{Source: "session_memory"}, exchange.TTL5m},
		"sub-agent":           {nil, Ask{Agent: true}, exchange.TTL1h},
		"sub-agent's compact": {nil, Ask{Agent: true, Source: "compact"}, exchange.TTL1h},
		"list of 2.1.240":     {func(a *Assembly) { a.TTL.Allow = []string{"repl_main_thread*", "sdk"} }, Ask{Agent: true}, exchange.TTL5m},
		"sdk":                 {func(a *Assembly) { a.TTL.Source = "sdk" }, Ask{}, exchange.TTL1h},
		"sdk not listed":      {func(a *Assembly) { a.TTL.Source, a.TTL.Allow = "sdk", []string{"repl_main_thread*"} }, Ask{}, exchange.TTL5m},
		"asked for 5m":        {nil, Ask{Lifetime: ask.Lifetime5m}, exchange.TTL5m},
		"asked for 1h":        {func(a *Assembly) { a.TTL.Allow = nil }, Ask{Source: "dream", Lifetime: ask.Lifetime1h}, exchange.TTL1h},
		"overage":             {nil, Ask{Overage: true}, exchange.TTL5m},
		"employee in overage": {func(a *Assembly) { a.TTL.Employee = true }, Ask{Overage: true}, exchange.TTL1h},
		"USER_TYPE":           {func(a *Assembly) { a.Env.UserType, a.TTL.Subscriber = "ant", false }, Ask{}, exchange.TTL1h},
		"neither":             {func(a *Assembly) { a.TTL.Subscriber = false }, Ask{}, exchange.TTL5m},
		"third party":         {func(a *Assembly) { a.Provider = ProviderThirdParty }, Ask{}, exchange.TTL5m},
		"bedrock":             {func(a *Assembly) { a.Provider = ProviderBedrock }, Ask{}, exchange.TTL5m},
		"bedrock opted in":    {func(a *Assembly) { a.Provider, a.Env.EnableBedrock1h = ProviderBedrock, "true" }, Ask{Source: "dream"}, exchange.TTL1h},
		"bedrock opted in, session memory": {func(a *Assembly) { a.Provider, a.Env.EnableBedrock1h = ProviderBedrock, "true" },
			Ask{Source: "session_memory", Lifetime: ask.Lifetime5m}, exchange.TTL1h},
		"opted in, not on bedrock": {func(a *Assembly) { a.Env.EnableBedrock1h, a.TTL.Subscriber = "true", false }, Ask{}, exchange.TTL5m},
		"forced 5m":                {func(a *Assembly) { a.Env.Force5m = "1" }, Ask{}, exchange.TTL5m},
		"forced 5m against 1h": {func(a *Assembly) { a.Env.Force5m, a.Env.Enable1h, a.TTL.Choice = "1", "1", Choice1h },
			Ask{Lifetime: ask.Lifetime1h}, exchange.TTL5m},
		"1h in overage":       {func(a *Assembly) { a.Env.Enable1h = "1" }, Ask{Overage: true, Source: "session_memory"}, exchange.TTL1h},
		"setting of agents":   {func(a *Assembly) { a.Env.AgentCacheTTL = "5m" }, Ask{Agent: true}, exchange.TTL5m},
		"setting of the main": {func(a *Assembly) { a.Env.CacheTTL = "5m" }, Ask{Agent: true}, exchange.TTL1h},
		"recorded 1h":         {func(a *Assembly) { a.TTL.Choice = choiceRecorded }, Ask{Recorded: exchange.TTL1h}, exchange.TTL1h},
		"recorded 5m":         {func(a *Assembly) { a.TTL.Choice = choiceRecorded }, Ask{}, exchange.TTL5m},
		"always 5m":           {func(a *Assembly) { a.TTL.Choice = Choice5m }, Ask{Recorded: exchange.TTL1h}, exchange.TTL5m},
		"always 1h":           {func(a *Assembly) { a.TTL.Choice = Choice1h }, Ask{Source: "speculation"}, exchange.TTL1h},
		"always 1h but forks": {func(a *Assembly) { a.TTL.Choice = Choice1h }, Ask{Source: "speculation", Lifetime: ask.Lifetime5m}, exchange.TTL5m},
	} {
		a := DefaultAssembly()
		a.TTL.Choice = ChoicePolicy
		if tc.change != nil {
			tc.change(&a)
		}
		v := a.Env.Variables()
		if got := a.Lifetime(&v, tc.ask, new(Latch)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// The header that changes with every request is in the key of other providers, or as a
// setting says (000:60).
func TestHeaderInKey(t *testing.T) {
	for _, tc := range []struct {
		setting, provider string
		want              bool
	}{
		{"by_provider", ProviderFirstParty, false}, {"by_provider", ProviderBedrock, true},
		{"true", ProviderFirstParty, true}, {"false", ProviderBedrock, false},
	} {
		a := DefaultAssembly()
		a.System.HeaderInKey, a.Provider = tc.setting, tc.provider
		if got := a.HeaderInKey(); got != tc.want {
			t.Errorf("%s of %s: %v", tc.setting, tc.provider, got)
		}
	}
}

// The latch keeps the first answer: a session begun in overage stays at 5m, one
// that comes into it later stays at 1h. Without it the present counts.
func TestLatch(t *testing.T) {
	for _, latched := range []bool{true, false} {
		for _, first := range []bool{true, false} {
			a := DefaultAssembly()
			a.TTL.Choice, a.TTL.Latch = ChoicePolicy, latched
			var v Variables
			var latch Latch
			a.Lifetime(&v, Ask{Overage: first}, &latch)
			got := a.Lifetime(&v, Ask{Overage: !first}, &latch)
			if long := got == exchange.TTL1h; long != (latched != first) {
				t.Errorf("latch %v, overage %v and then not: %v", latched, first, got)
			}
		}
	}
}

// A request carries four markers at most: clients with two on messages leave out
// the first marker on the head.
func TestMarkersAtMostFour(t *testing.T) {
	entries := context(prompt.KindTools, prompt.KindSystem, prompt.KindSystem, prompt.KindPrompt, prompt.KindText, prompt.KindPrompt)
	head := []exchange.Marker{{Position: 0}, {Position: 1}, {Position: 2, Scope: exchange.ScopeGlobal}}
	for version, want := range map[string][]int32{"1.0.62": {1, 2, 4, 5}, "2.1.25": {0, 1, 2, 5}} {
		var got []int32
		for _, m := range ForVersion(version).Mark(nil, entries, Marks{Head: head}) {
			got = append(got, m.Position)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: markers at %v, want %v", version, got, want)
		}
	}
}

// How a scenario changes what a version counts: 1,200 bytes are 300 tokens, 400
// padded by a third; a tool input of 1,200 bytes 600 at 2 bytes a token; a
// document 2,000, or 10,000 bytes 2,500.
func TestCountOver(t *testing.T) {
	result := prompt.Block{Kind: prompt.KindToolResult, Bytes: 1200}
	use := prompt.Block{Kind: prompt.KindToolUse, Bytes: 1200}
	text := prompt.Block{Kind: prompt.KindPrompt, Bytes: 1200, Flags: prompt.FlagString}
	document := prompt.Block{Kind: prompt.KindDocument, Bytes: 10_000}
	for name, tc := range map[string]struct {
		change func(*count)
		block  prompt.Block
		want   int64
	}{
		"result":              {nil, result, 300},
		"padded":              {func(c *count) { c.Padded = "true" }, result, 400},
		"tool input":          {nil, use, 300},
		"dense tool input":    {func(c *count) { c.ToolInputBytes = 2 }, use, 600},
		"dense leaves others": {func(c *count) { c.ToolInputBytes = 2 }, result, 300},
		"string":              {nil, text, 300},
		"string not counted":  {func(c *count) { c.StringIsFree = "true" }, text, 0},
		"document":            {nil, document, 2000},
		"document by bytes":   {func(c *count) { c.Documents = "bytes" }, document, 2500},
	} {
		n := DefaultAssembly().Count
		if tc.change != nil {
			tc.change(&n)
		}
		c := n.Over(ForVersion("2.1.25").Count)
		if got := c.Pad(c.Block(&tc.block, nil), ""); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	n := DefaultAssembly().Count
	if n.Over(Counting{}).InputOnly {
		t.Error("by default all of the usage counts")
	}
	if n.Canonical = "input_only"; !n.Over(Counting{}).InputOnly {
		t.Error("canonical: input_only counts more")
	}
	n.Trailing = "false"
	if n.Over(Counting{Trailing: true}).Trailing {
		t.Error("trailing: false leaves the estimate of what followed")
	}
}

// What a client takes from a usage of 5 uncached, 1,000 read, 200 written and
// 90 output, of which 3 were logged.
func TestResponse(t *testing.T) {
	u := prompt.Usage{Uncached: 5, Read: 1000, Write5m: 200, Output: 90}
	for want, c := range map[int64]Counting{1295: {}, 1208: {LoggedOutput: true}, 1205: {NoOutput: true}, 5: {InputOnly: true}} {
		if got := c.Response(u, u.Input(), 3); got != want {
			t.Errorf("%+v: %d, want %d", c, got, want)
		}
	}
}

// Everything that is wrong is told at once, with its keys.
func TestValidateAssembly(t *testing.T) {
	a := DefaultAssembly()
	a.Provider = "bedrok"
	a.System.ToolMarker, a.System.DynamicScope, a.System.Split = "last", "org", "sections"
	a.System.Sizes.Identity = -1
	a.TTL.Choice, a.TTL.Allow = "2h", []string{"*b"}
	a.Count.ToolInputBytes = 3
	a.Env = Env{Force5m: "maybe", MaxContextTokens: "-5", CacheTTL: "2h", UserType: "x", Features: Features{ToolLimits: `{"Bash": 0}`}}
	var got []string
	for _, p := range spec.Validate(&a) {
		got = append(got, p.Paths[0])
	}
	want := []string{
		"provider", "system.sizes.identity", "system.tool_marker", "ttl.choice", "ttl.allow", "count.tool_input_bytes",
		"env.CLAUDE_CODE_MAX_CONTEXT_TOKENS", "env.FORCE_PROMPT_CACHING_5M", "env.CLAUDE_CODE_PROMPT_CACHE_TTL", "env.USER_TYPE",
		"env.tengu_satin_quoll",
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems of %v, want %v", got, want)
	}
	a = DefaultAssembly()
	if p := spec.Validate(&a); len(p) > 0 {
		t.Errorf("the default: %v", p)
	}
	a.System.Split, a.System.DynamicScope = "sections", "org" // identity, static, dynamic and message: four
	if p := spec.Validate(&a); len(p) > 0 {
		t.Errorf("four markers: %v", p)
	}
	a = DefaultAssembly()
	a.System.ClaudeMD = "system"
	if p := spec.Validate(&a); len(p) != 1 || !strings.Contains(p[0].Error(), "sections") {
		t.Errorf("project files in a prompt without sections: %v", p)
	}
}

// Variables as the client reads them.
func TestVariables(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "YES": true, "on": true, "0": false, "false": false, "": false} {
		if On(value) != want {
			t.Errorf("a flag of %q is on: %v", value, On(value))
		}
	}
	for value, want := range map[string]bool{"80": true, "100": true, "0.8": true, "0": false, "101": false, "": false} {
		if _, ok := Percent(value); ok != want {
			t.Errorf("%q per cent count: %v", value, ok)
		}
	}
	for value, want := range map[string]bool{"1": true, "2147483647": true, "0": false, "-1": false, "2147483648": false, "": false} {
		if _, ok := Number(value); ok != want {
			t.Errorf("%q counts as a number from 1: %v", value, ok)
		}
	}
	v := (&Env{DisableSonnet: "1"}).Variables()
	if !v.Uncached("claude-sonnet-4-5") || v.Uncached("claude-opus-4-5") {
		t.Error("DISABLE_PROMPT_CACHING_SONNET is for Sonnet alone")
	}
	// E3: at most the model's window, and between 100,000 and a million.
	for auto, want := range map[string]int64{"5000000": 1_000_000, "300000": 300_000, "5000": 100_000, "": 2_000_000} {
		v := (&Env{AutoCompactWindow: auto}).Variables()
		if got := v.AutoWindow(2_000_000); got != want {
			t.Errorf("%q: thresholds counted from %d of 2,000,000, want %d", auto, got, want)
		}
		if small := auto == "5000"; v.SmallAuto() != small {
			t.Errorf("%q: below the small window: %v", auto, v.SmallAuto())
		}
		if got := v.AutoWindow(90_000); got != 90_000 {
			t.Errorf("%q: thresholds counted from %d of 90,000", auto, got)
		}
	}
	if v := (&Env{AutoCompactWindow: "200000"}).Variables(); v.SmallAuto() {
		t.Error("200,000 is the small window itself")
	}
	if (&Variables{}).Uncached("claude-opus-4-5") {
		t.Error("caching is on by default")
	}
}

// The order in which a window is found: suffix, capability, beta
// header, environment, 200,000; and no large one at all when that is off.
func TestWindowOrder(t *testing.T) {
	for _, tc := range []struct {
		model string
		set   windows
		env   Env
		want  int64
	}{
		{"claude-opus-4-6", windows{}, Env{}, 200_000},
		{"claude-opus-4-6[1m]", windows{}, Env{}, 1_000_000},
		{"claude-opus-4-6", windows{Capability: true}, Env{}, 1_000_000},
		{"claude-opus-4-5", windows{Capability: true}, Env{}, 200_000},
		{"claude-sonnet-4-5", windows{Beta: true}, Env{}, 1_000_000},
		{"claude-sonnet-4-5", windows{}, Env{}, 200_000},
		{"claude-opus-4-5", windows{Beta: true}, Env{}, 200_000},
		{"claude-opus-4-5", windows{}, Env{MaxContextTokens: "120000"}, 120_000},
		{"claude-opus-4-6[1m]", windows{}, Env{MaxContextTokens: "120000"}, 1_000_000},
		{"claude-opus-4-6[1m]", windows{}, Env{Disable1M: "1"}, 200_000},
		{"claude-opus-4-6", windows{Capability: true}, Env{Disable1M: "1", MaxContextTokens: "120000"}, 120_000},
	} {
		a := Assembly{Windows: tc.set, Env: tc.env}
		v := a.Env.Variables()
		if got := a.Window(&v, tc.model, ForVersion("").Window(tc.model)); got != tc.want {
			t.Errorf("%s, %+v: %d, want %d", tc.model, tc, got, tc.want)
		}
	}
}
