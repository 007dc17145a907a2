package learning

import (
	"context"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

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
