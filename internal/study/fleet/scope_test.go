package fleet

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// one is a fleet of organisations whose sessions are one call each, of a static
// prompt of 20,000 tokens, at given times. The static prompt ends 900 tokens (800
// memoised, 100 uncached) ahead of the messages: 19,100 are marked.
func one(head, orgs string) string {
	return "schema: 1\nstrategies: [none]\n" + head + "\norgs:\n" + orgs
}

// org is an organisation of one.
func org(name, keys, times string) string {
	return fmt.Sprintf("  - {name: %s, users: 1, %s, sessions: {turns: {min: 1}, rounds: {min: 1}, model: claude-opus-4-6}, arrivals: {process: trace, times: [%s]}}\n",
		name, keys, times)
}

const marked = 19_100

// The second of two users, a minute behind the first, reads what everyone or
// the organisation shares and writes the rest (000:36-80): the global part through
// any organisation, the organisation's with MCP tools or through a third party,
// and nothing of another organisation with the scope off.
func TestSecondUserReadsWhatIsShared(t *testing.T) {
	const api, servers, third = "kinds: {api: 1}", "kinds: {api: 1}, mcp: 1", "kinds: {third_party: 1}"
	two := func(a, b string) string { return org("a", a, "0s") + org("b", b, "1m") }
	same := func(keys string) string {
		return org("a", keys, "0s, 1m")
	}
	for name, tc := range map[string]struct {
		head, orgs string
		global     int64 // read of the global part by all
		org        int64 // read of the organisation's part
	}{
		"two organisations":          {"", two(api, api), marked, 0},
		"one organisation":           {"", same(api), marked, 0},
		"scope off":                  {"client: {global_scope: false}", two(api, api), 0, 0},
		"scope off, one of them":     {"client: {global_scope: false}", same(api), 0, marked},
		"MCP":                        {"", two(servers, servers), 0, 0},
		"MCP, one organisation":      {"", same(servers), 0, marked},
		"third party":                {"", two(third, third), 0, 0},
		"third party, one of them":   {"", same(third), 0, marked},
		"one of them a third party":  {"", two(api, third), 0, 0},
		"employee and subscriber":    {"", two("kinds: {employee: 1}", "kinds: {subscriber: 1}"), marked, 0},
		"subscriber and third party": {"", two("kinds: {subscriber: 1}", third), 0, 0},
		"no sections":                {"client: {global_scope: false, system: {split: none}}", same(api), 0, 20_000},
		"header in the key":          {"client: {system: {billing_header_in_key: by_provider}}", same(third), 0, 0},
	} {
		c := simulate(t, parse(t, one(tc.head, tc.orgs))).Cells[0]
		g, o := c.Total.Scope(studies.FleetGlobal), c.Total.Scope(studies.FleetOrgs)
		if g.Read != tc.global || o.Read != tc.org {
			t.Errorf("%s: %d of the global part and %d of the organisation's are read, want %d and %d", name, g.Read, o.Read, tc.global, tc.org)
		}
		whole := c.Total.Row.Usage()
		if whole.Writes()+whole.Read+whole.Uncached != whole.Input() || whole.Read != tc.global+tc.org {
			t.Errorf("%s: %+v: what is not read is to be written", name, whole)
		}
	}
}

// What is marked for everyone is written once, and by each organisation with the
// scope off: of three organisations that makes 2 · 19,100 tokens.
func TestGlobalScopeSaves(t *testing.T) {
	orgs := org("a", "kinds: {api: 1}", "0s") + org("b", "kinds: {api: 1}", "1m") + org("c", "kinds: {api: 1}", "2m")
	c := simulate(t, parse(t, one("", orgs))).Cells[0]
	pair := c.Pair(studies.WithoutGlobalScope)
	if got := pair.Total.SavedTokens(); got != 2*marked {
		t.Errorf("the scope saves %d tokens of creation, want %d", got, 2*marked)
	}
	if pair.Total.ReadWithout != 0 || pair.Orgs[0].SavedTokens() != 0 || pair.Orgs[1].SavedTokens() != marked {
		t.Errorf("organisations save %+v", pair.Orgs)
	}
	// Opus 4.6: a write at 6.25 USD per million that would be read at 0.50.
	if got, want := pair.Total.SavedUSD(), 2*marked*(6.25-0.5)/1e6; got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("it saves $%.6f, want $%.6f", got, want)
	}
}

// Where the parts of a request end: markers at 100 for everyone, at 250 for the
// organisation, at 1,000 on messages, 1,010 in all.
func TestDivide(t *testing.T) {
	entries := []prompt.Entry{{Kind: prompt.KindTools, Cum: 100}, {Kind: prompt.KindSystem, Cum: 250}, {Kind: prompt.KindPrompt, Cum: 1000}}
	r := prompt.Request{Entries: entries, Markers: []prompt.Marker{{Position: 0, Scope: prompt.ScopeGlobal}, {Position: 1}, {Position: 2}}}
	type part = studies.FleetTokens
	for name, tc := range map[string]struct {
		usage prompt.Usage
		want  scopes
	}{
		"cold":     {prompt.Usage{Write5m: 1000, Uncached: 10}, scopes{{Written: 100}, {Written: 150}, {Written: 750, Uncached: 10}}},
		"warm":     {prompt.Usage{Read: 1000, Uncached: 10}, scopes{{Read: 100}, {Read: 150}, {Read: 750, Uncached: 10}}},
		"global":   {prompt.Usage{Read: 100, Write1h: 900, Uncached: 10}, scopes{{Read: 100}, {Written: 150}, {Written: 750, Uncached: 10}}},
		"between":  {prompt.Usage{Read: 180, Write5m: 820, Uncached: 10}, scopes{{Read: 100}, {Read: 80, Written: 70}, {Written: 750, Uncached: 10}}},
		"uncached": {prompt.Usage{Uncached: 1010}, scopes{{Uncached: 100}, {Uncached: 150}, {Uncached: 760}}},
		"deleted":  {prompt.Usage{Read: 600, Uncached: 10}, scopes{{Read: 100}, {Read: 150}, {Read: 350, Uncached: 10}}},
	} {
		for i := range tc.want {
			tc.want[i].Scope = studies.FleetScope(i)
		}
		if got := divide(&r, &prompt.Outcome{Usage: tc.usage}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	var none part
	if _, ok := none.HitRatio(); ok {
		t.Error("a hit ratio of nothing")
	}
}

// The parts add up to what the rows say, in the whole fleet and in every
// organisation, and so do the hours.
func TestPartsAddUp(t *testing.T) {
	f, err := Load("office", Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	f.Strategies = []string{"claude-code/2026-03", "auto-compact/167k"}
	for _, c := range simulate(t, f).Cells {
		for _, g := range append(c.Orgs, c.Total) {
			var sum studies.FleetTokens
			for _, s := range g.Scopes {
				sum.Add(s)
			}
			u := g.Row.Usage()
			if sum.Read != u.Read || sum.Written != u.Writes() || sum.Uncached != u.Uncached {
				t.Errorf("%s, %s: parts come to %+v, the calls to %+v", c.Strategy, g.Name, sum, u)
			}
		}
		var calls, sessions int
		var read, written int64
		for i := range c.Hours {
			calls += c.Hours[i].Calls
			sessions += c.Hours[i].Sessions
			read += c.Hours[i].Read
			written += c.Hours[i].Writes()
		}
		u := c.Total.Row.Usage()
		if calls != c.Total.Row.N(results.Calls) || read != u.Read || written != u.Writes() {
			t.Errorf("%s: hours come to %d calls, %d read, %d written; want %d, %d, %d", c.Strategy, calls, read, written,
				c.Total.Row.N(results.Calls), u.Read, u.Writes())
		}
		var kinds results.Row
		users := 0
		for i := range c.Kinds {
			kinds.Add(&c.Kinds[i].Row)
			users += c.Kinds[i].Users
		}
		if kinds.Usage() != u || users != c.Total.Users {
			t.Errorf("%s: kinds of users come to %+v of %d, want %+v of %d", c.Strategy, kinds.Usage(), users, u, c.Total.Users)
		}
	}
}

// Calls under way at once: of three sessions of one call each, two begin at the
// same time and one an hour later.
func TestPeaks(t *testing.T) {
	orgs := org("a", "kinds: {api: 1}", "1h, 2h") + org("b", "kinds: {api: 1}", "1h")
	c := simulate(t, parse(t, one("", orgs))).Cells[0]
	if c.PeakCalls.Count != 2 || c.PeakSessions.Count != 2 {
		t.Errorf("%d calls and %d sessions at once, want 2 of both", c.PeakCalls.Count, c.PeakSessions.Count)
	}
	if at := c.PeakCalls.At; at < 3600 || at > 3700 {
		t.Errorf("the peak is at %g s, want just behind 3,600", at)
	}
	if len(c.Hours) != 3 || c.Hours[0].Calls != 0 || c.Hours[1].Calls != 2 || c.Hours[2].Calls != 1 || c.Hours[1].Sessions != 2 {
		t.Errorf("calls by hour: %+v", c.Hours)
	}
}
