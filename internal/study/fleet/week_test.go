package fleet

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// every returns times from one hour on, a step apart, for users in turn.
func every(step, n, from int) string {
	var times []string
	for i := range n {
		times = append(times, fmt.Sprintf("%dm", from*60+i*step))
	}
	return strings.Join(times, ", ")
}

// An upgrade in the middle of a steady stream of users, each with a session of one
// call every two minutes: the tools, the billing header and the identity are read
// of what the own organisation has marked behind the identity; the static section
// is written anew, once for everyone, or once for each of three organisations with
// the scope off. Each user active behind it has it from the next session on.
func TestUpgradeWave(t *testing.T) {
	orgs := ""
	for i, name := range []string{"a", "b", "c"} {
		times := strings.Split(every(6, 20, 0), ", ")
		for k := range times {
			times[k] = fmt.Sprintf("%dm", 6*k+2*i)
		}
		orgs += org(name, "kinds: {api: 1}", strings.Join(times, ", "))
	}
	// Entries of 5 minutes would not outlast the 6 minutes between calls of one.
	f := parse(t, one("server: {lifetime_5m: 10m}\nupgrades: [{at: 1h, over: 0s, static: 200}]\ncompare: [upgrades]", orgs))
	p := generate(t, f)
	tools := int64(0)
	for i := range p.Sessions[0].Blocks {
		if b := &p.Sessions[0].Blocks[i]; b.Kind == prompt.KindTools {
			tools += int64(b.Tokens)
		}
	}
	static := marked - tools - 40 - 15 + 200 // header 40, identity 15
	for scope, want := range map[bool]int64{true: static, false: 3 * static} {
		f.Client.GlobalScope = scope
		out := simulate(t, f)
		c := out.Cells[0]
		var before, behind int64
		for i := range c.Hours {
			if i == 0 {
				before += head(&c.Hours[i])
			} else {
				behind += head(&c.Hours[i])
			}
		}
		if behind != want {
			t.Errorf("scope %v: %d tokens of the head are written behind the upgrade, want %d", scope, behind, want)
		}
		w := c.Waves[0]
		if w.Before != float64(before) || w.During != float64(behind) || w.PeakHour != 1 || w.PeakTokens != behind {
			t.Errorf("scope %v: wave %+v, want %d tokens ahead of it and %d in its hour", scope, w, before, behind)
		}
		if n := out.Upgrades[0].Users; n != 3 {
			t.Errorf("%d users upgrade, want 3", n)
		}
		// Without the upgrade the prompt stays warm: the wave is all the difference.
		if got := -c.Pair(studies.WithoutUpgrades).Total.SavedTokens(); got != want {
			t.Errorf("scope %v: upgrades cost %d tokens of creation, want %d", scope, got, want)
		}
	}
}

// Dreams want 24 hours and five other sessions of the user since (E5: hours 24,
// minSessions 5). Of sessions every four hours the sixth is the first with five
// others behind it, at 20 h; the next are those at 44 h and 68 h.
func TestDreams(t *testing.T) {
	for name, tc := range map[string]struct {
		users, step, n int // minutes between sessions
		want           float64
	}{
		"every four hours, three days": {1, 240, 18, 3},
		"every hour, half a day":       {1, 60, 12, 1},
		"the same of two users":        {2, 60, 12, 2},
		"the same of three users":      {3, 60, 12, 0},
		"five sessions":                {1, 60, 5, 0},
		"six a day apart":              {1, 1440, 6, 1},
	} {
		f := parse(t, fmt.Sprintf(`schema: 1
days: 7
orgs:
  - name: acme
    users: %d
    sessions: {turns: {min: 1}, rounds: {min: 2}}
    arrivals: {process: trace, times: [%s]}
`, tc.users, every(tc.step, tc.n, 0)))
		if got := simulate(t, f).Cells[0].Total.Metrics["dreams"]; got != tc.want {
			t.Errorf("%s: %g dreams, want %g", name, got, tc.want)
		}
	}
}

// A session of two calls that is resumed reads what its first part has left within
// the lifetime, and writes all of that again behind it: prefix and messages but the
// last reply, which no request had sent.
func TestResume(t *testing.T) {
	text := func(gap string, resume int) string {
		return fmt.Sprintf(`schema: 1
strategies: [none]
compare: []
orgs:
  - name: acme
    users: 1
    resume: %d
    kinds: {api: 1}
    sessions: {turns: {min: 2}, rounds: {min: 1}, model: claude-opus-4-6}
    arrivals: {process: trace, times: [0s, %s]}
`, resume, gap)
	}
	f := parse(t, text("6h", 1))
	p := generate(t, f)
	if len(p.Sessions) != 1 || len(p.Sessions[0].Threads[0].Rounds) != 4 || p.Orgs()[0].Resumed != 1 {
		t.Fatalf("%d sessions, want one of four calls", len(p.Sessions))
	}
	rounds := p.Sessions[0].Threads[0].Rounds
	if at := rounds[2].At - f.Start.UnixNano(); at < 6*hour || at > 6*hour+hour/60 {
		t.Errorf("it is resumed at %d ns, want 6 h", at)
	}
	late := simulate(t, f).Cells[0].Total.Row
	soon := simulate(t, parse(t, text("5m", 1))).Cells[0].Total.Row
	if late.MissesOf(prompt.MissExpiry) != 1 || soon.N(results.Misses) > 1 {
		t.Errorf("resumed after six hours: misses %v; after five minutes: %d",
			late.Figures[results.MissesByClass:results.Waits], soon.N(results.Misses))
	}
	var left int64
	for b := range rounds[1].Reply.From {
		left += int64(p.Sessions[0].Blocks[b].Tokens)
	}
	if int64(late.N(results.MissedTokens)) != left {
		t.Errorf("%d tokens are written again, want %d", late.N(results.MissedTokens), left)
	}
}

// A subscriber who has passed the quota asks for 5 minutes; a session that began
// within it stays at an hour under the latch, and without it writes everything
// again where lifetimes are part of the key.
func TestOverage(t *testing.T) {
	text := func(head, after string) string {
		return one(head+"\ncompare: [overage]", `  - name: acme
    users: 1
    overage: {share: 1, after: `+after+`, lasts: 4h}
    sessions: {turns: {min: 12}, rounds: {min: 1}, model: claude-opus-4-6}
    arrivals: {process: trace, times: [0s]}
`)
	}
	began := simulate(t, parse(t, text("", "0s"))).Cells[0]
	if u := began.Total.Row.Usage(); u.Write1h != 0 || u.Write5m == 0 {
		t.Errorf("begun beyond the quota: %+v, want 5m alone", u)
	}
	if off := began.Pair(studies.WithoutOverage).Total.Off; off.Write1h == 0 || off.Write5m != 0 {
		t.Errorf("the same within the quota: %+v, want 1h alone", off)
	}
	latched := simulate(t, parse(t, text("", "5m")))
	pair := latched.Cells[0].Pair(studies.WithoutOverage)
	if latched.Orgs[0].Flips != 1 || pair.Events != 1 || pair.Total.SavedTokens() != 0 || pair.Total.SavedUSD() != 0 || pair.Total.Events != 0 {
		t.Errorf("latched: %d flips, %+v, want one that does nothing", latched.Orgs[0].Flips, pair.Total)
	}
	flip := simulate(t, parse(t, text("server: {ttl_in_key: true}\nclient: {latch: false}", "5m"))).Cells[0].Pair(studies.WithoutOverage)
	tokens, usd, ok := flip.Total.PerEvent()
	// At the flip all that the conversation has read at an hour is written at 5m.
	if !ok || tokens < marked || usd == 0 || math.IsNaN(usd) {
		t.Errorf("a flip costs %.0f tokens and $%.4f, want the whole context", tokens, usd)
	}
	if got := flip.Total.ReadWithout - flip.Total.Read; got != int64(tokens) {
		t.Errorf("%.0f tokens are written more and %d read less", tokens, got)
	}
	// What begins beyond the quota and comes back is the shorter lifetime, not a flip.
	back := simulate(t, parse(t, strings.Replace(text("client: {latch: false}", "0s"), "lasts: 4h", "lasts: 5m", 1)))
	e := back.Cells[0].Pair(studies.WithoutOverage).Total
	if back.Orgs[0].Flips != 1 || e.Events != 0 || e.EventUSD != 0 || e.SavedUSD() == 0 {
		t.Errorf("begun beyond the quota, %d flips: %+v, want an effect of which none is the flip's", back.Orgs[0].Flips, e)
	}
}
