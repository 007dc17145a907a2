// Package learning finds what the sessions of a run add to a profile: what their first calls
// read, how often caches lose entries, and which rules hold for clients whose versions the
// profile has no recordings of.
package learning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

// Learned is what sessions added to a profile about clients that it lacked.
type Learned struct {
	Epochs []string // their first versions
	Rules  []string // that hold there, as "rule from version"
	Of     int      // sessions they were tried on
}

// sampleSessions is the number of sessions of an epoch on which rules are tried
// when the profile lacks it: enough for habits, few enough to be fast.
const sampleSessions = 60

// Learn returns a copy of a profile with what some sessions add: what first calls of each
// user found, and which rules hold in epochs of versions for which the profile has no
// evidence. A session tells nothing about itself: its own first call does not count for
// it, and among the trials of a rule it has at most one call more than all others
// together. first are the first calls of these sessions; nil reads them from the sessions.
func Learn(
	ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session, first *profile.Openings,
) (*profile.Profile, Learned, error) {
	var learned Learned
	if first == nil {
		var err error
		if first, err = profile.OpeningsOf(sessions); err != nil {
			return nil, learned, err
		}
	}
	p := *base
	p.Learn(first.Claude, first.Codex)
	p.LearnLosses(first.Shown)
	p.LearnOwn(first.Own)
	sample, err := learned.sample(&p, sessions)
	if err != nil || len(sample) == 0 {
		return &p, learned, err
	}
	trials, err := Try(&p, Replays(ctx, config, sample), 1)
	if err != nil {
		return nil, learned, fmt.Errorf("learning from the sessions: %w", err)
	}
	found := trials.In(nil)
	p.Hidden = append(slices.Clone(p.Hidden), Hidden(&p, sample, config.Prices)...)
	p.Evidence = p.Evidence.With(found)
	for _, epoch := range learned.Epochs {
		for r := range profile.NumRules {
			tried := slices.ContainsFunc(found[r.String()], func(t profile.Trial) bool { return t.From == epoch })
			if tried && p.RulesFor(epoch).Has(r) {
				learned.Rules = append(learned.Rules, fmt.Sprintf("%s from %s", r, epoch))
			}
		}
	}
	return &p, learned, nil
}

// sample returns the sessions, with their bodies, on which rules are tried, and notes their epochs.
func (l *Learned) sample(p *profile.Profile, sessions []*traces.Session) ([]*traces.Session, error) {
	lacking := map[string][]*traces.Session{}
	for _, s := range sessions {
		if epoch := p.Epoch(s.Version()); agents.ClaudeCode(s) && !p.Tried(epoch) && len(lacking[epoch]) < sampleSessions {
			lacking[epoch] = append(lacking[epoch], s)
		}
	}
	var sample []*traces.Session
	for _, epoch := range slices.Sorted(maps.Keys(lacking)) {
		if len(lacking[epoch]) < 2 {
			continue
		}
		l.Epochs = append(l.Epochs, epoch)
		for _, s := range lacking[epoch] {
			s, err := s.Load()
			if err != nil {
				return nil, err
			}
			sample = append(sample, s)
		}
	}
	l.Of = len(sample)
	return sample, nil
}

// Hidden returns the share of ended turns of Claude Code after which the next prompt read more than
// the turn's last call had left, by epoch, by how the client was started and by what came next.
func Hidden(p *profile.Profile, sessions []*traces.Session, prices calls.Prices) []profile.Habit {
	yes, n := map[profile.Habit]int{}, map[profile.Habit]int{}
	for _, s := range sessions {
		if !agents.ClaudeCode(s) {
			continue
		}
		logs := slices.ContainsFunc(s.Threads, func(t traces.Thread) bool { return slices.ContainsFunc(t.Rounds, endsTurn) })
		for _, thread := range calls.Of(s, prices).Threads {
			for i := range thread {
				c := &thread[i]
				r := c.Recorded
				if !shows(c) || logs && !endsTurn(*r) {
					continue
				}
				h := profile.Habit{From: p.Epoch(s.Version()), Entry: profile.Name(s.Entry), Notice: r.Signs.Has(signs.Notice)}
				n[h]++
				if r.Usage.Read > c.Before.Leaves() {
					yes[h]++
				}
			}
		}
	}
	var list []profile.Habit
	for h, calls := range n {
		h.Estimate = profile.Share(yes[h], calls)
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b profile.Habit) int {
		return cmp.Or(profile.Compare(a.From, b.From), strings.Compare(a.Entry, b.Entry),
			strings.Compare(strconv.FormatBool(a.Notice), strconv.FormatBool(b.Notice)))
	})
	return list
}

// endsTurn reports whether the log says that a turn ended before a round.
func endsTurn(r traces.Round) bool { return r.Signs.Has(signs.TurnEnd) }

// shows reports whether a call tells of a call before it that no log shows: it answers a person, with the whole
// context still in the cache, after a response of the main conversation that called no tool.
func shows(c *calls.Call) bool {
	u := &c.Recorded.Usage
	if c.Thread.Kind != traces.ThreadMain || !c.Continues() || !c.Prompted() || c.Recorded.Signs.Has(signs.Away) ||
		u.Input() == 0 || u.Read < c.Before.Leaves() {
		return false
	}
	reply := c.Before.Recorded.Reply
	return !slices.ContainsFunc(c.Session.Blocks[reply.From:reply.To], func(b prompt.Block) bool { return b.Kind == prompt.KindToolUse })
}

// Replay predicts the calls of sessions with a profile. Every time it returns the same calls in the same order.
type Replay func(p *profile.Profile) ([]*calls.Call, error)

// Replays returns the replay of sessions, whose bodies are in memory, under a configuration.
func Replays(ctx context.Context, config sim.Config, sessions []*traces.Session) Replay {
	return func(p *profile.Profile) ([]*calls.Call, error) {
		parts := make([][]*calls.Call, len(sessions))
		err := parallel.Do(ctx, 0, len(sessions), func(i int) error {
			table := calls.Of(sessions[i], config.Prices)
			_, err := sim.Predict(table, config.WithProfile(p))
			for _, thread := range table.Threads {
				for r := range thread {
					if c := &thread[r]; c.Predicted != nil && c.Recorded.Usage.Input() > 0 {
						parts[i] = append(parts[i], c)
					}
				}
			}
			return err
		})
		return slices.Concat(parts...), err
	}
}

// Trials are the trials of rules in sessions.
type Trials []trial

// trial is the trial of a rule in a session.
type trial struct {
	rule    profile.Rule
	session string
	profile.Trial
}

// Try returns the trials of each rule at the calls to which it applied. In the first round all
// rules are on; in later rounds each is switched while all other rules hold where the previous round
// says so.
func Try(base *profile.Profile, replay Replay, rounds int) (list Trials, err error) {
	p := *base
	p.Evidence = nil
	under := func(force, forbid profile.Set) (calls []*calls.Call) {
		if err == nil {
			with := p
			with.Force, with.Forbid = force, forbid
			calls, err = replay(&with)
		}
		return calls
	}
	for range rounds {
		list = nil
		all := under(1<<profile.NumRules-1, 0)
		for r := range profile.NumRules {
			one := profile.Set(0).With(r)
			if !slices.ContainsFunc(all, func(c *calls.Call) bool { return c.Predicted.Rules.Has(r) }) {
				continue
			}
			on := all
			if p.Evidence != nil {
				on = under(one, 0)
			}
			if off := under(0, one); err == nil {
				list = append(list, try(&p, r, on, off)...)
			}
		}
		p.Evidence = list.In(nil)
	}
	return list, err
}

// try counts, by session, the calls to which a rule applied, given the same
// calls predicted with and without it.
func try(p *profile.Profile, r profile.Rule, on, off []*calls.Call) Trials {
	var list Trials
	with, without := offByCall(on), offByCall(off)
	for i, c := range on {
		if !c.Predicted.Rules.Has(r) || c.Before == nil || !agents.ClaudeCode(c.Session) {
			continue
		}
		id := c.Session.ID
		if n := len(list); n == 0 || list[n-1].session != id {
			list = append(list, trial{r, id, profile.Trial{
				From: p.Epoch(c.Session.Version()), Saved: without[id] - with[id],
			}})
		}
		t := &list[len(list)-1]
		t.Calls++
		switch with, without := c.Near(c.Predicted.Usage.Read), c.Near(off[i].Predicted.Usage.Read); {
		case with && !without:
			t.Gained++
		case without && !with:
			t.Lost++
		}
	}
	return list
}

// offByCall returns, by session, the sum of the absolute errors of the calls'
// input cost, USD: errors that cancel within a session do not speak against a
// rule.
func offByCall(list []*calls.Call) map[string]float64 {
	off := map[string]float64{}
	for _, c := range list {
		if c.Model.Known && c.Before != nil {
			off[c.Session.ID] += math.Abs(inputUSD(c, c.Predicted.Usage) - inputUSD(c, c.Recorded.Usage))
		}
	}
	return off
}

// inputUSD returns what the input of a call costs, USD.
func inputUSD(c *calls.Call, u prompt.Usage) float64 {
	u.Output = 0
	cost := c.Model.Of(u)
	return cost.Total()
}

// In adds up the trials in some sessions by epoch; nil stands for all.
func (list Trials) In(sessions []*traces.Session) profile.Evidence {
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
		if t := &list[i]; sessions == nil || of[t.session] {
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
		sum.Gained, sum.Lost = Bounded(with), Bounded(without)
		sum.Saved = math.Round(sum.Saved*1e4)/1e4 + 0 // never −0
		e[at.rule.String()] = append(e[at.rule.String()], sum)
	}
	return e.With(nil) // in order of epochs
}

// Bounded returns the sum of counts by session, where no session counts for
// more than all others plus one: what happens repeatedly in one session has a
// cause in that session.
func Bounded(counts []int) int {
	sum, most := 0, 0
	for _, n := range counts {
		sum, most = sum+n, max(most, n)
	}
	return min(sum, 2*(sum-most)+1)
}
