package validate

import (
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Fit returns a profile fitted on sessions: on those of Claude Code, and the block
// that is Codex's on its own. What is not fitted (switches, epochs, weight of the
// prior) is taken from base.
//
// Sizes are fitted first, with every rule tried everywhere, so that what follows
// a changed head is known as such; then where the rules hold; then, under these,
// what stays unexplained.
func Fit(ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session) (*profile.Profile, error) {
	p, _, err := fit(ctx, config, base, sessions, nil)
	return p, err
}

// fit is Fit with the evidence of the rules given, which takes most of its time;
// nil to gather it, and to return what was tried.
func fit(
	ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session, known profile.Evidence,
) (*profile.Profile, []tried, error) {
	p := *base
	p.Static, p.Hidden, p.Evidence = nil, nil, nil
	p.Switches.Static, p.Switches.Lifetime = false, false
	p.Codex = fitCodex(base.Codex, sessions)
	p.Force = 1<<profile.NumRules - 1
	f := fitter{ctx: ctx, config: config, sessions: sessions, profile: &p}
	calls := f.run()
	p.Switches, p.Force = base.Switches, 0
	p.Source = fmt.Sprintf("%d sessions, %d calls", len(sessions), len(calls))
	calls = claudeCode(calls)
	p.First, p.Static, p.Hidden, p.OwnSystem = fitFirst(calls), fitStatic(calls), fitHidden(&p, sessions, calls), fitOwnSystem(calls)
	p.FirstReads = nil
	p.Learn(openings(sessions))
	p.Lifetime = profile.Lifetimes{FiveMinutes: fitLifetime(calls, prompt.TTL5m), OneHour: fitLifetime(calls, prompt.TTL1h)}
	p.Lifetime.FromEnd = fitAnchor(calls, func(c *Call) int64 { return c.Gap })
	p.Lifetime.FromStart = fitAnchor(calls, func(c *Call) int64 { return c.SinceStart })
	var list []tried
	if p.Evidence = known; known == nil {
		list = f.evidence(2)
		p.Evidence = evidenceOf(list, sessions)
	}
	calls = claudeCode(f.run())
	p.Shared, p.SharedTokens = fitShared(calls)
	p.Losses = fitLosses(calls)
	own := slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.ClaudeCode(s) })
	p.TokensPerByte, p.ResultRates, p.ModelRates = fitRates(own), fitToolRates(own), fitModelRates(own)
	p.Compact, p.Talk = fitCompactions(&p, own), fitTalk(own)
	all := f.run()
	if losses := fitCodexLosses(all); losses != nil {
		p.Codex.Losses = losses
	}
	if f.err != nil {
		return nil, nil, fmt.Errorf("fitting a profile: %w", f.err)
	}
	return &p, list, nil
}

// fitter predicts the sessions again and again with a profile that takes shape.
type fitter struct {
	ctx      context.Context
	config   sim.Config
	sessions []*traces.Session
	profile  *profile.Profile
	err      error // the first
}

// run returns the calls of the sessions, predicted with the profile as it is;
// none behind an error.
func (f *fitter) run() []Call {
	if f.err != nil {
		return nil
	}
	p := *f.profile
	r, err := Run(f.ctx, Options{Config: WithProfile(f.config, &p)}, f.sessions)
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
// else of what first calls read, which may be only a part others share.
func fitStatic(calls []Call) []profile.Versioned {
	after, first := map[string][]float64{}, map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Kind != traces.ThreadMain || c.Actual.Read < minStatic {
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
	var list []profile.Versioned
	for _, v := range values(calls, func(c *Call) string { return c.Version }) {
		x := after[v]
		if len(x) == 0 {
			x = first[v]
		}
		if len(x) > 0 {
			list = append(list, profile.Versioned{Version: v, Estimate: median(x)})
		}
	}
	return sorted(list)
}

// fitOwnSystem returns how much more than the first call of their session calls
// read whose messages alone had changed.
func fitOwnSystem(calls []Call) profile.Estimate {
	first := map[string]int64{}
	var sizes []float64
	for i := range calls {
		c := &calls[i]
		switch {
		case c.Kind != traces.ThreadMain:
		case c.Class == ClassFirst:
			first[c.Session] = c.Actual.Read
		case c.Rules.Has(profile.RuleHook) && c.Actual.Read < c.Left/2 && first[c.Session] >= minStatic:
			if more := c.Actual.Read - first[c.Session]; more >= minStatic && more < first[c.Session] {
				sizes = append(sizes, float64(more))
			}
		}
	}
	return median(sizes)
}

// minStatic is the least a read must have to be taken for a prefix, tokens: the
// smallest minimum of a model (platform.claude.com, prompt caching).
const minStatic = 1024

func sorted(list []profile.Versioned) []profile.Versioned {
	slices.SortFunc(list, func(a, b profile.Versioned) int { return profile.Compare(a.Version, b.Version) })
	return list
}

// fitLifetime returns the gap, seconds, that best divides calls that still read
// their thread's prefix from those that do not. The interval holds the gaps with
// at most one call more on the wrong side; the documented lifetime is taken when
// it is among the best.
func fitLifetime(calls []Call, ttl prompt.TTL) profile.Estimate {
	documented := float64(lifetime(ttl)) / 1e9
	type gap struct {
		seconds float64
		alive   bool
	}
	var gaps []gap
	for i := range calls {
		c := &calls[i]
		s := float64(c.Gap) / 1e9
		if c.TTL == ttl && c.plain() && c.Left > 0 && s >= documented/2 && s <= 2*documented && !c.Collapsed() && !c.changed() {
			gaps = append(gaps, gap{s, float64(c.Actual.Read) >= collapseShare*float64(c.Left)})
		}
	}
	wrong := func(edge float64) int {
		n := 0
		for _, g := range gaps {
			if g.alive != (g.seconds <= edge) {
				n++
			}
		}
		return n
	}
	e := profile.Estimate{Value: documented, Low: documented, High: documented, N: len(gaps)}
	best := wrong(documented)
	for _, g := range gaps {
		if n := wrong(g.seconds); n < best {
			best, e.Value = n, g.seconds
		}
	}
	for _, g := range gaps {
		if wrong(g.seconds) <= best+1 {
			e.Low, e.High = min(e.Low, g.seconds), max(e.High, g.seconds)
		}
	}
	return e
}

// fitAnchor returns the share of calls near the edge of their documented lifetime
// that are on its wrong side when it counts from a moment: alive behind it, or
// lost ahead of it.
func fitAnchor(calls []Call, since func(*Call) int64) profile.Estimate {
	wrong, n := 0, 0
	for i := range calls {
		c := &calls[i]
		life := lifetime(c.TTL)
		if !c.plain() || c.Left == 0 || c.Gap < life/2 || c.Gap > 2*life || c.Collapsed() && c.Gap <= life || c.changed() {
			continue
		}
		n++
		alive := float64(c.Actual.Read) >= collapseShare*float64(c.Left)
		if alive != (since(c) <= life) {
			wrong++
		}
	}
	return wilson(wrong, n)
}

// plain reports whether nothing but time stands between a call and the one
// before it.
func (c *Call) plain() bool {
	switch c.Class {
	case ClassExpiry, ClassToolResult, ClassPrompt, ClassSubAgent:
		return true
	}
	return false
}

// fitShared returns the share of expired calls that read a part of the prefix
// all the same, and how much.
func fitShared(calls []Call) (share, tokens profile.Estimate) {
	yes, n := 0, 0
	var sizes []float64
	for i := range calls {
		c := &calls[i]
		if c.Class != ClassExpiry || float64(c.Actual.Read) >= collapseShare*float64(c.Left) {
			continue
		}
		n++
		if c.Actual.Read >= minStatic {
			yes++
			sizes = append(sizes, float64(c.Actual.Read))
		}
	}
	return wilson(yes, n), median(sizes)
}
