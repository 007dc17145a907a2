package validate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Fit returns a profile fitted on the sessions of Claude Code, and its Codex part on the sessions
// of Codex. What is not fitted (switches, epochs, weight of the prior) comes from base.
//
// Sizes are fitted first, with every rule tried everywhere, so that the effects
// of a changed head are recognized; then where the rules hold; then, under
// these, what stays unexplained.
func Fit(ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session) (*profile.Profile, error) {
	p, _, err := fit(ctx, config, base, sessions, nil)
	return p, err
}

// fit is Fit with given evidence of the rules, whose collection takes most of
// the time; with nil it collects the evidence and returns the trials.
func fit(
	ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session, known profile.Evidence,
) (*profile.Profile, learning.Trials, error) {
	first, err := profile.OpeningsOf(sessions)
	if err != nil {
		return nil, nil, err
	}
	p := *base
	p.Static, p.Hidden, p.Evidence = nil, nil, nil
	p.Switches.Static = false
	p.Codex = fitCodex(base.Codex, sessions, first.Codex)
	p.Force = 1<<profile.NumRules - 1
	f := fitter{ctx: ctx, config: config, sessions: sessions, profile: &p}
	calls := f.run()
	p.Switches, p.Force = base.Switches, 0
	p.Source = fmt.Sprintf("%d sessions, %d calls", len(sessions), len(calls))
	calls = claudeCode(calls)
	p.First, p.Static, p.OwnSystem = fitFirst(calls), fitStatic(calls), fitOwnSystem(calls)
	p.Hidden = learning.Hidden(&p, sessions, config.Prices)
	p.FirstReads = nil
	p.Learn(first.Claude, first.Codex)
	p.Losses.Sessions = nil
	var trials learning.Trials
	if p.Evidence = known; known == nil {
		if trials, err = learning.Try(&p, learning.Replays(ctx, config, sessions), 2); err != nil {
			return nil, nil, fmt.Errorf("fitting a profile: %w", err)
		}
		p.Evidence = trials.In(nil)
	}
	calls = claudeCode(f.run())
	p.Shared = fitShared(calls)
	p.Losses = profile.Losses{Marked: fitLosses(calls, &markedLosses), Automatic: base.Losses.Automatic}
	own := slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.ClaudeCode(s) })
	p.Announced = fitAnnounced(&p, own)
	if p.Compact, err = fitCompactions(config, &p, own); err != nil {
		return nil, nil, err
	}
	codex := slices.DeleteFunc(f.run(), func(c Call) bool { return c.Agent != traces.AgentCodex })
	if len(codex) > 0 {
		p.Losses.Automatic = fitLosses(codex, &automaticLosses)
	}
	if p.LearnLosses(first.Shown); len(first.Shown) == 0 {
		p.LearnLosses(base.Losses.Sessions)
	}
	if f.err != nil {
		return nil, nil, fmt.Errorf("fitting a profile: %w", f.err)
	}
	return &p, trials, nil
}

// fitter predicts the sessions repeatedly with a profile that takes shape.
type fitter struct {
	ctx      context.Context
	config   sim.Config
	sessions []*traces.Session
	profile  *profile.Profile
	err      error // the first
}

// run returns the calls of the sessions, predicted with the current profile;
// none after an error.
func (f *fitter) run() []Call {
	if f.err != nil {
		return nil
	}
	p := *f.profile
	r, err := Run(f.ctx, Options{Config: f.config.WithProfile(&p)}, f.sessions)
	if f.err = err; err != nil {
		return nil
	}
	return r.Calls()
}

// claudeCode returns the calls of Claude Code.
func claudeCode(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return !agents.Of(c.Agent).ClaudeCode })
}

// fitStatic returns the static prefix of main threads by version: the median of
// what calls read right after the messages were replaced or their key changed,
// else of what first calls read, which may be only a part shared with others.
func fitStatic(calls []Call) []profile.Versioned {
	after, first := map[string][]float64{}, map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Kind != traces.ThreadMain || c.Actual.Read < profile.LeastPrefix {
			continue
		}
		changed := c.Class == ClassCompaction || c.Class == ClassMicrocompact || c.changed()
		switch {
		case c.Class == ClassFirst:
			first[c.Version] = append(first[c.Version], float64(c.Actual.Read))
		case changed && c.Actual.Read < c.Left/2:
			after[c.Version] = append(after[c.Version], float64(c.Actual.Read))
		}
	}
	maps.Copy(first, after)
	return byVersion(first)
}

// fitOwnSystem returns how much more calls with only their messages changed
// read than the first call of their session.
func fitOwnSystem(calls []Call) profile.Estimate {
	first := map[string]int64{}
	var sizes []float64
	for i := range calls {
		c := &calls[i]
		switch {
		case c.Kind != traces.ThreadMain:
		case c.Class == ClassFirst:
			first[c.Session] = c.Actual.Read
		case c.Rules.Has(profile.RuleHook) && c.Actual.Read < c.Left/2 && first[c.Session] >= profile.LeastPrefix:
			if more := c.Actual.Read - first[c.Session]; more >= profile.LeastPrefix && more < first[c.Session] {
				sizes = append(sizes, float64(more))
			}
		}
	}
	return median(sizes)
}

// fitShared returns the share of expired calls that still read a part of the
// prefix.
func fitShared(calls []Call) profile.Estimate {
	yes, n := 0, 0
	for i := range calls {
		c := &calls[i]
		if c.Class != ClassExpiry || float64(c.Actual.Read) >= collapseShare*float64(c.Left) {
			continue
		}
		n++
		yes += index(c.Actual.Read >= profile.LeastPrefix)
	}
	return profile.Share(yes, n)
}

// fitFirst returns how often first calls of sub-agents read a prefix that
// others have cached, and the median of such reads by version.
func fitFirst(calls []Call) profile.FirstCalls {
	yes, n := 0, 0
	read := map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Class != ClassFirst || c.Kind != traces.ThreadAgent && c.Kind != traces.ThreadOrphan {
			continue
		}
		if n++; c.Actual.Read >= profile.LeastPrefix {
			yes++
			read[c.Version] = append(read[c.Version], float64(c.Actual.Read))
		}
	}
	return profile.FirstCalls{Agent: profile.Share(yes, n), AgentTokens: byVersion(read)}
}

// byVersion returns the medians of values by version, in order of versions.
func byVersion(values map[string][]float64) []profile.Versioned {
	var list []profile.Versioned
	versions := sortedKeys(values)
	slices.SortStableFunc(versions, profile.Compare)
	for _, v := range versions {
		list = append(list, profile.Versioned{Version: v, Estimate: median(values[v])})
	}
	return list
}
