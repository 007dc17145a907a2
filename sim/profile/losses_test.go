package profile

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// share is a row of losses.
func share(seconds, value, kept float64) GapShare {
	return GapShare{Seconds: seconds, Kept: kept, Estimate: Estimate{Value: value}}
}

// A call has the share of its kind of cache, its place and its gap, and late calls of a thread their own.
func TestRateOfCase(t *testing.T) {
	late := share(600, 0.03, 0.9)
	late.After = 11
	l := Losses{
		Automatic: Places{ToolResult: []GapShare{late, share(600, 0.1, 0.6), share(86400, 0.4, 0.5)}, Prompt: []GapShare{share(60, 0.2, 0.7)}},
		Marked:    Places{ToolResult: []GapShare{share(60, 0.001, 0)}, Agent: []GapShare{share(60, 0.002, 0)}},
	}
	for _, tc := range []struct {
		at          Case
		share, kept float64
	}{
		{Case{Automatic: true, Ordinal: 10}, 0.1, 0.6},
		{Case{Automatic: true, Ordinal: 11}, 0.03, 0.9},
		{Case{Automatic: true, Ordinal: 30, Gap: 700e9}, 0.4, 0.5},
		{Case{Automatic: true, Gap: 1e15}, 0.4, 0.5}, // the last row has all longer gaps
		{Case{Automatic: true, Prompt: true}, 0.2, 0.7},
		{Case{Automatic: true, Agent: true}, 0.1, 0.6}, // without rows those after tool results
		{Case{Agent: true}, 0.002, 0},
		{Case{}, 0.001, 0},
		{Case{Prompt: true}, 0, 1}, // no rows
	} {
		if share, kept := l.Rate(&tc.at); share != tc.share || kept != tc.kept {
			t.Errorf("%+v: %g, %g; want %g, %g", tc.at, share, kept, tc.share, tc.kept)
		}
	}
}

// By hand: without a gap 300 calls at 1 % and 100 at 5 % lose 2 %, and of late calls those for late ones alone count; with a tenth
// kept, nine tenths of each are lost.
func TestMeanOfCase(t *testing.T) {
	row := func(after, n int, seconds, value float64) GapShare {
		return GapShare{After: after, Seconds: seconds, Kept: 0.1, Estimate: Estimate{Value: value, N: n}}
	}
	l := Losses{Automatic: Places{ToolResult: []GapShare{row(11, 50, 600, 0.005), row(0, 300, 60, 0.01), row(0, 100, 600, 0.05)}}}
	for ordinal, want := range map[int]float64{10: 0.02, 11: 0.005} {
		if share, lost := l.mean(&Case{Automatic: true, Ordinal: ordinal}); math.Abs(share-want) > 1e-12 || math.Abs(lost-0.9*want) > 1e-12 {
			t.Errorf("call %d: %g, %g lost, want %g and nine tenths of it", ordinal, share, lost, want)
		}
	}
}

// shownProfile returns a profile whose calls lose one in a hundred, and with it half of what
// they read, and which has learned sessions.
func shownProfile(list ...Shown) *Profile {
	rows := []GapShare{share(86400, 0.01, 0.5)}
	p := &Profile{Losses: Losses{Automatic: Places{ToolResult: rows}, Marked: Places{ToolResult: rows}}}
	p.LearnLosses(list)
	return p
}

// laterCalls is a session that was due n losses of 1,000 tokens each and missed some.
func laterCalls(agent, provider, session string, n, missing int64) Shown {
	return Shown{Agent: agent, Provider: provider, Model: "m", Series: "1.2", Session: session, Later: 100 * n, LaterTokens: 200_000 * n, Missing: missing}
}

// By hand, with leaning 0.5 and sessionLosses 3: a session that was due 3 losses of 1,000
// tokens and missed 15,000 lost five times as much, and counts for 1.5 losses. Predicting another
// session like it, all five levels have it alone: (0.5 + 7.5)/(0.5 + 1.5) = 4, then
// (0.5·4 + 7.5)/2 = 4.75, 4.9375, 4.984375, 4.99609375; it rests on that session, and all other sessions count for one more.
func TestTimesLost(t *testing.T) {
	p := shownProfile(laterCalls("a", "x", "1", 3, 15_000))
	at := laterCalls("a", "x", "2", 0, 0)
	if got := p.TimesLost(&at); math.Abs(got.Times-4.99609375) > 1e-9 || got.Sessions != 2 {
		t.Errorf("%+v, want 4.99609375 times by 2 sessions", got)
	}
	// What nobody has seen leans on the levels above it: a level without sessions has what is above.
	for _, tc := range []struct {
		at       Shown
		want     float64
		sessions int
	}{
		{Shown{Agent: "a", Provider: "x", Model: "m", Series: "1.3", Session: "2"}, 4.984375, 2},
		{Shown{Agent: "a", Provider: "x", Model: "n", Series: "1.2", Session: "2"}, 4.9375, 2},
		{Shown{Agent: "b", Provider: "x", Model: "m", Series: "1.2", Session: "2"}, 4.984375, 2}, // a loss is the server's doing, whoever calls
		{Shown{Agent: "a", Provider: "x", Gateway: "g", Model: "m", Series: "1.2", Session: "2"}, 4.75, 1},
		{Shown{Agent: "b", Provider: "y", Session: "2"}, 4, 1},
		{Shown{Agent: "a", Provider: "x", Session: "2", Marked: true}, 1, 1},              // another kind of cache
		{Shown{Agent: "a", Provider: "x", Model: "m", Series: "1.2", Session: "1"}, 1, 1}, // it tells nothing about itself
	} {
		got := p.TimesLost(&tc.at)
		if math.Abs(got.Times-tc.want) > 1e-9 || got.Sessions != tc.sessions {
			t.Errorf("%+v: %+v, want %g times by %d", tc.at, got, tc.want, tc.sessions)
		}
	}
	if got := (&Profile{}).TimesLost(&at); got != (Pooled{1, 1}) {
		t.Errorf("%+v where nothing is shown, want once", got)
	}
}

// By hand: of three losses of 1,000 tokens that a session was due it missed fifteen, (0.35 + 15)/(0.35 + 3), or none, 0.35/3.35; where others
// lose half as much, it counts for less against them, 15.35/(0.7 + 3). Before its first call, and where others lose nothing, nothing changes.
func TestOwnCallsTellLosses(t *testing.T) {
	p := shownProfile()
	for _, tc := range []struct {
		times      float64
		n, missing int64
		want       float64
	}{{1, 3, 15_000, 15.35 / 3.35}, {1, 3, 0, 0.35 / 3.35}, {0.5, 3, 15_000, 15.35 / 3.7}, {2, 0, 0, 2}, {0, 3, 15_000, 0}} {
		own := laterCalls("a", "x", "1", tc.n, tc.missing)
		if got := p.Losses.Since(tc.times, &own); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v: %g times, want %g", tc, got, tc.want)
		}
	}
}

// The calls that the shares of caches with markers were fitted on stand for Claude Code at Anthropic: one session of
// another agent there, which loses eight times as much, hardly raises what a third agent is expected to lose.
// By hand: the shares were fitted on 20 losses, the session counts for 0.75 of 1. All and Anthropic have
// (0.5 + 20 + 6)/(0.5 + 20.75) = 1.2471 and (0.5·1.2471 + 26)/21.25 = 1.2529.
func TestClaudeCodeIsOfItsProvider(t *testing.T) {
	p := &Profile{Losses: Losses{Marked: Places{ToolResult: []GapShare{share(3600, 0.01, 0)}}}}
	p.Losses.Marked.ToolResult[0].N = 2000
	p.LearnLosses([]Shown{{Agent: "pi", Provider: "anthropic", Session: "1", Marked: true, Later: 100, LaterTokens: 1e6, Missing: 80_000}})
	at := Shown{Agent: "copilot-cli", Provider: "anthropic", Gateway: "github-copilot", Session: "2", Marked: true}
	if got := p.TimesLost(&at); math.Abs(got.Times-1.2529) > 1e-3 || got.Sessions != 1 {
		t.Errorf("%+v, want 1.2529 times by none of its own", got)
	}
}

// Sessions are learned once, and kept in a profile's file.
func TestShownIsKept(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	n := len(p.Losses.Sessions)
	one := laterCalls("a", "x", "1", 3, 15_000)
	p.LearnLosses([]Shown{laterCalls("a", "x", "1", 2, 0)})
	p.LearnLosses([]Shown{one})
	if len(p.Losses.Sessions) != n+1 || !slices.Contains(p.Losses.Sessions, one) {
		t.Errorf("%d sessions, want one more than %d, as it was last", len(p.Losses.Sessions), n)
	}
	if again, _ := Default(); len(again.Losses.Sessions) != n {
		t.Error("the default profile has learned too")
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	q, err := Parse([]byte(text.String()), "p")
	if err != nil {
		t.Fatal(err)
	}
	at := laterCalls("a", "x", "2", 0, 0)
	if got, want := q.TimesLost(&at), p.TimesLost(&at); got != want {
		t.Errorf("%+v read again, %+v written", got, want)
	}
	for text, want := range map[string]string{
		"sessions: [{agent: a, session: b, later_calls: -1}]":                    "later_calls",
		"automatic_caches: {after_prompt: [{to_seconds: 1, kept: 2}]}":           "kept 2 must lie in 0…1",
		"automatic_caches: {after_prompt: [{to_seconds: 1, value: 2}]}":          "after_prompt[0]: 2 must lie in",
		"marked_caches: {in_sub_agent: [{to_seconds: 2}, {to_seconds: 1}]}":      "gaps must ascend",
		"marked_caches: {after_tool_result: [{to_seconds: 1}, {to_seconds: 1}]}": "gaps must ascend",
	} {
		if _, err := Parse([]byte("unexplained_losses: {"+text+"}\n"), "p.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// By hand: of another session's 1,000 tokens 900 were read, of a third's none; with one beside them that reads nothing 0.9/3. A
// session tells nothing about itself, and other models and agents nothing at all.
func TestFirstShare(t *testing.T) {
	opened := func(agent, model, session string, found int64) Shown {
		return Shown{Agent: agent, Model: model, Session: session, Opened: 1000, Found: found}
	}
	p := shownProfile(opened("a", "m", "1", 900), opened("a", "m", "2", 0), opened("a", "m", "3", 1000), opened("b", "m", "4", 1000), opened("a", "n", "5", 1000))
	for _, tc := range []struct {
		at   Shown
		want float64
	}{{opened("a", "m", "3", 1000), 0.3}, {opened("a", "m", "6", 0), 1.9 / 4}, {opened("c", "m", "6", 0), 0}} {
		if got := p.FirstShare(&tc.at); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%+v: %g, want %g", tc.at, got, tc.want)
		}
	}
}
