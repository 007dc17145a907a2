package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// evidence returns how each rule did by epoch, at the calls at which it had
// something to say. In the first of the rounds all of them are on, then each is
// switched while the others hold where the round before says so.
func (f *fitter) evidence(rounds int) profile.Evidence {
	p := *f.profile
	p.Evidence = nil
	g := fitter{ctx: f.ctx, config: f.config, sessions: f.sessions, profile: &p, err: f.err}
	for range rounds {
		e := profile.Evidence{}
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
			if trials := trialsOf(&p, r, on, g.run()); trials != nil {
				e[r.String()] = trials
			}
		}
		p.Evidence = e
	}
	f.err = g.err
	return p.Evidence
}

// trialsOf counts by epoch the calls at which a rule had something to say, given
// the same calls predicted with and without it. Where it gains in one session
// alone nothing is gained: who judges a session by the others would not know.
func trialsOf(p *profile.Profile, r profile.Rule, on, off []Call) []profile.Trial {
	byEpoch := map[string]*profile.Trial{}
	gains := map[string]map[string]int{} // by epoch and session
	for i := range on {
		c := &on[i]
		if !c.Rules.Has(r) || !later(c) || !agents.Of(c.Agent).ClaudeCode {
			continue
		}
		epoch := p.Epoch(c.Version)
		t := byEpoch[epoch]
		if t == nil {
			t = &profile.Trial{From: epoch}
			byEpoch[epoch], gains[epoch] = t, map[string]int{}
		}
		with, without := index(c.close(c.Predicted.Read)), index(c.close(off[i].Predicted.Read))
		t.Calls++
		t.With += with
		t.Without += without
		gains[epoch][c.Session] += with - without
	}
	var list []profile.Trial
	for epoch, t := range byEpoch {
		if gain := t.With - t.Without; gain > 0 && !byOthers(gains[epoch], gain) {
			t.With = t.Without
		}
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b profile.Trial) int { return profile.Compare(a.From, b.From) })
	return list
}

// byOthers reports whether a gain of total over sessions would be made if each of
// them were judged by the others.
func byOthers(gains map[string]int, total int) bool {
	n := 0
	for _, own := range gains {
		if total-own > 0 {
			n += own
		}
	}
	return n > 0
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
			r.Signs.Has(traces.SignAway) || !r.Signs.Has(traces.SignTurnEnd) {
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

// endedTurns returns the rounds whose predecessor ended a turn: its response
// called no tool.
func endedTurns(sessions []*traces.Session) map[turn]bool {
	ended := map[turn]bool{}
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			for r := range t.Rounds[:max(0, len(t.Rounds)-1)] {
				reply := s.Blocks[t.Rounds[r].Reply.From:t.Rounds[r].Reply.To]
				ended[turn{s.ID, t.ID, r + 1}] = !slices.ContainsFunc(reply, func(b prompt.Block) bool { return b.Kind == prompt.KindToolUse })
			}
		}
	}
	return ended
}

// FirstReads returns what the first calls of Claude Code's sessions read: of those
// that begin with a conversation of their own.
func FirstReads(sessions []*traces.Session) []profile.FirstRead {
	return openingReads(slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.ClaudeCode(s) }))
}

// openingReads returns the same of sessions of any agent.
func openingReads(sessions []*traces.Session) []profile.FirstRead {
	var list []profile.FirstRead
	for _, s := range sessions {
		if len(s.Threads) == 0 || s.Threads[0].Kind != traces.ThreadMain || len(s.Threads[0].Rounds) == 0 {
			continue
		}
		t := &s.Threads[0]
		r := &t.Rounds[0]
		if t.MidContext || t.Since > 0 || r.Usage.Input() == 0 || r.Signs.Has(traces.SignTurnEnd) {
			continue
		}
		list = append(list, profile.FirstRead{
			User: profile.Key(s.User()), Version: profile.Name(s.Version()), Model: profile.Name(s.Models[r.Model]), Entry: profile.Name(s.Entry),
			Session: profile.Key(prompt.DigestString(s.ID)), At: r.At / 1e9, Read: r.Usage.Read,
		})
	}
	return list
}
