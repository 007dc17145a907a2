package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"pgregory.net/rapid"
)

// Which event leaves how much to read, ahead of the second call of a head of
// tools 12,000 and system 4,000: facts/providers.md A7 and E1.
func TestEvents(t *testing.T) {
	const tools, system, all = 12_000, 16_000, 18_300
	for _, tc := range []struct {
		do, value   string
		plain, tool int64 // read without and with a marker behind the tools
		grows       int64
	}{
		{"tools_change", "700", 0, 0, 700},
		{"deny_rule", "", 0, 0, 0},
		{"mcp_connect", "5000", all, all, 150},
		{"mcp_disconnect", "", all, all, 0}, // none is connected
		{"system_change", "1000", 0, tools, 1000},
		{"web_search", "on", 0, tools, 0},
		{"citations", "", 0, tools, 0},
		{"fast_mode", "on", 0, tools, 0},
		{"fast_mode", "off", all, all, 0},
		{"beta", "interleaved", 0, tools, 0},
		{"effort", "high", system, system, 0},
		{"effort", "default", all, all, 0},
		{"thinking", "", system, system, 0},
		{"tool_choice", "any", system, system, 0},
		{"images", "on", system, system, 0},
		{"model", "claude-sonnet-4-5", 0, 0, 0},
		{"model", "claude-opus-4-5", all, all, 0},
		{"overage", "on", all, all, 0},
		{"claude_md_edit", "500", all, all, 0},
		{"flag_change", "", all, all, 0},
		{"permission", "", all, all, 0},
		{"output_style", "", all, all, 0},
		{"skill", "400", all, all, 400},
	} {
		for marker, want := range map[string]int64{"none": tc.plain, "last": tc.tool} {
			c := headConfig(t, "none", func(a *client.Assembly) { a.System.ToolMarker = marker }, atRound(2, tc.do, tc.value))
			row, calls := run(t, c, threeCalls())
			if got := calls[1].Usage.Read; got != want {
				t.Errorf("%s %s, tool marker %s: %d read, want %d", tc.do, tc.value, marker, got, want)
			}
			if got := calls[1].Context - 19_500; got != tc.grows {
				t.Errorf("%s %s: the request grows by %d, want %d", tc.do, tc.value, got, tc.grows)
			}
			if changed := row.N(measures.HeadChanges) == 1; changed != (want < all) {
				t.Errorf("%s %s: %d changes of the head", tc.do, tc.value, row.N(measures.HeadChanges))
			}
			if got := calls[2].Usage.Read; got != calls[1].Context {
				t.Errorf("%s %s: the call behind reads %d of %d", tc.do, tc.value, got, calls[1].Context)
			}
		}
	}
}

// A switched model is priced as what it is: Sonnet 4.5 writes at $3.75 per
// million and answers at $15.
func TestModelEvent(t *testing.T) {
	_, calls := run(t, headConfig(t, "none", nil, atRound(2, "model", "claude-sonnet-4-5")), threeCalls())
	want := (19_500*3.75 + 200*15) / 1e6
	if got := calls[1].Cost.Total(); calls[1].Model != "claude-sonnet-4-5" || got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("%s costs $%.6f, want $%.6f", calls[1].Model, got, want)
	}
}

// A server that connects into the prefix has everything written again and takes
// the static section from everyone; when it goes, what was written before is
// still there: 18,300 of the first call's.
func TestServerInThePrefix(t *testing.T) {
	c := headConfig(t, "none", func(a *client.Assembly) { divided(a); a.System.MCP = "prefix" },
		atRound(2, "mcp_connect", "5000"), atRound(3, "mcp_disconnect", ""))
	var o served
	c.Observer = &o
	row, calls := run(t, c, threeCalls())
	if u := calls[1].Usage; u.Read != 0 || u.Write5m != 24_500 {
		t.Errorf("connected: %+v, want all of 19,500 + 5,000 written", u)
	}
	if u := calls[2].Usage; u.Read != 15_100 {
		t.Errorf("disconnected: %+v, want 15,100 read: the uncached section tells of servers and is another", u)
	}
	scopes := []exchange.Scope{o.markers[0][1].Scope, o.markers[1][1].Scope, o.markers[2][1].Scope}
	if want := []exchange.Scope{exchange.ScopeGlobal, exchange.ScopeOrg, exchange.ScopeGlobal}; !slices.Equal(scopes, want) {
		t.Errorf("the static section is marked %v, want %v", scopes, want)
	}
	if row.N(measures.HeadChanges) != 2 {
		t.Errorf("%d changes of the head, want 2", row.N(measures.HeadChanges))
	}
}

// Servers whose tools are deferred are announced when they come, 150 tokens, and
// once when they go.
func TestDeferredServersGoOnce(t *testing.T) {
	c := headConfig(t, "none", nil, atRound(2, "mcp_connect", ""), atRound(3, "mcp_disconnect", ""), atRound(4, "mcp_disconnect", ""))
	_, plain := run(t, headConfig(t, "none", nil), newSession("head").turns(4, 0, 1000).session())
	_, calls := run(t, c, newSession("head").turns(4, 0, 1000).session())
	for i, want := range []int64{0, 150, 300, 300} {
		if got := calls[i].Context - plain[i].Context; got != want {
			t.Errorf("call %d is larger by %d, want %d", i+1, got, want)
		}
	}
}

// When events happen: of four calls of one turn, 18,300, 19,500, 20,700 and
// 21,900 tokens, the ones ahead of which effort changes read the system prompt.
func TestMoments(t *testing.T) {
	for name, tc := range map[string]struct {
		at   client.When
		want []bool // changed, from the second call on
	}{
		"ahead of the third":           {client.When{Round: 3}, []bool{false, true, false}},
		"every second":                 {client.When{Every: 2}, []bool{true, false, true}},
		"at 19,500 behind the reply":   {client.When{Tokens: 19_500}, []bool{false, true, false}},
		"7 s from the start":           {client.When{After: time.Duration(7 * second)}, []bool{false, true, false}},
		"at a size that never is":      {client.When{Tokens: 1_000_000}, []bool{false, false, false}},
		"at a time that never is":      {client.When{After: time.Duration(60 * minute)}, []bool{false, false, false}},
		"at the first, which is whole": {client.When{Round: 1}, []bool{false, false, false}},
	} {
		c := headConfig(t, "none", nil, client.Event{At: tc.at, Do: "effort"})
		_, calls := run(t, c, newSession("head").turns(4, 0, 1000).session())
		for i, want := range tc.want {
			if got := calls[i+1].Usage.Read == 16_000; got != want {
				t.Errorf("%s: call %d reads %d", name, i+2, calls[i+1].Usage.Read)
			}
		}
	}
}

// Events happen on the main thread, on sub-agents when they say so.
func TestEventsOfSubagents(t *testing.T) {
	b := newSession("s").turns(2, 0, 1000)
	b.thread(traces.Thread{ID: "a", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0, Prefix: traces.Span{From: 0, To: 3}})
	b.turns(3, minute, 1000)
	for threads, want := range map[string]int64{"main": 1, "all": 2} {
		e := atRound(2, "effort", "low")
		e.Threads = threads
		row, _ := run(t, headConfig(t, "none", nil, e), b.session())
		if got := int64(row.N(measures.HeadChanges)); got != want {
			t.Errorf("threads %s: %d changes, want %d", threads, got, want)
		}
	}
}

// Project files outside a memoised section: an edit of the reminder leaves the
// system prompt, 16,000.
func TestProjectFilesNotMemoised(t *testing.T) {
	c := headConfig(t, "none", func(a *client.Assembly) { a.System.Memoised = false }, atRound(2, "claude_md_edit", "500"))
	_, calls := run(t, c, threeCalls())
	if u := calls[1].Usage; u.Read != 16_000 || calls[1].Context != 20_000 {
		t.Errorf("read %d of %d, want 16,000 of 20,000", u.Read, calls[1].Context)
	}
}

// Whatever the client and whatever happens, the invariants hold and the head
// weighs what was recorded.
func TestAnyAssemblyKeepsTheInvariants(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	rapid.Check(t, func(rt *rapid.T) {
		one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, label) }
		a := client.DefaultAssembly()
		a.Provider = one("provider", "first_party", "bedrock", "third_party")
		s := &a.System
		s.Split, s.ToolMarker, s.MCP = "sections", one("tools", "none", "last"), one("mcp", "deferred", "prefix")
		s.HeaderInKey, s.ClaudeMD = one("header", "by_provider", "true", "false"), one("files", "reminder", "system")
		s.MCPTools, s.Sizes.Static = rapid.Int32Range(0, 15000).Draw(rt, "servers"), rapid.Int32Range(0, 5000).Draw(rt, "static")
		s.Custom, s.Memoised = rapid.Bool().Draw(rt, "custom"), rapid.Bool().Draw(rt, "memoised")
		s.RenderedReuse, s.UncachedChange = rapid.Bool().Draw(rt, "reuse"), rapid.Float64Range(0, 1).Draw(rt, "changes")
		a.TTL.Choice, a.TTL.Latch = one("lifetime", "recorded", "5m", "1h", "policy"), rapid.Bool().Draw(rt, "latch")
		c := testConfig(t, one("strategy", "none", "recorded", "auto-compact/167k", "truncate-oldest"))
		c.Assembly = &a
		for range rapid.IntRange(0, 8).Draw(rt, "events") {
			e := atRound(rapid.Int32Range(1, 60).Draw(rt, "round"), one("do", changes.Names()...), "")
			e.Threads = one("threads", "main", "all")
			if e.Do == "model" {
				e.Value = one("model", "claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5")
			}
			c.Events = append(c.Events, e)
		}
		b := newSession("s").turns(50, 0, 4000)
		b.thread(traces.Thread{ID: "a", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 20, Prefix: traces.Span{From: 0, To: 3}})
		b.turns(5, second, 1000)
		first := int64(0)
		c.Record = func(r *results.CallRecord) {
			if r.First && r.Thread == 0 {
				first = r.Context
			}
		}
		if _, err := NewLoop(c).Run(b.session()); err != nil {
			rt.Fatal(err)
		}
		atStart := slices.ContainsFunc(c.Events, func(e client.Event) bool { return e.At.Round == 1 })
		if first != 18_300 && !atStart {
			rt.Fatalf("the first request has %d tokens, the recorded one 18,300", first)
		}
	})
}
