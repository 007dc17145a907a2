package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/google/go-cmp/cmp"
)

// Tools of servers that are connected from the start are part of the recorded 12,000, of which
// one token at least is the client's own; asked for more, that is counted.
func TestServersToolsFit(t *testing.T) {
	for tokens, refused := range map[int32]int{3000: 0, 11_999: 0, 12_000: 1} {
		s := threeCalls()
		c := headConfig(t, "none", func(a *client.Assembly) { a.System.MCP, a.System.MCPTools = "prefix", tokens })
		row, calls := run(t, c, s)
		if row.Reasons["system prompt: the tools of servers are larger than all recorded ones"] != refused || calls[0].Context != 18_300 {
			t.Errorf("%d tokens: %v, a request of %d", tokens, row.Reasons, calls[0].Context)
		}
		l := laid(t, c, s)
		if b := l.threads[0].Context.BlockAt(0); b.Tokens != 12_000 || tokens == 3000 && b.Bytes != 36_000 {
			t.Errorf("%d tokens: %d tokens of tools in %d bytes, recorded as 12,000 in 36,000", tokens, b.Tokens, b.Bytes)
		}
	}
}

// Further tools have four bytes a token, and so has a notice that stands in their place.
func TestBytesOfEvents(t *testing.T) {
	l := laid(t, headConfig(t, "none", nil, atRound(2, "tools_change", "700")), threeCalls())
	if b := l.threads[0].Context.BlockAt(0); b.Tokens != 12_700 || b.Bytes != 36_000+4*700 {
		t.Errorf("%d tokens of tools in %d bytes", b.Tokens, b.Bytes)
	}
	l = laid(t, headConfig(t, "none", nil, atRound(2, "output_style", "120")), threeCalls())
	for i := range l.threads[0].Context.Len() {
		if b := l.threads[0].Context.BlockAt(i); b.Kind == prompt.KindAttachment && (b.Tokens != 120 || b.Bytes != 480) {
			t.Errorf("a notice of %d tokens in %d bytes", b.Tokens, b.Bytes)
		}
	}
}

// headless is a session with one block of a kind, 6,000 tokens, before its messages.
func headless(kind prompt.Kind) *traces.Session {
	s := threeCalls()
	s.Blocks[0].Kind, s.Blocks[0].Tokens = kind, 6000
	s.Threads[0].Prefix.To = s.Threads[0].Prefix.From + 1
	return s
}

// What is not there is not changed: a prompt and project files of a client that sends tools
// alone. A prompt that stands first is.
func TestEventsOfWhatIsNotThere(t *testing.T) {
	for name, tc := range map[string]struct {
		kind prompt.Kind
		do   string
		want int64 // tokens more from the third call on
		why  string
	}{
		"a prompt":           {prompt.KindTools, "system_change", 0, "no system prompt stands in the context"},
		"project files":      {prompt.KindTools, "claude_md_edit", 0, "no project files stand in the context"},
		"a prompt, first":    {prompt.KindSystem, "system_change", 1000, ""},
		"tools":              {prompt.KindSystem, "tools_change", 0, "no tools stand in the context"},
		"files in reminders": {prompt.KindReminder, "claude_md_edit", 1000, ""},
	} {
		s := headless(tc.kind)
		_, before := run(t, testConfig(t, "none"), s)
		c := headConfig(t, "none", func(a *client.Assembly) { a.System.Memoised = false }, atRound(3, tc.do, "1000"))
		row, calls := run(t, c, s)
		changes := 0
		if tc.want > 0 {
			changes = 1
		}
		if got := calls[2].Context - before[2].Context; got != tc.want || row.N(measures.HeadChanges) != changes ||
			calls[1].Context != before[1].Context {
			t.Errorf("%s: %d tokens more, %d changes; want %d", name, got, row.N(measures.HeadChanges), tc.want)
		}
		var why map[string]int
		if tc.why != "" {
			why = map[string]int{"event 1 (" + tc.do + "): " + EventIdle + tc.why: 1}
		}
		if diff := cmp.Diff(why, row.Reasons); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// An event without an effect says why: of nine in a conversation of one turn and three calls, one changes requests.
func TestEventsSayWhyNothingChanges(t *testing.T) {
	c := headConfig(t, "none", nil,
		atRound(2, "effort", "high"), atRound(3, "effort", "high"), atRound(2, "claude_md_edit", "500"), atRound(2, "flag_change", ""),
		atRound(4, "tools_change", "10"), atRound(2, "mcp_disconnect", ""), atRound(2, "permission", ""),
		atRound(2, "model", "claude-opus-4-5"), atRound(2, "overage", "off"))
	row, _ := run(t, c, threeCalls())
	want := map[string]int{
		"event 2 (effort): changes nothing: requests have that value already":                    1,
		"event 3 (claude_md_edit): is not shown: no compaction of the main conversation follows": 1,
		"event 4 (flag_change): is not shown: no person's prompt follows":                        1,
		"event 5 (tools_change): does not happen: the moment does not come":                      1,
		"event 6 (mcp_disconnect): changes nothing: no server is connected":                      1,
		"event 7 (permission): changes nothing: it adds no tokens":                               1,
		"event 8 (model): changes nothing: calls go to that model already":                       1,
		"event 9 (overage): changes nothing: requests have that value already":                   1,
	}
	if diff := cmp.Diff(want, row.Reasons); diff != "" {
		t.Error(diff)
	}
	// A compaction, of the third call's 20,700 tokens, renders project files again.
	a := headConfig(t, "auto-compact/167k", nil, atRound(2, "claude_md_edit", "500"))
	row, _ = run(t, a, newSession("head").turns(12, 0, 20_000).session())
	if row.N(measures.Compactions) == 0 || len(row.Reasons) > 0 {
		t.Errorf("%d compactions, reasons %v", row.N(measures.Compactions), row.Reasons)
	}
}

// The section that is not cached may change with every request, if there is one.
func TestUncachedSectionChanges(t *testing.T) {
	for size, want := range map[int32]int64{100: 2, 0: 0} {
		c := headConfig(t, "none", func(a *client.Assembly) {
			divided(a)
			a.System.Sizes.Uncached, a.System.UncachedChange = size, 1
		})
		row, _ := run(t, c, threeCalls())
		if got := int64(row.N(measures.HeadChanges)); got < want || (got > 0) != (want > 0) {
			t.Errorf("a section of %d tokens: %d changes in three calls, want %d", size, got, want)
		}
	}
}

// A memoised section grows at each compaction by what came since the one before: ten lines of
// 39 tokens behind five turns, twenty behind ten.
func TestMemoriesGrowByCompactions(t *testing.T) {
	b := newSession("s")
	var at []int32
	for range 2 {
		b.looping(5, 1)
		at = append(at, int32(len(b.s.Threads[0].Rounds)))
	}
	s := b.looping(2, 1).session()
	for _, n := range at {
		s.Threads[0].Events = append(s.Threads[0].Events, traces.Event{Kind: traces.EventCompact, Manual: true, Round: n})
	}
	const full = "  - full-compact: {trigger: {fixed: 150000}, manual: true, attachments: {plan: false, plan_mode: 0, agent_status: 0}}\n"
	last := func(layers string) int64 {
		_, calls := run(t, written(t, layers), s)
		own := callsOf(calls, measures.SourceMain)
		return own[len(own)-1].Context
	}
	if got := last(full+"  - memory-extraction: {saves: 1, growth: 2}\n") - last(full); got != 20*39 {
		t.Errorf("%d tokens of memories behind two compactions, want %d", got, 20*39)
	}
}
