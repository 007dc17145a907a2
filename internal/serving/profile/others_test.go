package profile

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// othersProfile returns a profile whose calls lose one in a hundred, and with it half of what
// they read, and which has learned sessions of other agents.
func othersProfile(list ...Other) *Profile {
	p := &Profile{Codex: Codex{Losses: []CodexLoss{
		{Model: "m", Kept: 0, Estimate: Estimate{Value: 0.5}}, // of Codex alone: sessions of others with the model are not measured by it
		{Kept: 0.5, Estimate: Estimate{Value: 0.01}},
	}}}
	p.LearnOthers(list)
	return p
}

// laterOther is a session that was due n losses of 1,000 tokens each and missed some.
func laterOther(agent, provider, session string, n, missing int64) Other {
	return Other{Agent: agent, Provider: provider, Model: "m", Session: session, Later: 100 * n, LaterTokens: 200_000 * n, LaterShort: missing}
}

// By hand, with otherLosses 0.5 and sessionLosses 3: a session that was due 3 losses of 1,000
// tokens counts for half, 1.5 losses, and one that missed 15,000 tokens for 7,500. Predicting
// another session of the agent, all three levels have it alone: (0.5 + 7.5)/(0.5 + 1.5) = 4, then
// (0.5·4 + 7.5)/2 = 4.75, (0.5·4.75 + 7.5)/2 = 4.9375, and of later calls 4.984375; it rests on
// that session, and the others count for one more.
func TestOtherLosses(t *testing.T) {
	p := othersProfile(laterOther("a", "x", "1", 3, 15_000))
	at := Other{Agent: "a", Provider: "x", Session: "2"}
	if got := p.OtherLosses(&at, true); math.Abs(got.Times-4.984375) > 1e-9 || got.Sessions != 2 {
		t.Errorf("%+v, want 4.984375 times by 2 sessions", got)
	}
	// An agent nobody has seen, at the provider and elsewhere, leans on the levels above it.
	for _, tc := range []struct {
		at   Other
		want float64
	}{
		{Other{Agent: "b", Provider: "x", Session: "2"}, 4.75},
		{Other{Agent: "b", Provider: "y", Session: "2"}, 4},
		{Other{Agent: "a", Provider: "x", Session: "2", Marked: true}, 4}, // another kind of cache
		{Other{Agent: "a", Provider: "x", Session: "1"}, 1},               // it tells nothing about itself
	} {
		got := p.OtherLosses(&tc.at, true)
		if math.Abs(got.Times-tc.want) > 1e-9 || got.Sessions != 1 {
			t.Errorf("%+v: %+v, want %g times", tc.at, got, tc.want)
		}
	}
	if got := (&Profile{}).OtherLosses(&at, true); got != (Pooled{1, 1}) {
		t.Errorf("%+v where nothing is shown, want once", got)
	}
}

// Early calls that lose more than later ones keep their own proportion, drawn to that of both.
func TestOtherLossesEarlyAndLater(t *testing.T) {
	o := laterOther("a", "x", "1", 3, 0)
	o.Early, o.EarlyTokens, o.EarlyShort = o.Later, o.LaterTokens, 30_000
	p := othersProfile(o)
	at := Other{Agent: "a", Provider: "x", Session: "2"}
	if early, later := p.OtherLosses(&at, false), p.OtherLosses(&at, true); !(early.Times > 5 && later.Times < 2.5) || early.Sessions != later.Sessions {
		t.Errorf("early %+v, later %+v", early, later)
	}
}

// Sessions are learned once, and kept in a profile's file.
func TestOthersAreKept(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	n := len(p.Others)
	one := laterOther("a", "x", "1", 3, 15_000)
	p.LearnOthers([]Other{laterOther("a", "x", "1", 2, 0)})
	p.LearnOthers([]Other{one})
	if len(p.Others) != n+1 || !slices.Contains(p.Others, one) {
		t.Errorf("%d sessions, want one more than %d, as it was last", len(p.Others), n)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	q, err := Parse([]byte(text.String()), "p")
	if err != nil {
		t.Fatal(err)
	}
	at := Other{Agent: "a", Provider: "x", Session: "2"}
	if got, want := q.OtherLosses(&at, true), p.OtherLosses(&at, true); got != want {
		t.Errorf("%+v read again, %+v written", got, want)
	}
	if _, err := Parse([]byte("other_agents: [{agent: a, session: b, later_calls: -1}]\n"), "p.yaml"); err == nil {
		t.Error("a negative number of calls is read")
	}
}
