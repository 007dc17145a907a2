package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// oddSessions are conversations in forms that recordings have seldom: all strategies must bring them to their end.
func oddSessions() map[string]*traces.Session {
	list := map[string]*traces.Session{}
	bare := newSession("nothing before the messages").turns(30, 0, 6000).answer().turns(6, 2*minute, 9000).answer().session()
	bare.Threads[0].Prefix = traces.Span{}
	list[bare.ID] = bare
	only := newSession("a prompt alone").turns(1, 0, 0).session()
	only.Threads[0].Prefix = traces.Span{}
	list[only.ID] = only
	b := newSession("calls without visible input")
	for range 12 {
		b.turns(4, 0, 8000).answer().again().again().answer()
	}
	list[b.s.ID] = b.session()
	b = newSession("responses without a block")
	for range 12 {
		b.turns(4, minute, 8000)
		r := b.round(traces.TriggerPrompt, 0, 500)
		r.Reply.From = r.Reply.To
		b.turns(2, 0, 500).answer()
	}
	list[b.s.ID] = b.session()
	b = newSession("branches of branches").turns(20, 0, 7000).answer().turns(3, minute, 7000)
	for i := range int32(4) {
		b.thread(traces.Thread{ID: string('a' + i), Kind: traces.ThreadBranch, Parent: i, ParentRound: 1, Delay: second})
		b.turns(20, minute, 7000).answer().turns(3, 0, 7000)
	}
	list[b.s.ID] = b.session()
	return list
}

// Every strategy that can be replayed brings conversations in odd forms to their end, with all invariants.
func TestEveryStrategyOnOddSessions(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	sessions := oddSessions()
	for _, s := range sessions {
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Kind == prompt.KindToolUse || b.Kind == prompt.KindToolResult {
				b.Tool, b.Op = 1, op.Read
			}
		}
	}
	ran := 0
	for _, name := range registry.Presets() {
		strategy, err := registry.Strategy(name)
		if err != nil || strategy.Origin.NotRun != "" {
			continue
		}
		c := testConfig(t, "none")
		c.Strategy, c.Window = strategy, 100_000
		l := NewLoop(c)
		for form, s := range sessions {
			if _, err := l.Run(s); err != nil {
				t.Errorf("%s on %s: %v", name, form, err)
			}
			ran++
		}
	}
	if ran < 400 {
		t.Errorf("%d simulations", ran)
	}
}
