// Package learning finds what the sessions of a run add to a profile: what their first calls
// read, how often caches lose entries, and which rules hold for clients whose versions the
// profile has no recordings of.
package learning

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
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
