package users

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/traces"
)

// Adding users and organisations leaves the sessions and attributes of existing users as they were.
func TestOthersKeepTheirSessions(t *testing.T) {
	const acme = "acme: {users: %d, resume: 0.3, mcp: 0.5, kinds: {subscriber: 0.5, api: 0.5}, overage: {share: 0.5}}"
	few := parse(t, fmt.Sprintf("organisations: {"+acme+"}", 3))
	more := parse(t, fmt.Sprintf("organisations: {aaa: {users: 2}, "+acme+"}", 5))
	a, b := drawn(t, few), drawn(t, more)
	from := slices.IndexFunc(b, func(s *traces.Session) bool { return s.Project == "acme" })
	for i, s := range a {
		if !reflect.DeepEqual(s, b[from+i]) {
			t.Fatalf("session %s is another once there are more users", s.ID)
		}
	}
	p, q := cast(t, few).list["acme"], cast(t, more).list["acme"]
	for u := range 3 {
		if x, y := few.person(p, u), more.person(q, u); !reflect.DeepEqual(x, y) {
			t.Errorf("user %d: %+v, and with more users %+v", u, x, y)
		}
	}
	if !reflect.DeepEqual(drawnBy(t, few, 1), drawnBy(t, few, 7)) {
		t.Error("seven workers draw other sessions than one")
	}
}

// Users are of the kinds in their shares, within four standard errors.
func TestKindsHaveTheirShares(t *testing.T) {
	s := parse(t, "organisations: {acme: {users: 4000, mcp: 0.3, "+
		"kinds: {employee: 0.05, subscriber: 0.6, api: 0.25, bedrock: 0.04, third_party: 0.06}}}")
	o, counts, servers := cast(t, s).list["acme"], map[string]float64{}, 0.0
	for u := range o.Users {
		who := s.person(o, u)
		counts[who.kind]++
		if who.mcp > 0 {
			servers++
		}
	}
	counts["mcp"] = servers
	shares := map[string]float64{"mcp": 0.3}
	for kind, share := range o.Kinds {
		shares[kind] = share
	}
	for kind, share := range shares {
		if d := math.Abs(counts[kind]/4000 - share); d > 4*math.Sqrt(share*(1-share)/4000) {
			t.Errorf("%g of 4,000 users are %s, want a share of %g", counts[kind], kind, share)
		}
	}
}

// A user beyond the quota from 1 to 3 and from 2 to 5 passes it once and has it back once; a
// session hears of what happens between its beginning and its end.
func TestTurns(t *testing.T) {
	p := person{overages: []overage{{1, 3}, {2, 5}, {8, 9}}}
	for _, tc := range []struct {
		after, through int64
		want           []int64
	}{
		{0, 10, []int64{1, 5, 8, 9}},
		{1, 8, []int64{5, 8}},
		{5, 7, nil},
	} {
		if got := p.turns(tc.after, tc.through); !slices.Equal(got, tc.want) {
			t.Errorf("after %d through %d: %v, want %v", tc.after, tc.through, got, tc.want)
		}
	}
}

// Users of one position share how requests are assembled; a session that no user began is nobody's.
func TestCast(t *testing.T) {
	s := parse(t, "organisations: {acme: {users: 2, kinds: {api: 1}, mcp: 1}, birch: {users: 2, kinds: {third_party: 1}}}")
	c, list := cast(t, s), drawn(t, s)
	first, last := c.Person(sim.Person{}, list[0]), c.Person(sim.Person{}, list[len(list)-1])
	if first.Owner != 1 || last.Owner != 2 || last.User < 2 || last.Organisation != "birch" || len(c.assemblies) != 2 {
		t.Errorf("%+v, %+v, %d assemblies", first, last, len(c.assemblies))
	}
	if first.Assembly.System.MCPTools != 5000 || last.Assembly.System.MCPTools != 0 || last.Assembly.Provider != client.ProviderThirdParty {
		t.Errorf("%+v, %+v", first.Assembly.System, last.Assembly.Provider)
	}
	list[0].Project = "nobody"
	if p := c.Person(sim.Person{}, list[0]); p.Owner != 0 {
		t.Errorf("a session of nobody is of organisation %d", p.Owner)
	}
}

// Too many calls, no session, and a cancelled draw are errors of their own.
func TestDrawRefuses(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		text string
		want error
	}{
		{t.Context(), "{organisations: {acme: {users: 1000000, kinds: {api: 1}, sessions: {per_user_day: 1.9, profiles: {overnight: 1}}}}}", ErrSize},
		{t.Context(), "{organisations: {acme: {users: 5, sessions: {per_user_day: 1e-9}}}}", ErrNone},
		{cancelled, "{organisations: {acme: {users: 5}}}", context.Canceled},
	} {
		if _, err := parse(t, tc.text).Draw(tc.ctx, 1, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v, want %v", tc.text, err, tc.want)
		}
	}
}

// An id says whose session it is, whatever the name of the organisation.
func TestNamesOfAnyKind(t *testing.T) {
	s := parse(t, `{organisations: {"a-1": {users: 2, arrivals: {process: trace, times: [0s, 0s]}}, "a": {users: 2, arrivals: {process: trace, times: [0s, 0s]}}}}`)
	c := cast(t, s)
	var got []string
	for _, x := range drawn(t, s) {
		p := c.Person(sim.Person{}, x)
		got = append(got, fmt.Sprintf("%s %d", p.Organisation, p.User))
	}
	if want := "a 0, a 1, a-1 2, a-1 3"; strings.Join(got, ", ") != want {
		t.Errorf("users %q, want %s", got, want)
	}
}

func cast(t *testing.T, s *Settings) *Cast {
	t.Helper()
	c, err := s.Cast(client.DefaultAssembly(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawnBy returns the sessions that so many workers draw.
func drawnBy(t testing.TB, s *Settings, workers int) (list []*traces.Session) {
	t.Helper()
	c, err := s.Draw(t.Context(), workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range c.Sessions {
		whole, err := head.Load()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, whole)
	}
	return list
}
