package validate

import (
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Learned is what a folder of sessions added to a profile.
type Learned struct {
	First  int      `json:"first_calls"`       // sessions whose first call tells about the others'
	Epochs []string `json:"epochs,omitempty"`  // first versions of epochs that the profile lacked
	Rules  []string `json:"rules,omitempty"`   // that hold there, as "rule from version"
	Calls  int      `json:"gained,omitempty"`  // calls more that are right with these
	Of     int      `json:"sampled,omitempty"` // sessions they were tried on
}

// sampleSessions is how many sessions of an epoch that the profile lacks its rules
// are tried on: enough for habits, few enough not to be waited for.
const sampleSessions = 60

// Learn returns a copy of a profile that knows more of some sessions: what first
// calls of each user found, and for epochs of versions that the profile has no
// evidence of, which rules hold there. A session tells nothing about itself: of
// first calls its own does not count, and a rule is adopted only if it would have
// gained on every session judged by the others.
func Learn(ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session) (*profile.Profile, Learned, error) {
	p := *base
	reads, codex := openings(sessions)
	p.Learn(reads, codex)
	learned := Learned{First: len(reads) + len(codex)}
	lacking := map[string][]*traces.Session{}
	for _, s := range sessions {
		if epoch := p.Epoch(s.Version()); agents.ClaudeCode(s) && !p.Tried(epoch) && len(lacking[epoch]) < sampleSessions {
			lacking[epoch] = append(lacking[epoch], s)
		}
	}
	var sample []*traces.Session
	for _, epoch := range sortedKeys(lacking) {
		if len(lacking[epoch]) > 1 {
			learned.Epochs = append(learned.Epochs, epoch)
			sample = append(sample, lacking[epoch]...)
		}
	}
	if len(sample) == 0 {
		return &p, learned, nil
	}
	learned.Of = len(sample)
	f := fitter{ctx: ctx, config: config, sessions: sample, profile: &p}
	found := evidenceOf(f.evidence(1), sample)
	p.Hidden = append(slices.Clone(p.Hidden), fitHidden(&p, sample, claudeCode(f.run()))...)
	if f.err != nil {
		return nil, learned, fmt.Errorf("learning from the sessions: %w", f.err)
	}
	p.Evidence = p.Evidence.With(found)
	for _, epoch := range learned.Epochs {
		for r := range profile.NumRules {
			if i := slices.IndexFunc(found[r.String()], func(t profile.Trial) bool { return t.From == epoch }); i >= 0 && p.RulesFor(epoch).Has(r) {
				t := found[r.String()][i]
				learned.Rules = append(learned.Rules, fmt.Sprintf("%s from %s", r, epoch))
				learned.Calls += t.With - t.Without
			}
		}
	}
	return &p, learned, nil
}
