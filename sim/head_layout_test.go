package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// laid runs a session and returns the loop behind it, to look at heads.
func laid(t *testing.T, c Config, s *traces.Session) *Loop {
	t.Helper()
	l := NewLoop(c)
	if _, err := l.Run(s); err != nil {
		t.Fatal(err)
	}
	return l
}

// headTokens returns the tokens of a thread's entries ahead of the messages, and checks that what
// the client writes there itself is of no file and has four bytes a token.
func headTokens(t *testing.T, th *thread, written func(i int) bool) (tokens []int32) {
	t.Helper()
	for i := range th.Context.Messages() {
		tokens = append(tokens, th.Context.At(i).Tokens)
		if b := th.Context.BlockAt(i); written(i) && (b.Object >= 0 || b.Bytes != 4*b.Tokens) {
			t.Errorf("entry %d of the head: %+v", i, b)
		}
	}
	return tokens
}

// The memory of a sub-agent stands behind its system prompt, behind its tools where it has no
// prompt, and nowhere when it has none.
func TestPlaceOfAnAgentsMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		memory int32
		system bool
		want   []int32
	}{
		"behind the prompt":      {600, true, []int32{6000, 2000, 600}},
		"behind the tools":       {600, false, []int32{6000, 600}},
		"without a memory":       {0, true, []int32{6000, 2000}},
		"without one or another": {0, false, []int32{6000}},
	} {
		b := newSession("s").turns(2, 0, 1000)
		b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0})
		agent := &b.s.Threads[1]
		agent.Prefix.From = b.block(prompt.KindTools, 6000)
		agent.Prefix.To = agent.Prefix.From + 1
		if tc.system {
			agent.Prefix.To = b.block(prompt.KindSystem, 2000) + 1
		}
		s := b.turns(1, 0, 0).session()
		c := headConfig(t, "none", func(a *client.Assembly) {
			a.System.ToolMarker, a.System.AgentMemory.Tokens = client.ToolMarkerLast, tc.memory
		})
		l := laid(t, c, s)
		last := len(tc.want) - 1
		got := headTokens(t, l.threads[1], func(i int) bool { return tc.memory > 0 && i == last })
		if len(got) != len(tc.want) || got[last] != tc.want[last] {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Sections that fit are cut nowhere, are text of the client, and where they end together they
// have one marker: tools 12,000, billing header 40, identity 15, and a static section of the rest.
func TestSectionsThatFit(t *testing.T) {
	c := headConfig(t, "none", func(a *client.Assembly) {
		divided(a)
		a.System.DynamicScope, a.System.Sizes.Memoised, a.System.Sizes.Uncached = "org", 0, 0
	})
	var o served
	c.Observer = &o
	s := threeCalls()
	row, _ := run(t, c, s)
	if len(row.Reasons) != 0 {
		t.Errorf("%v", row.Reasons)
	}
	var at []int32
	for _, m := range o.markers[0] {
		at = append(at, m.Position)
	}
	if len(at) != 3 || at[0] != 2 || at[1] != 3 {
		t.Errorf("markers at %v, want them behind identity, static section and prompt", at)
	}
	l := laid(t, c, s)
	if got := headTokens(t, l.threads[0], func(i int) bool { return i > 0 && i < 4 }); len(got) < 4 || got[1] != 40 || got[2] != 15 || got[3] != 3945 {
		t.Errorf("the head is %v", got)
	}
}

// Project files are taken out of the recorded reminders as far as those go, of which a
// token stays; a reminder of one token has none.
func TestProjectFilesOfTheReminder(t *testing.T) {
	for reminder, want := range map[int32]struct{ context, refused int }{2000: {18_300, 0}, 2: {16_302, 0}, 1: {16_301, 1}} {
		s := threeCalls()
		s.Blocks[2].Tokens = reminder
		c := headConfig(t, "none", func(a *client.Assembly) {
			divided(a)
			a.System.ClaudeMD, a.System.ClaudeMDTokens = client.ClaudeMDSystem, 5000
		})
		row, calls := run(t, c, s)
		if int(calls[0].Context) != want.context || row.Reasons["system prompt: no recorded reminders to take project files from"] != want.refused {
			t.Errorf("reminders of %d: %d tokens, %v", reminder, calls[0].Context, row.Reasons)
		}
	}
}

// A recorded call that wrote nothing keeps the lifetime of the one before.
func TestLifetimeOfARecordedCall(t *testing.T) {
	l := laid(t, testConfig(t, "none"), threeCalls())
	th := l.threads[0]
	for i, tc := range []struct {
		usage prompt.Usage
		want  exchange.TTL
	}{
		{prompt.Usage{Write1h: 10}, exchange.TTL1h}, {prompt.Usage{Read: 10}, exchange.TTL1h},
		{prompt.Usage{Write5m: 10}, exchange.TTL5m}, {prompt.Usage{Read: 10}, exchange.TTL5m}, {prompt.Usage{Write1h: 1, Write5m: 9}, exchange.TTL1h},
	} {
		if got := th.head.Renew(&traces.Round{Usage: tc.usage}); got != tc.want {
			t.Errorf("call %d, %+v: %v, want %v", i, tc.usage, got, tc.want)
		}
	}
}
