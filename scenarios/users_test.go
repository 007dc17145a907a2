package scenarios

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios/builtin"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/users"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
)

// usersPlan returns the plan of a scenario with users, which checks the invariants at every call, and their sessions.
func usersPlan(t testing.TB, text string) (*Plan, *traces.Corpus) {
	t.Helper()
	f, err := Parse(scenariostest.Registry(t), []byte(text), "users.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d, Verify: true}
	corpus, err := p.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, corpus
}

// simulateUsers runs a scenario with users.
func simulateUsers(t testing.TB, text string) *results.Run {
	t.Helper()
	p, corpus := usersPlan(t, text)
	run, err := p.Run(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// inOrganisation returns the sum of the rows of an organisation.
func inOrganisation(c *results.Cell, name string) *results.Row {
	var sum results.Row
	for _, r := range c.Rows.All() {
		if r.Organisation == name {
			sum.Add(r)
		}
	}
	return &sum
}

// metricOf returns a metric of a row.
func metricOf(t testing.TB, r *results.Row, name string) int64 {
	t.Helper()
	m, ok := results.LookupMetric(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	v, _ := m.Value(r)
	return int64(v)
}

// oneCall is a scenario of organisations whose sessions are one call each, of a static prompt of 20,000 tokens, at given
// times. The static prompt ends 900 tokens (800 memoised, 100 uncached) ahead of the messages: 19,100 are marked.
func oneCall(head, organisations string) string {
	return "schema: 1\nstrategies: [none]\n" + head + "  organisations:\n" + organisations
}

const usersKey, markedTokens = "users:\n", 19_100

// ofOne is an organisation of one user.
func ofOne(name, keys, times string) string {
	return fmt.Sprintf("    %s: {users: 1, %s, sessions: {turns: {min: 1}, rounds: {min: 1}, model: claude-opus-4-6}, arrivals: {process: trace, times: [%s]}}\n",
		name, keys, times)
}

// The second of two users, a minute after the first, reads what everyone or the organisation shares and writes the rest
// (000:36-80): the global part through any organisation, the organisation's with MCP tools or through a third party, and
// nothing of another organisation with the scope off.
func TestSecondUserReadsWhatIsShared(t *testing.T) {
	const api, servers, third = "kinds: {api: 1}", "kinds: {api: 1}, mcp: 1", "kinds: {third_party: 1}"
	const off = usersKey + "  global_scope: false\n"
	two := func(a, b string) string { return ofOne("a", a, "0s") + ofOne("b", b, "1m") }
	same := func(keys string) string { return ofOne("a", keys, "0s, 1m") }
	for name, tc := range map[string]struct {
		head, orgs  string
		global, org int64 // read of the global part, and of the organisation's, by all
	}{
		"two organisations":          {usersKey, two(api, api), markedTokens, 0},
		"one organisation":           {usersKey, same(api), markedTokens, 0},
		"scope off":                  {off, two(api, api), 0, 0},
		"scope off, one of them":     {off, same(api), 0, markedTokens},
		"MCP":                        {usersKey, two(servers, servers), 0, 0},
		"MCP, one organisation":      {usersKey, same(servers), 0, markedTokens},
		"third party":                {usersKey, two(third, third), 0, 0},
		"third party, one of them":   {usersKey, same(third), 0, markedTokens},
		"one of them a third party":  {usersKey, two(api, third), 0, 0},
		"employee and subscriber":    {usersKey, two("kinds: {employee: 1}", "kinds: {subscriber: 1}"), markedTokens, 0},
		"subscriber and third party": {usersKey, two("kinds: {subscriber: 1}", third), 0, 0},
		"no sections":                {"client: {system: {split: none}}\n" + off, same(api), 0, 20_000},
		"header in the key":          {"client: {system: {billing_header_in_key: by_provider}}\n" + usersKey, same(third), 0, 0},
	} {
		row := &simulateUsers(t, oneCall(tc.head, tc.orgs)).Cells[0].Total
		g, o := metricOf(t, row, "global_read_tokens"), metricOf(t, row, "organisation_read_tokens")
		if g != tc.global || o != tc.org {
			t.Errorf("%s: %d of the global part and %d of the organisation's are read, want %d and %d", name, g, o, tc.global, tc.org)
		}
		if u := row.Usage(); u.Writes()+u.Read+u.Uncached != u.Input() || u.Read != g+o {
			t.Errorf("%s: %+v: what is not read is to be written", name, u)
		}
	}
}

// What is marked for everyone is written once, and by each organisation with the scope off: of three organisations that
// makes 2 · 19,100 tokens, at 6.25 USD per million that would be read at 0.50 (Opus 4.6).
func TestGlobalScopeSaves(t *testing.T) {
	const api = "kinds: {api: 1}"
	run := simulateUsers(t, oneCall(usersKey+"  global_scope: [true, false]\n", ofOne("a", api, "0s")+ofOne("b", api, "1m")+ofOne("c", api, "2m")))
	with, without := &run.Cells[0], &run.Cells[1]
	saved := func(a, b *results.Row) int64 { x, y := a.Usage(), b.Usage(); return y.Writes() - x.Writes() }
	if got := saved(&with.Total, &without.Total); got != 2*markedTokens {
		t.Errorf("the scope saves %d tokens of creation, want %d", got, 2*markedTokens)
	}
	for name, want := range map[string]int64{"a": 0, "b": markedTokens, "c": markedTokens} {
		if got := saved(inOrganisation(with, name), inOrganisation(without, name)); got != want {
			t.Errorf("organisation %s saves %d tokens, want %d", name, got, want)
		}
	}
	if u := without.Total.Usage(); u.Read != 0 {
		t.Errorf("%d tokens are read with the scope off", u.Read)
	}
	if got, want := without.Total.CostUSD()-with.Total.CostUSD(), 2*markedTokens*(6.25-0.5)/1e6; math.Abs(got-want) > 1e-9 {
		t.Errorf("it saves $%.6f, want $%.6f", got, want)
	}
}

// Parts of the input by who shares them add up to what the rows say, for every session.
func TestSharedPartsAddUp(t *testing.T) {
	b, err := builtin.Lookup("office")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range simulateUsers(t, string(b.Text)).Cells {
		if c.Strategy == measures.StrategyBilled || c.Strategy == measures.StrategyRecorded {
			t.Errorf("%s: nothing was billed or recorded of users", c.Cell)
		}
		for _, r := range c.Rows.All() {
			u := r.Usage()
			read, written := int64(0), int64(0)
			for _, part := range []string{"global", "organisation", "own"} {
				read += metricOf(t, r, part+"_read_tokens")
				written += metricOf(t, r, part+"_written_tokens")
			}
			if read != u.Read || written != u.Writes() || !strings.HasPrefix(r.Session, r.Organisation+"-") {
				t.Errorf("%s, %s: parts come to %d and %d, the calls to %+v", c.Cell, r.Session, read, written, u)
			}
		}
	}
}

// Calls in flight: of three sessions of one call each, two begin at the same time and one an hour later.
func TestPeakCallsInFlight(t *testing.T) {
	const api = "kinds: {api: 1}"
	c := &simulateUsers(t, oneCall(usersKey, ofOne("a", api, "1h, 2h")+ofOne("b", api, "1h"))).Cells[0]
	var got []int
	for _, r := range c.Rows.All() {
		got = append(got, r.N(measures.PeakCallsInFlight))
	}
	if want := []int{1, 1, 2}; !slices.Equal(got, want) || c.Total.N(measures.PeakCallsInFlight) != 2 {
		t.Errorf("%v calls at once, in all %d; want %v and 2", got, c.Total.N(measures.PeakCallsInFlight), want)
	}
}

// Dreams want 24 hours and five other sessions of the user since (E5: hours 24, minSessions 5). Of sessions every four
// hours the sixth is the first with five others before it, at 20 h; the next are the sessions at 44 h and 68 h.
func TestDreamsOfUsers(t *testing.T) {
	for name, tc := range map[string]struct{ users, step, n, want int }{ // minutes between sessions
		"every four hours, three days": {1, 240, 18, 3},
		"every hour, half a day":       {1, 60, 12, 1},
		"the same of two users":        {2, 60, 12, 2},
		"the same of three users":      {3, 60, 12, 0},
		"five sessions":                {1, 60, 5, 0},
		"six a day apart":              {1, 1440, 6, 1},
	} {
		var times []string
		for i := range tc.n {
			times = append(times, fmt.Sprintf("%dm", i*tc.step))
		}
		run := simulateUsers(t, fmt.Sprintf(`
schema: 1
strategies: [claude-code/2026-03]
users:
  days: 7
  organisations:
    acme: {users: %d, sessions: {turns: {min: 1}, rounds: {min: 2}}, arrivals: {process: trace, times: [%s]}}
`, tc.users, strings.Join(times, ", ")))
		if got := run.Cells[0].Total.N(measures.Dreams); got != tc.want {
			t.Errorf("%s: %d dreams, want %d", name, got, tc.want)
		}
	}
}

// A session of two calls that is resumed reads what its first part has left within the lifetime, and writes all of that
// again after it: prefix and messages but the last reply, which no request had sent.
func TestResumedSession(t *testing.T) {
	text := func(gap string) string {
		return oneCall(usersKey, `    acme:
      users: 1
      resume: 1
      kinds: {api: 1}
      sessions: {turns: {min: 2}, rounds: {min: 1}, model: claude-opus-4-6}
      arrivals: {process: trace, times: [0s, `+gap+"]}\n")
	}
	p, corpus := usersPlan(t, text("6h"))
	s, err := corpus.Sessions[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	rounds := s.Threads[0].Rounds
	if len(corpus.Sessions) != 1 || len(rounds) != 4 {
		t.Fatalf("%d sessions, want one of four calls", len(corpus.Sessions))
	}
	if at := rounds[2].At - users.Default().Start.UnixNano(); at < 6*3600e9 || at > 6*3600e9+60e9 {
		t.Errorf("it is resumed at %d ns, want 6 h", at)
	}
	run, err := p.Run(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	late, soon := &run.Cells[0].Total, &simulateUsers(t, text("5m")).Cells[0].Total
	if late.MissesOf(exchange.MissExpiry) != 1 || soon.N(measures.Misses) > 1 {
		t.Errorf("resumed after six hours: %d misses by expiry; after five minutes: %d", late.MissesOf(exchange.MissExpiry), soon.N(measures.Misses))
	}
	left := 0
	for b := range rounds[1].Reply.From {
		left += int(s.Blocks[b].Tokens)
	}
	if late.N(measures.MissedTokens) != left {
		t.Errorf("%d tokens are written again, want %d", late.N(measures.MissedTokens), left)
	}
}

// A subscriber who has passed the quota asks for 5 minutes; a session that began within it stays at an hour under the
// latch, and without it writes everything again where lifetimes are part of the key.
func TestOverageAndLatch(t *testing.T) {
	both := func(head, after string) (over, within *results.Row) {
		run := simulateUsers(t, oneCall(head+usersKey+"  overage: [true, false]\n", `    acme:
      users: 1
      overage: {share: 1, after: `+after+`, lasts: 4h}
      sessions: {turns: {min: 12}, rounds: {min: 1}, model: claude-opus-4-6}
      arrivals: {process: trace, times: [0s]}
`))
		return &run.Cells[0].Total, &run.Cells[1].Total
	}
	over, within := both("", "0s")
	if u := over.Usage(); u.Write1h != 0 || u.Write5m == 0 {
		t.Errorf("begun beyond the quota: %+v, want 5m alone", u)
	}
	if u := within.Usage(); u.Write1h == 0 || u.Write5m != 0 {
		t.Errorf("the same within the quota: %+v, want 1h alone", u)
	}
	over, within = both("", "5m")
	if over.N(measures.QuotaChanges) != 1 || within.N(measures.QuotaChanges) != 0 || over.Usage() != within.Usage() {
		t.Errorf("latched: %d changes, %+v, want one that does nothing to %+v", over.N(measures.QuotaChanges), over.Usage(), within.Usage())
	}
	over, within = both("server: {ttl_in_key: true}\nclient: {ttl: {latch: false}}\n", "5m")
	// At the change all that the conversation has read at an hour is written at 5m.
	x, y := over.Usage(), within.Usage()
	if more := x.Writes() - y.Writes(); more < markedTokens || y.Read-x.Read != more || over.CostUSD() == within.CostUSD() {
		t.Errorf("a change writes %d tokens more and reads %d less, want the whole context", more, y.Read-x.Read)
	}
}

// Organisations that share nothing do not change each other's figures; those that share do.
func TestOrganisationsAreIndependent(t *testing.T) {
	const acme = "    acme: {users: 6, resume: 0.2, sessions: {per_user_day: 2, turns: {min: 3}}}\n"
	const birch = "    birch: {users: 5, sessions: {per_user_day: 2, turns: {min: 3}}}\n"
	text := func(scope, organisations string) string {
		return "schema: 1\nstrategies: [claude-code/2026-03]\nusers:\n  global_scope: " + scope + "\n  organisations:\n" + organisations
	}
	of := func(scope, organisations string) *results.Row {
		sum := inOrganisation(&simulateUsers(t, text(scope, organisations)).Cells[0], "birch")
		sum.Figures[measures.PeakCallsInFlight] = 0 // counts calls of other users
		return sum
	}
	alone := of("false", birch)
	if both := of("false", acme+birch); !reflect.DeepEqual(alone, both) {
		t.Errorf("birch has %+v by itself and %+v beside acme", alone.Usage(), both.Usage())
	}
	if shared := of("true", acme+birch); shared.Usage() == alone.Usage() {
		t.Error("with a scope for everyone, acme makes no difference to birch: the test has no force")
	}
}

// The same result however many cores work.
func TestUsersOnAnyCores(t *testing.T) {
	b, err := builtin.Lookup("office")
	if err != nil {
		t.Fatal(err)
	}
	var want *results.Run
	for _, n := range []int{1, 2, 7} {
		p, corpus := usersPlan(t, string(b.Text))
		p.Workers, p.Verify = n, false
		run, err := p.Run(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = run
		} else if !reflect.DeepEqual(run.Cells, want.Cells) {
			t.Errorf("%d workers make another result", n)
		}
	}
}

// A scenario with users says what is wrong with them, with file and line.
func TestUsersAreChecked(t *testing.T) {
	acme := func(keys string) string {
		return "schema: 1\nusers:\n  organisations:\n    acme:\n      users: 2\n      " + keys + "\n"
	}
	const at = "f.yaml:6: users.organisations.acme."
	for text, want := range map[string]string{
		"schema: 1\norgs:\n  - {name: a, users: 1}\n":                                         "f.yaml:2: unknown key \"orgs\"",
		"schema: 1\nusers: {organisations: {a: {}}}":                                          "f.yaml:2: users.organisations.a.users 0 must lie in 1…1000000",
		"schema: 1\nusers: {start: noon}":                                                     "f.yaml:2: users.start: want a time such as 2026-03-02T09:00:00Z",
		"schema: 1\nusers: {days: 300, organisations: {a: {users: 1000000}}}":                 "f.yaml:2: users.organisations begin about 6.96e+08 sessions, at most 2000000",
		"schema: 1\nusers: {organisations: {a: {users: 1}}}\nsessions: {paths: [x]}":          "f.yaml:3: sessions are users' sessions here",
		"schema: 1\nusers: {organisations: {a: {users: 1}}}\nclient: {system: {split: none}}": "f.yaml:3: client.system.split is none, and users.global_scope marks one of its sections",
		acme("mcp: 1.5"):                                      at + "mcp 1.5 must lie in 0…1",
		acme("mcp: .nan"):                                     at + "mcp .nan must lie in 0…1",
		acme("rezume: 1"):                                     `f.yaml:6: unknown key "rezume" (did you mean "resume"?)`,
		acme("overage: {share: 2}"):                           at + "overage.share 2 must lie in 0…1",
		acme("overage: {share: 1, lasts: 0s}"):                at + "overage.lasts 0s must lie above 0s",
		acme("kinds: {subscriber: 0.5}"):                      at + "kinds add up to 0.5, not 1",
		acme("kinds: {subscribers: 1}"):                       at + `kinds.subscribers is no kind of user (did you mean "subscriber"?)`,
		acme("sessions: {per_user_day: .inf}"):                at + "sessions.per_user_day .inf must lie in 0…1000",
		acme("sessions: {per_user_day: 0}"):                   at + "sessions.per_user_day is 0: no session begins",
		acme("sessions: {profiles: {}}"):                      at + "sessions.profiles has no weight",
		acme("sessions: {profiles: {chatt: 1}}"):              at + `sessions.profiles cannot be used: no profile "chatt" (did you mean "chat"?)`,
		acme("sessions: {version: abc}"):                      at + "sessions.profiles cannot be used: profile short-fix: version",
		acme("mcp: 1\n      mcp_tools: 20001"):                "mcp_tools: 20001 tokens are more than the 20000 of all tools and system prompt",
		acme("arrivals: {process: posson}"):                   at + `arrivals.process: unknown value "posson" (did you mean "poisson"?)`,
		acme("arrivals: {process: trace}"):                    at + "arrivals.process trace takes its times from arrivals.times",
		acme("arrivals: {times: [1h]}"):                       at + "arrivals.process diurnal has no times of its own",
		acme("arrivals: {process: trace, times: [1h 2]}"):     at + `arrivals.times cannot be read: user "2": want 0 to 1`,
		acme("arrivals: {process: trace, times: [-1h]}"):      at + "arrivals.times cannot be read: -1h lies outside the 1 day",
		acme("arrivals: {process: trace, times: [noon]}"):     at + `arrivals.times cannot be read: "noon" is no time`,
		acme("arrivals: {process: trace, times: [1h 0 now]}"): at + `arrivals.times cannot be read: want TIME or TIME USER`,
	} {
		f, err := Parse(scenariostest.Registry(t), []byte(text), "f.yaml")
		if err == nil {
			_, err = f.Expand()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
	}
}

// A threshold that no drawn session's window reaches is refused, as it is for recorded sessions; and users who share a
// cache have no bound.
func TestUsersBeforeTheyRun(t *testing.T) {
	const rest = "users: {organisations: {a: {users: 2, sessions: {per_user_day: 9}}}}\n"
	for text, want := range map[string]string{
		"strategies: [{name: late, layers: [{full-compact: {trigger: {fixed: 250_000}}}]}]\n": "at the window of 200000 tokens of these sessions",
		"strategies: [none]\nbound: true\n":                                                   "bound: users share a cache",
	} {
		p, corpus := usersPlan(t, "schema: 1\n"+text+rest)
		if _, err := p.Run(t.Context(), corpus); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
