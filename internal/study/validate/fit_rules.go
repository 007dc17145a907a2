package validate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// evidence returns the trials of each rule at the calls to which it applied. In
// the first round all rules are on; in later rounds each is switched while the
// others hold where the previous round says so.
func (f *fitter) evidence(rounds int) []tried {
	p := *f.profile
	p.Evidence = nil
	var list []tried
	g := fitter{ctx: f.ctx, config: f.config, sessions: f.sessions, profile: &p, err: f.err}
	for range rounds {
		list = nil
		p.Force, p.Forbid = 1<<profile.NumRules-1, 0
		all := g.run()
		for r := range profile.NumRules {
			one := profile.Set(0).With(r)
			if !slices.ContainsFunc(all, func(c Call) bool { return c.Rules.Has(r) }) {
				continue
			}
			on := all
			if p.Evidence != nil {
				p.Force, p.Forbid = one, 0
				on = g.run()
			}
			p.Force, p.Forbid = 0, one
			list = append(list, try(&p, r, on, g.run())...)
		}
		p.Evidence = evidenceOf(list, f.sessions)
	}
	f.err = g.err
	return list
}

// tried is the trial of a rule in a session.
type tried struct {
	rule    profile.Rule
	session string
	profile.Trial
}

// try counts, by session, the calls to which a rule applied, given the same
// calls predicted with and without it.
func try(p *profile.Profile, r profile.Rule, on, off []Call) []tried {
	var list []tried
	with, without := offByCall(on), offByCall(off)
	for i := range on {
		c := &on[i]
		if !c.Rules.Has(r) || !later(c) || !agents.Of(c.Agent).ClaudeCode {
			continue
		}
		if n := len(list); n == 0 || list[n-1].session != c.Session {
			list = append(list, tried{r, c.Session, profile.Trial{
				From: p.Epoch(c.Version), Saved: without[c.Session] - with[c.Session],
			}})
		}
		t := &list[len(list)-1]
		t.Calls++
		with, without := c.close(c.Predicted.Read), c.close(off[i].Predicted.Read)
		t.Gained += index(with && !without)
		t.Lost += index(without && !with)
	}
	return list
}

// offByCall returns, by session, the sum of the absolute errors of the calls'
// input cost, USD: errors that cancel within a session do not speak against a
// rule.
func offByCall(calls []Call) map[string]float64 {
	off := map[string]float64{}
	for i := range calls {
		if c := &calls[i]; c.Priced && later(c) {
			off[c.Session] += math.Abs(c.PredictedUSD - c.ActualUSD)
		}
	}
	return off
}

// evidenceOf adds up the trials of some sessions by epoch.
func evidenceOf(list []tried, sessions []*traces.Session) profile.Evidence {
	of := map[string]bool{}
	for _, s := range sessions {
		of[s.ID] = true
	}
	type key struct {
		rule profile.Rule
		from string
	}
	by := map[key][]*profile.Trial{} // one per session
	for i := range list {
		if t := &list[i]; of[t.session] {
			at := key{t.rule, t.From}
			by[at] = append(by[at], &t.Trial)
		}
	}
	e := profile.Evidence{}
	for at, trials := range by {
		sum := profile.Trial{From: at.from}
		var with, without []int
		for _, t := range trials {
			sum.Calls, sum.Saved = sum.Calls+t.Calls, sum.Saved+t.Saved
			with, without = append(with, t.Gained), append(without, t.Lost)
		}
		sum.Gained, sum.Lost, sum.Saved = bounded(with), bounded(without), round(sum.Saved, 4)
		e[at.rule.String()] = append(e[at.rule.String()], sum)
	}
	return e.With(nil) // in order of epochs
}

// bounded returns the sum of counts by session, where no session counts for
// more than all others plus one: what happens repeatedly in one session has a
// cause in that session.
func bounded(counts []int) int {
	sum, most := 0, 0
	for _, n := range counts {
		sum, most = sum+n, max(most, n)
	}
	return min(sum, 2*(sum-most)+1)
}

// fitHidden returns the share of ended turns after which the next prompt read
// more than the turn's last call had left, by epoch, by how the client was
// started and by what came next.
func fitHidden(p *profile.Profile, sessions []*traces.Session, calls []Call) []profile.Habit {
	ended := endedTurns(sessions)
	yes, n := map[profile.Habit]int{}, map[profile.Habit]int{}
	for i := range calls {
		c := &calls[i]
		r := c.round
		if c.Class != ClassPrompt || c.Kind != traces.ThreadMain || c.Actual.Read < c.Left || !ended[turn{c.Session, c.Thread, c.Round}] ||
			r.Signs.Has(traces.SignAway) {
			continue
		}
		h := profile.Habit{From: p.Epoch(c.Version), Entry: profile.Name(c.Entry), Notice: r.Signs.Has(traces.SignNotice)}
		n[h]++
		if c.Actual.Read > c.Left {
			yes[h]++
		}
	}
	var list []profile.Habit
	for h, calls := range n {
		h.Estimate = wilson(yes[h], calls)
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b profile.Habit) int {
		return cmp.Or(profile.Compare(a.From, b.From), strings.Compare(a.Entry, b.Entry), cmp.Compare(index(a.Notice), index(b.Notice)))
	})
	return list
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// turn names a round.
type turn struct {
	session, thread string
	round           int
}

// endedTurns returns the rounds whose predecessor ended a turn: its response called no
// tool and, if the session's log has any end of a turn, the log says so.
func endedTurns(sessions []*traces.Session) map[turn]bool {
	ended := map[turn]bool{}
	logged := func(r traces.Round) bool { return r.Signs.Has(traces.SignTurnEnd) }
	for _, s := range sessions {
		logs := slices.ContainsFunc(s.Threads, func(t traces.Thread) bool { return slices.ContainsFunc(t.Rounds, logged) })
		for i := range s.Threads {
			t := &s.Threads[i]
			for r := range t.Rounds[:max(0, len(t.Rounds)-1)] {
				reply := s.Blocks[t.Rounds[r].Reply.From:t.Rounds[r].Reply.To]
				ended[turn{s.ID, t.ID, r + 1}] = (!logs || logged(t.Rounds[r+1])) && !slices.ContainsFunc(reply, func(b prompt.Block) bool { return b.Kind == prompt.KindToolUse })
			}
		}
	}
	return ended
}

// Openings are the reads of the first calls of sessions that begin with their
// own conversation, of Claude Code and of Codex, and what sessions of all but Claude Code show of losses.
type Openings struct {
	Claude, Codex []profile.FirstRead
	Shown         []profile.Shown
}

// openingsOf returns the openings of sessions; bodies that are not in memory are loaded one by one.
func openingsOf(sessions []*traces.Session) (*Openings, error) {
	o := &Openings{}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		o.Add(whole)
	}
	return o, nil
}

// Join adds the openings of other sessions.
func (o *Openings) Join(p *Openings) {
	o.Claude, o.Codex = append(o.Claude, p.Claude...), append(o.Codex, p.Codex...)
	o.Shown = append(o.Shown, p.Shown...)
}

// Add adds the opening of a session whose body is in memory.
func (o *Openings) Add(s *traces.Session) {
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return
	}
	if x := shownBy(s); !agents.ClaudeCode(s) && x.Early+x.Later+x.Opened > 0 && invented(s) == "" {
		o.Shown = append(o.Shown, x)
	}
	if s.Threads[0].Kind != traces.ThreadMain {
		return
	}
	t := &s.Threads[0]
	r := &t.Rounds[0]
	if t.MidContext || t.Since > 0 || !r.Counted() || r.Signs.Has(traces.SignTurnEnd) {
		return
	}
	f := profile.FirstRead{
		User: profile.Key(s.User()), Version: profile.Name(s.Version()), Model: profile.Name(s.Models[r.Model]), Entry: profile.Name(s.Entry),
		Session: profile.Key(prompt.DigestString(s.ID)), At: r.At / 1e9, Read: r.Usage.Read,
	}
	switch {
	case agents.ClaudeCode(s):
		o.Claude = append(o.Claude, f)
	case s.Agent == traces.AgentCodex:
		o.Codex = append(o.Codex, f)
	}
}
