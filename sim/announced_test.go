package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// What a client announced comes back behind a compaction (002:165: the full tool set is
// announced again; 002:166: instructions of servers): what the recording shows, else a draw
// from recordings of the version the session is replayed under, else nothing. A number that
// is set counts more.
func TestAnnouncedAgainBehindACompaction(t *testing.T) {
	one := func(n float64) []float64 { return []float64{n} }
	known := &profile.Profile{Epochs: []string{"2.1.0", "2.1.204"}, Announced: []profile.Announced{{
		From: "2.1.204", Tools: one(300), Agents: one(3000), Servers: one(200), Hooks: one(1000), N: 9,
	}}}
	own := signs.Announced{10, 20, 30, 40}
	for name, tc := range map[string]struct {
		profile          *profile.Profile
		version, release string
		own              signs.Announced
		params           string
		want             int64
	}{
		"none seen":               {profile: known, version: "2.1.25"},
		"of the recording":        {profile: known, version: "2.1.219", own: own, want: 100},
		"without a profile":       {version: "2.1.219", own: own, want: 100},
		"of others":               {profile: known, version: "2.1.219", want: 4500},
		"of a newer client":       {profile: known, version: "2.1.25", release: "2.1.219", want: 4500},
		"of an older client":      {profile: known, version: "2.1.219", release: "2.1.25", own: own},
		"as set":                  {profile: known, version: "2.1.219", params: "attachments: {tool_delta: 0, agent_delta: 1, mcp_delta: 2}, hooks: {session_start: 4}", want: 7},
		"as set, and as recorded": {profile: known, version: "2.1.219", own: own, params: "attachments: {agent_delta: 7}", want: 87},
	} {
		behind := func(announces bool) int64 {
			s := newSession("s").turns(60, 0, 4000).session()
			s.Versions = []string{tc.version}
			params := "attachments: {tool_delta: 0, agent_delta: 0, mcp_delta: 0}, hooks: {session_start: 0}"
			if announces {
				s.Announced, params = tc.own, tc.params
			}
			c := written(t, "  - full-compact: {trigger: {fixed: 150000}, "+params+"}\n")
			c.Profile = tc.profile
			c.Person = func(int, *traces.Session) Person { return Person{Owner: 1, Version: tc.release} }
			_, calls := run(t, c, s)
			for i := 1; i < len(calls); i++ {
				if calls[i-1].Source == measures.SourceCompact {
					return calls[i].Context
				}
			}
			t.Fatal("no compaction")
			return 0
		}
		if got := behind(true) - behind(false); got != tc.want {
			t.Errorf("%s: %d tokens more behind the compaction, want %d", name, got, tc.want)
		}
	}
}

// Sizes are drawn once for a session: over many sessions they are as the profile has them.
func TestAnnouncedIsDrawn(t *testing.T) {
	p := &profile.Profile{Epochs: []string{"2.1.204"}, Announced: []profile.Announced{{From: "2.1.204", Tools: []float64{0, 1000}}}}
	l := NewLoop(testConfig(t, "none"))
	sum, low := 0.0, 0
	const n = 400
	for i := range n {
		s := replay{session: &traces.Session{}, hidden: hidden.Session{Profile: p}, shows: shows{named: true}, version: "2.1.219"}
		s.draws.Session, s.draws.Seed = uint64(i), l.config.Seed
		a := s.announces()
		if a != s.announces() {
			t.Fatalf("%v, and then %v", a, s.announces())
		}
		sum += float64(a[signs.AnnouncedTools])
		if a[signs.AnnouncedTools] < 250 {
			low++
		}
	}
	if mean := sum / n; mean < 450 || mean > 550 || low < n/5 || low > n*3/10 {
		t.Errorf("%.0f tokens in the mean of %d, %d below 250; want about 500 and %d", mean, n, low, n/4)
	}
}
