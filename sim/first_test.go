package sim

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces/facts"
)

// warmFirst is a profile by which half of the first calls of main threads find
// 10,000 tokens that other conversations have cached, and no call of a sub-agent.
func warmFirst() *profile.Profile {
	return &profile.Profile{
		Switches:   profile.Switches{First: true},
		FirstReads: []profile.FirstRead{{Session: "one", Read: 10000}, {Session: "two"}},
	}
}

// What a first call finds is the expected value, half of 10,000 tokens, as long
// as nothing is drawn, and either the whole or nothing when it is.
func TestFirstCallFindsWhatOthersCached(t *testing.T) {
	c := testConfig(t, "none")
	c.Profile = warmFirst()
	s := newSession("a").turns(3, 0, 1000).session()
	_, calls := run(t, c, s)
	if got, want := calls[0].Usage.Read, int64(5000); got != want {
		t.Errorf("the first call reads %d tokens, want %d", got, want)
	}
	plain := testConfig(t, "none")
	_, cold := run(t, plain, s)
	for i := 1; i < len(calls); i++ {
		if calls[i].Usage != cold[i].Usage {
			t.Errorf("call %d is %+v, want %+v as without the profile", i, calls[i].Usage, cold[i].Usage)
		}
	}
	c.ByDraws = true
	warm := 0
	for i := range 200 {
		_, calls := run(t, c, newSession(fmt.Sprint(i)).turns(1, 0, 1000).session())
		switch calls[0].Usage.Read {
		case 10000:
			warm++
		case 0:
		default:
			t.Fatalf("a first call reads %d tokens, want 0 or 10,000", calls[0].Usage.Read)
		}
	}
	if warm < 70 || warm > 130 { // 100 ± 4.2 σ
		t.Errorf("%d of 200 first calls are warm, want about half", warm)
	}
}

// A profile tells of Claude Code: sessions of Codex take nothing from it.
func TestProfileIsOfOneAgent(t *testing.T) {
	c := testConfig(t, "none")
	s := newSession("a").turns(3, 0, 1000).session()
	s.Agent = facts.Codex
	want, _ := run(t, c, s)
	c.Profile = warmFirst()
	if got, _ := run(t, c, s); got.Usage() != want.Usage() {
		t.Errorf("%+v with the profile, %+v without", got.Usage(), want.Usage())
	}
}

// A request without a breakpoint, or with a head of its own, finds nothing that
// other conversations have cached.
func TestNothingIsFoundWithoutABreakpoint(t *testing.T) {
	for name, change := range map[string]func(*client.Assembly){
		"caching is off": func(a *client.Assembly) { a.Env.DisableCaching = "1" },
		"the billing header is in the key": func(a *client.Assembly) {
			divided(a)
			a.System.HeaderInKey = "true"
		},
	} {
		c := headConfig(t, "none", change)
		c.Profile = warmFirst()
		_, calls := run(t, c, newSession("a").turns(3, 0, 1000).session())
		for i := range calls {
			if calls[i].Usage.Read != 0 {
				t.Errorf("%s: call %d reads %d tokens", name, i, calls[i].Usage.Read)
			}
		}
	}
}
