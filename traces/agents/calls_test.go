package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

func saying(k prompt.Kind, text string) []Block { return []Block{{Kind: k, Text: text}} }

// Calls of one program: what repeats, what a sub-agent does, and what cannot be.
func TestFromCalls(t *testing.T) {
	at := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	call := func(second, in int, lane string, messages ...[]Block) Call {
		start := at.Add(time.Duration(second) * time.Second)
		return Call{
			Model: "claude-opus-4-6", Lane: lane, Start: start, End: start.Add(2 * time.Second), Tools: strings.Repeat("t", 4000), Messages: messages,
			Reply: saying(prompt.KindText, "yes"), Usage: prompt.Usage{Uncached: int64(in), Output: 5},
		}
	}
	u, a, v := saying(prompt.KindPrompt, "one"), saying(prompt.KindText, "yes"), saying(prompt.KindPrompt, "two")
	c, err := FromCalls(traces.Options{}, Conversation{ID: "s", Project: "p", Markers: 2, Calls: []Call{
		call(0, 2000, "", u), call(10, 2100, "", u, a, v), call(4, 500, "helper", saying(prompt.KindPrompt, "help")),
	}}, Conversation{ID: "o", Calls: []Call{call(20, 2000, "")}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sessions[0]
	if len(c.Sessions) != 2 || s.ID != "s" || len(s.Threads) != 2 || len(s.Threads[0].Rounds) != 2 || s.Threads[1].ID != "helper" || s.Placements[0].Messages() != 2 {
		t.Fatalf("%d sessions, the first %+v", len(c.Sessions), s)
	}
	if r := &s.Threads[0].Rounds[1]; r.Wait != 8e9 || r.Trigger != traces.TriggerPrompt || r.Verdict != signs.VerdictSame {
		t.Errorf("%+v", r)
	}
	if head := s.Blocks[s.Threads[0].Prefix.From]; head.Kind != prompt.KindTools || head.Tokens < 900 {
		t.Errorf("head %+v", head)
	}
	for _, bad := range []Conversation{{ID: "none"}, {ID: "zero", Calls: []Call{call(0, 0, "", u)}}, {ID: "negative", Calls: []Call{call(0, -1, "", u)}}} {
		if _, err := FromCalls(traces.Options{}, bad); err == nil {
			t.Errorf("%s: no error", bad.ID)
		}
	}
}
