package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// fit returns a profile fitted on the sessions of Claude Code, and its Codex part on the sessions
// of Codex. What is not fitted (switches, epochs, weight of the prior) comes from base.
//
// Sizes are fitted first, with every rule tried everywhere, so that the effects
// of a changed head are recognized; then where the rules hold; then, under
// these, what stays unexplained.
//
// known is the evidence of the rules, whose collection takes most of the time; with nil fit
// collects the evidence and returns the trials.
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
	yes, n := 0, 0
	for i := range calls {
		c := &calls[i]
		if c.Class != validate.ClassExpiry || c.Kept() {
			continue
		}
		n++
		if c.Actual.Read >= profile.LeastPrefix {
			yes++
		}
	}
	p.Shared = profile.Share(yes, n)
	p.Losses = profile.Losses{Marked: fitLosses(calls, &markedLosses), Automatic: base.Losses.Automatic}
	own := slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.ClaudeCode(s) })
	p.Announced = fitAnnounced(&p, own)
	if p.Compact, err = fitCompactions(config, &p, own); err != nil {
		return nil, nil, err
	}
	codex := slices.DeleteFunc(f.run(), func(c validate.Call) bool { return c.Agent != facts.Codex })
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
func (f *fitter) run() []validate.Call {
	if f.err != nil {
		return nil
	}
	p := *f.profile
	r, err := validate.Run(f.ctx, validate.Options{Config: f.config.WithProfile(&p), Calls: true}, f.sessions)
	if f.err = err; err != nil {
		return nil
	}
	return r.Calls()
}

// claudeCode returns the calls of Claude Code.
func claudeCode(calls []validate.Call) []validate.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c validate.Call) bool { return !agents.Of(c.Agent).ClaudeCode })
}

// fitStatic returns the static prefix of main threads by version: the median of
// what calls read right after the messages were replaced or their key changed,
// else of what first calls read, which may be only a part shared with others.
func fitStatic(calls []validate.Call) []profile.Versioned {
	after, first := map[string][]float64{}, map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Kind != traces.ThreadMain || c.Actual.Read < profile.LeastPrefix {
			continue
		}
		changed := c.Class == validate.ClassCompaction || c.Class == validate.ClassMicrocompact || c.Changed()
		switch {
		case c.Class == validate.ClassFirst:
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
func fitOwnSystem(calls []validate.Call) profile.Estimate {
	first := map[string]int64{}
	var sizes []float64
	for i := range calls {
		c := &calls[i]
		switch {
		case c.Kind != traces.ThreadMain:
		case c.Class == validate.ClassFirst:
			first[c.Session] = c.Actual.Read
		case c.Rules.Has(profile.RuleHook) && c.Actual.Read < c.Left/2 && first[c.Session] >= profile.LeastPrefix:
			if more := c.Actual.Read - first[c.Session]; more >= profile.LeastPrefix && more < first[c.Session] {
				sizes = append(sizes, float64(more))
			}
		}
	}
	return profile.Median(sizes)
}

// fitFirst returns how often first calls of sub-agents read a prefix that
// others have cached, and the median of such reads by version.
func fitFirst(calls []validate.Call) profile.FirstCalls {
	yes, n := 0, 0
	read := map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Class != validate.ClassFirst || c.Kind != traces.ThreadAgent && c.Kind != traces.ThreadOrphan {
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
	versions := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(versions, profile.Compare)
	for _, v := range versions {
		list = append(list, profile.Versioned{Version: v, Estimate: profile.Median(values[v])})
	}
	return list
}

// left is what a recorded compaction left beyond the parts that the client's generation
// leaves in its place, tokens.
type left struct {
	epoch  string
	beyond float64
}

// fitCompactions returns what recorded compactions of main conversations left beyond what
// the generation of each session's client leaves, by epochs of a profile.
func fitCompactions(config sim.Config, p *profile.Profile, sessions []*traces.Session) (profile.Compaction, error) {
	list, err := leftBehind(config, p, sessions)
	if err != nil || len(list) == 0 {
		return profile.Compaction{}, err
	}
	all, of := []float64{}, map[string][]float64{}
	for i := range list {
		all, of[list[i].epoch] = append(all, list[i].beyond), append(of[list[i].epoch], list[i].beyond)
	}
	c := profile.Compaction{N: len(all), Remainder: deciles(all)}
	for _, epoch := range slices.Sorted(maps.Keys(of)) {
		if len(of[epoch]) >= profile.LeastOfEpoch {
			c.ByEpoch = append(c.ByEpoch, profile.Remainder{From: epoch, Tokens: deciles(of[epoch]), N: len(of[epoch])})
		}
	}
	slices.SortFunc(c.ByEpoch, func(a, b profile.Remainder) int { return profile.Compare(a.From, b.From) })
	return c, nil
}

// leftBehind drives the generation of each session by the recording.
func leftBehind(config sim.Config, p *profile.Profile, sessions []*traces.Session) ([]left, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	own, err := registry.Strategy("own")
	if err != nil {
		return nil, err
	}
	config.Profile = nil
	var list []left
	for _, s := range sessions {
		var parts func(thread, round int32) int64
		for i := range s.Threads {
			t := &s.Threads[i]
			for _, ev := range t.Events {
				if ev.Kind != traces.EventCompact || int(ev.Round) >= len(t.Rounds) || ev.Round == 0 || t.Kind != traces.ThreadMain || t.MidContext {
					continue
				}
				if parts == nil {
					if parts, err = validate.Behind(config, own.For(s.Agent, s.Version(), s.Variant), s); err != nil {
						return nil, err
					}
				}
				in := t.Rounds[ev.Round].Usage.Input()
				if got := parts(int32(i), ev.Round); got > 0 && in > 0 {
					list = append(list, left{p.Epoch(s.Version()), float64(max(0, in-got))})
				}
			}
		}
	}
	return list, nil
}

// deciles returns the least value, nine deciles and the most, rounded.
func deciles(x []float64) []float64 {
	slices.Sort(x)
	var list []float64
	for i := range 11 {
		list = append(list, math.Round(stats.Quantile(x, float64(i)/10)))
	}
	return list
}

// fitAnnounced returns what conversations are told when they open, by epochs of a profile.
// Conversations that are told nothing count; those that begin amid a recording do not.
func fitAnnounced(p *profile.Profile, sessions []*traces.Session) []profile.Announced {
	told := map[string][]signs.Announced{}
	shown := map[string]bool{}
	for _, s := range sessions {
		if len(s.Threads) == 0 || s.Threads[0].Kind != traces.ThreadMain || s.Threads[0].MidContext {
			continue
		}
		epoch := p.Epoch(s.Version())
		told[epoch] = append(told[epoch], s.Announced)
		shown[epoch] = shown[epoch] || s.Announced != signs.Announced{}
	}
	var list []profile.Announced
	for _, epoch := range slices.Sorted(maps.Keys(shown)) {
		if !shown[epoch] {
			continue
		}
		of := func(what signs.Announcement) []float64 {
			var sizes []float64
			for _, a := range told[epoch] {
				sizes = append(sizes, float64(a[what]))
			}
			return deciles(sizes)
		}
		list = append(list, profile.Announced{
			From: epoch, N: len(told[epoch]), Tools: of(signs.AnnouncedTools), Agents: of(signs.AnnouncedAgents),
			Servers: of(signs.AnnouncedServers), Hooks: of(signs.AnnouncedHooks),
		})
	}
	slices.SortFunc(list, func(a, b profile.Announced) int { return profile.Compare(a.From, b.From) })
	return list
}
