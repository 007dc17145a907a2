package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Three calls whose results have 4,000 tokens each, of the session above: what they say is found once for all loops of a batch, where
// clients count alike, and apart for a client that counts two bytes of a tool's input as a token.
func TestRecordedIsFoundOnce(t *testing.T) {
	s := newSession("s").turns(3, 0, 4000).session()
	all := &recordings{}
	said := func(known *recordings, bytes int) *recorded {
		a := client.DefaultAssembly()
		a.Count.ToolInputBytes = bytes
		c := testConfig(t, "none")
		c.Assembly = &a
		l := NewLoop(c)
		l.recordings = known
		for range 2 {
			if _, err := l.Run(s); err != nil {
				t.Fatal(err)
			}
		}
		return l.replays[0].recorded
	}
	first := said(all, 4)
	if len(first.scores) != 1 || len(first.scores[0]) != 3 {
		t.Fatalf("%d threads have scores, the first of %d calls; want 1, 3", len(first.scores), len(first.scores[0]))
	}
	if said(all, 4) != first {
		t.Error("a second loop of the batch finds it again")
	}
	if said(all, 2) == first {
		t.Error("a client that counts otherwise takes the scores of the first")
	}
	if alone := said(nil, 4); alone == first || alone.scores[0][2] != first.scores[0][2] {
		t.Errorf("a loop by itself has %+v for the last call, the batch %+v", alone.scores[0][2], first.scores[0][2])
	}
}

// A loop by itself that runs a session again after its caller changed it finds what is there now: the first block is a listing of skills.
func TestRecordedOfAChangedSession(t *testing.T) {
	s := newSession("s").turns(3, 0, 4000).session()
	l := NewLoop(testConfig(t, "none"))
	run := func() float64 {
		if _, err := l.Run(s); err != nil {
			t.Fatal(err)
		}
		return float64(l.replays[0].recorded.listing)
	}
	if n := run(); n != 0 {
		t.Fatalf("a listing of %g tokens before there is one", n)
	}
	first := &s.Blocks[s.Threads[0].Rounds[0].Input.From]
	first.Flags |= prompt.FlagListing
	if n := run(); n != float64(first.Tokens) {
		t.Errorf("a listing of %g tokens, want %d", n, first.Tokens)
	}
}
