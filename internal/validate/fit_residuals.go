package validate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

const (
	// residualSteps is the number of steps between the quantiles of a residual.
	residualSteps = 20
	// minResiduals is the fewest sessions that say what stays unexplained.
	minResiduals = 10
	// minEpoch is the fewest sessions with which an epoch has evidence.
	minEpoch = 3
)

// FitResiduals sets what a profile that was fitted on sessions leaves unexplained
// of their cost: as profiles predict them that have not seen their repository, or
// for epochs without evidence their epoch. Where sessions are too few, or of one
// repository or epoch, it stays as it is.
// Rules hold in the folds as in the profile, but not by the evidence of an epoch
// that a fold has not seen.
func FitResiduals(ctx context.Context, config sim.Config, p *profile.Profile, sessions []*traces.Session) error {
	by := byRepository
	if _, err := divide(sessions, by); err != nil {
		by = bySession
	}
	r, err := unseen(ctx, config, p, sessions, by)
	if err != nil {
		return err
	}
	setResiduals(p, r.Calls())
	p.Fitted = nil
	counts := map[string]int{}
	for _, s := range sessions {
		if epoch := epochOfSession(s); agents.ClaudeCode(s) {
			if counts[epoch]++; counts[epoch] == minEpoch {
				p.Fitted = append(p.Fitted, epoch)
			}
		}
	}
	slices.Sort(p.Fitted)
	if len(counts) < 2 {
		return nil
	}
	if r, err = unseen(ctx, config, p, sessions, byEpoch); err != nil {
		return err
	}
	if list := residuals(claudeCode(r.Calls())); list != nil {
		p.NewResidual = wider(list, p.Residual)
	}
	return nil
}

// unseen predicts sessions by profiles that have not seen their fold, of at most
// evenFolds.
func unseen(ctx context.Context, config sim.Config, p *profile.Profile, sessions []*traces.Session, by string) (*Report, error) {
	d, err := divide(sessions, by)
	if err != nil {
		return nil, err
	}
	names := slices.Compact(slices.Sorted(slices.Values(d.folds)))
	for i, fold := range d.folds {
		k, _ := slices.BinarySearch(names, fold)
		d.folds[i] = fmt.Sprint(k % evenFolds)
	}
	return d.validate(ctx, Options{Config: config}, sessions, func(_ string, rest []*traces.Session) (*profile.Profile, error) {
		evidence := p.Evidence
		if by == byEpoch {
			evidence = seenEvidence(p, rest)
		}
		return fitWith(ctx, config, p, rest, evidence)
	})
}

// seenEvidence returns the evidence of the epochs that sessions are of.
func seenEvidence(p *profile.Profile, sessions []*traces.Session) profile.Evidence {
	seen := map[string]bool{}
	for _, s := range sessions {
		seen[p.Epoch(s.Version())] = true
	}
	e := profile.Evidence{}
	for rule, trials := range p.Evidence {
		e[rule] = slices.DeleteFunc(slices.Clone(trials), func(t profile.Trial) bool { return !seen[t.From] })
	}
	return e
}

// wider returns quantiles of which each lies as far out as that of either list.
func wider(a, b []float64) []float64 {
	list := slices.Clone(a)
	for i := range min(len(a), len(b)) {
		if list[i] = min(a[i], b[i]); i > len(list)/2 {
			list[i] = max(a[i], b[i])
		}
	}
	return list
}

// setResiduals sets what stays unexplained of both clients' sessions, given their
// calls as predicted by profiles that have not seen them.
func setResiduals(p *profile.Profile, calls []Call) {
	if list := residuals(claudeCode(calls)); list != nil {
		p.Residual = list
	}
	codex := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Agent != traces.AgentCodex })
	if list := residuals(codex); list != nil {
		p.Codex.Residual = list
	}
}

// residualFor returns the residual of a session at a share 0…1 of its
// distribution: that of its client, and of epochs with or without evidence.
func residualFor(p *profile.Profile, s *traces.Session, share float64) float64 {
	switch {
	case s.Agent == traces.AgentCodex:
		return profile.At(p.Codex.Residual, share)
	case len(p.NewResidual) > 0 && !slices.Contains(p.Fitted, epochOfSession(s)):
		return profile.At(p.NewResidual, share)
	}
	return profile.At(p.Residual, share)
}

// residuals returns quantiles of ln(recorded/predicted input cost) over sessions,
// nil for fewer than minResiduals. Sessions that lost their messages are among
// them: a band by rates alone leaves out nearly every session that was unlikely
// to and did.
func residuals(calls []Call) []float64 {

	cost := map[string]*[2]float64{}
	for i := range calls {
		c := &calls[i]

		if later(c) && c.Priced {
			if cost[c.Session] == nil {
				cost[c.Session] = new([2]float64)
			}
			cost[c.Session][0] += c.PredictedUSD
			cost[c.Session][1] += c.ActualUSD
		}
	}
	var logs, quantiles []float64
	for _, id := range sortedKeys(cost) {
		if c := cost[id]; c[0] > 0 && c[1] > 0 {
			logs = append(logs, math.Log(c[1]/c[0]))
		}
	}
	if len(logs) < minResiduals {
		return nil
	}
	slices.Sort(logs)
	for i := range residualSteps + 1 {
		// Of n sessions the k-th has k/(n+1) of all others below it (type 6 of Hyndman
		// and Fan), so that a band holds its share of sessions not seen.
		n := float64(len(logs))
		p := (float64(i)/residualSteps*(n+1) - 1) / (n - 1)
		quantiles = append(quantiles, round(quantile(logs, max(0, min(p, 1))), 5))
	}
	return quantiles
}
