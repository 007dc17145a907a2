package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// A dream needs five other sessions of the same user (E5: minSessions 5): of
// twelve sessions an hour apart the sixth dreams when one user has them all, none
// when two users take turns with six each, of which five others are behind only
// the last of each: the eleventh and the twelfth.
func TestUsersDreamForThemselves(t *testing.T) {
	const h = time.Hour
	sessions := dreamers(0, h, 2*h, 3*h, 4*h, 5*h, 6*h, 7*h, 8*h, 9*h, 10*h, 11*h)
	for users, want := range map[int32][]int{1: {5}, 2: {10, 11}, 3: nil} {
		c := written(t, "  - dream: {}\n")
		c.Person = func(i int, _ *traces.Session) Person { return Person{Owner: 1, User: int32(i) % users} }
		rows, err := NewLoop(c).RunCohort(sessions)
		if err != nil {
			t.Fatal(err)
		}
		var dreamt []int
		for i := range rows {
			if rows[i].N(measures.Dreams) > 0 {
				dreamt = append(dreamt, i)
			}
		}
		if len(dreamt) != len(want) || len(want) > 0 && dreamt[0] != want[0] {
			t.Errorf("%d users: sessions %v dream, want %v", users, dreamt, want)
		}
	}
}

// Each person has an assembly of their own: the first asks for an hour, the second
// for five minutes, and events happen to the one they are of.
func TestPersonsAssemblies(t *testing.T) {
	long := client.DefaultAssembly()
	long.TTL.Choice = client.Choice1h
	short := client.DefaultAssembly()
	short.TTL.Choice = client.Choice5m
	persons := []Person{
		{Owner: 1, Assembly: Assemble(long, nil)},
		{Owner: 2, User: 1, Assembly: Assemble(short, []client.Event{{At: client.When{Round: 2}, Do: "system_change"}})},
	}
	c := testConfig(t, "none")
	c.Person = func(i int, _ *traces.Session) Person { return persons[i] }
	rows, err := NewLoop(c).RunCohort(twoUsers())
	if err != nil {
		t.Fatal(err)
	}
	if u := rows[0].Usage(); u.Write1h == 0 || u.Write5m != 0 {
		t.Errorf("the first person writes %d tokens for 1h and %d for 5m, want only 1h", u.Write1h, u.Write5m)
	}
	if u := rows[1].Usage(); u.Write5m == 0 || u.Write1h != 0 {
		t.Errorf("the second person writes %d tokens for 1h and %d for 5m, want only 5m", u.Write1h, u.Write5m)
	}
	if a, b := int64(rows[0].N(measures.HeadChanges)), int64(rows[1].N(measures.HeadChanges)); a != 0 || b != 1 {
		t.Errorf("%d and %d changed heads, want 0 and 1", a, b)
	}
}

// Providers share no cache: two sessions of one organisation with the same
// 16,000 tokens of tools and system prompt, the second a minute later, of which
// one is served by another provider.
func TestProvidersShareNothing(t *testing.T) {
	a, b := newSession("a").shared().turns(2, 0, 1000).session(), newSession("b").shared().turns(2, 0, 1000).session()
	b.Start += minute
	elsewhere := client.DefaultAssembly()
	elsewhere.Provider = client.ProviderBedrock
	for provider, want := range map[*Assembly]int64{nil: 16_000, Assemble(elsewhere, nil): 0} {
		c := testConfig(t, "none")
		c.Person = func(i int, _ *traces.Session) Person {
			if i == 1 {
				return Person{Owner: 1, Assembly: provider}
			}
			return Person{Owner: 1}
		}
		if got := secondReads(t, c, []*traces.Session{a, b}); got != want {
			t.Errorf("elsewhere %v: the second session's first call reads %d tokens, want %d", provider != nil, got, want)
		}
	}
}

func TestPersonsWithoutAnOrganisation(t *testing.T) {
	for _, p := range []Person{{}, {Owner: 1, User: -1}} {
		c := testConfig(t, "none")
		c.Person = func(int, *traces.Session) Person { return p }
		if _, err := NewLoop(c).RunCohort(twoUsers()); err == nil || !strings.Contains(err.Error(), "organisation") {
			t.Errorf("%+v is taken: %v", p, err)
		}
	}
}
