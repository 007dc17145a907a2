package learning

import (
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// A response without a tool call ends a turn; of a client that logs the ends of turns the log
// must say so too. Of the ends of turns, those tell of a hidden call after which the next prompt
// read more than was left.
func TestHidden(t *testing.T) {
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	hidden := func(signs ...signs.Set) profile.Habit {
		s := &traces.Session{
			ID: "s", Agent: facts.ClaudeCode, Versions: []string{"2.1.100"}, Models: []string{"claude-opus-4-6"},
			Blocks: []prompt.Block{{Kind: prompt.KindText}, {Kind: prompt.KindToolUse}},
		}
		th := traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}
		for i, sign := range signs {
			r := traces.Round{Signs: sign, Reply: traces.Span{To: 1}, Trigger: traces.TriggerPrompt, Usage: prompt.Usage{Read: 1000, Write5m: 1000}}
			if i == 1 {
				r.Reply.To = 2 // a tool call beside the text
			}
			if i == 3 {
				r.Usage.Read = 2000 + 1 // of the 2,000 that the call before left
			}
			if i > 0 && i < 3 {
				r.Usage.Read = 2000
				r.Usage.Write5m = 0
			}
			th.Rounds = append(th.Rounds, r)
		}
		s.Threads = []traces.Thread{th}
		list := Hidden(&profile.Profile{}, []*traces.Session{s}, prices)
		if len(list) != 1 {
			t.Fatalf("%d habits, want 1: %+v", len(list), list)
		}
		return list[0]
	}
	if h := hidden(0, 0, 0, 0); h.N != 2 || h.Value != 0.5 {
		t.Errorf("without a log %+v, want 1 of 2: the rounds 1 and 3", h)
	}
	if h := hidden(0, 0, signs.TurnEnd, signs.TurnEnd); h.N != 1 || h.Value != 1 {
		t.Errorf("with a log %+v, want 1 of 1: round 3", h)
	}
}
