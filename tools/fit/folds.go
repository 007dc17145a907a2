package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

const (
	// residualSteps is the number of steps between the quantiles of a residual.
	residualSteps = 20
	// minResiduals is the least number of sessions for a residual.
	minResiduals = 10
	// minEpoch is the least number of sessions that are evidence of an epoch.
	minEpoch = 3
)

// calibrate returns a profile fitted on the sessions of Claude Code and Codex,
// including the residual of their cost. Of other agents' sessions it has how they are served and what they
// show of losses.
func calibrate(
	ctx context.Context, config sim.Config, base *profile.Profile, sessions []*traces.Session,
) (*profile.Profile, error) {
	var others []*traces.Session
	sessions = slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool {
		other := !agents.ClaudeCode(s) && s.Agent != facts.Codex
		if other {
			others = append(others, s)
		}
		return other
	})
	p, trials, err := fit(ctx, config, base, sessions, nil)
	if err == nil {
		err = addOthers(p, others)
	}
	if err != nil {
		return nil, err
	}
	f := &folder{ctx, config, p, sessions, trials}
	return p, f.residuals()
}

// addOthers adds to a profile what sessions of other agents show.
func addOthers(p *profile.Profile, sessions []*traces.Session) error {
	shown, err := profile.OpeningsOf(sessions)
	if err != nil {
		return err
	}
	p.LearnLosses(shown.Shown)
	for _, row := range fitServed(slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.Automatic(s) })) {
		p.Codex.Served = slices.DeleteFunc(p.Codex.Served, func(s profile.Served) bool {
			return s.Agent == row.Agent && s.Model == row.Model && s.Version == row.Version
		})
		p.Codex.Served = append(p.Codex.Served, row)
	}
	sortServed(p.Codex.Served)
	return nil
}

// folder predicts the sessions that a profile was fitted on by profiles that
// have not seen them.
type folder struct {
	ctx      context.Context
	config   sim.Config
	p        *profile.Profile
	sessions []*traces.Session
	trials   learning.Trials
}

// residuals sets the residual of the cost of sessions: as predicted by profiles
// that have not seen their repository, or for epochs without evidence their
// epoch. Without enough sessions, repositories or epochs it stays as it is.
func (f *folder) residuals() error {
	p, by := f.p, byRepository
	if _, err := divide(p, f.sessions, by); err != nil {
		by = bySession
	}
	r, err := f.unseen(by)
	if err != nil {
		return err
	}
	setResiduals(p, r.Calls())
	p.Fitted = nil
	counts := map[string]int{}
	for _, s := range f.sessions {
		if epoch := validate.EpochOf(p, s); agents.ClaudeCode(s) {
			if counts[epoch]++; counts[epoch] == minEpoch {
				p.Fitted = append(p.Fitted, epoch)
			}
		}
	}
	slices.Sort(p.Fitted)
	if len(counts) < 2 {
		return nil
	}
	if r, err = f.unseen(byEpoch); err != nil {
		return err
	}
	if list := residuals(claudeCode(r.Calls())); list != nil {
		p.NewResidual = wider(list, p.Residual)
	}
	return nil
}

// unseen predicts sessions by profiles that have not seen their fold, of at
// most evenFolds. By repository the profile's own rules hold: an epoch
// with nearly all sessions from one repository would have none.
func (f *folder) unseen(by string) (*validate.Report, error) {
	d, err := divide(f.p, f.sessions, by)
	if err != nil {
		return nil, err
	}
	names := slices.Compact(slices.Sorted(slices.Values(d.folds)))
	for i, fold := range d.folds {
		k, _ := slices.BinarySearch(names, fold)
		d.folds[i] = fmt.Sprint(k % evenFolds)
	}
	return d.validate(f.ctx, validate.Options{Config: f.config}, f.sessions, func(_ string, rest []*traces.Session) (*profile.Profile, error) {
		evidence := f.p.Evidence
		if by != byRepository {
			evidence = f.trials.In(rest)
		}
		p, _, err := fit(f.ctx, f.config, f.p, rest, evidence)
		return p, err
	})
}

// wider returns quantiles that each lie as far out as the outer one of two lists.
func wider(a, b []float64) []float64 {
	list := slices.Clone(a)
	for i := range min(len(a), len(b)) {
		if list[i] = min(a[i], b[i]); i > len(list)/2 {
			list[i] = max(a[i], b[i])
		}
	}
	return list
}

// setResiduals sets the residuals of both clients' sessions from their calls,
// as predicted by profiles that have not seen them.
func setResiduals(p *profile.Profile, calls []validate.Call) {
	if list := residuals(claudeCode(calls)); list != nil {
		p.Residual = list
	}
	codex := slices.DeleteFunc(slices.Clone(calls), func(c validate.Call) bool { return c.Agent != facts.Codex })
	if list := residuals(codex); list != nil {
		p.Codex.Residual = list
	}
}

// residuals returns quantiles of ln(recorded/predicted input cost) over
// sessions, nil for fewer than minResiduals. They include sessions that lost
// their messages: a band by rates alone leaves out nearly every session with an
// unlikely loss. Codex's are of the expected cost: what a session has lost so far counts
// there, so that its sessions differ less from what is expected than from what is predicted without losses.
func residuals(calls []validate.Call) []float64 {
	cost := map[string]*[2]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Class != validate.ClassFirst && c.Priced {
			if cost[c.Session] == nil {
				cost[c.Session] = new([2]float64)
			}
			if cost[c.Session][0] += c.PredictedUSD; c.Agent == facts.Codex {
				cost[c.Session][0] += c.LossUSD
			}
			cost[c.Session][1] += c.ActualUSD
		}
	}
	var logs, quantiles []float64
	for _, id := range slices.Sorted(maps.Keys(cost)) {
		if c := cost[id]; c[0] > 0 && c[1] > 0 {
			logs = append(logs, math.Log(c[1]/c[0]))
		}
	}
	if len(logs) < minResiduals {
		return nil
	}
	slices.Sort(logs)
	for i := range residualSteps + 1 {
		// The k-th of n sessions is the quantile k/(n+1) (type 6 of Hyndman and Fan),
		// so that a band holds its share of unseen sessions.
		n := float64(len(logs))
		p := (float64(i)/residualSteps*(n+1) - 1) / (n - 1)
		quantiles = append(quantiles, math.Round(1e5*stats.Quantile(logs, max(0, min(p, 1))))/1e5+0)
	}
	return quantiles
}

// The ways to divide sessions for a cross-validation.
const (
	byRepository = "repository"
	bySession    = "session"
	byEpoch      = "epoch" // client versions × models with the same cache behaviour
)

// evenFolds is the number of folds by session.
const evenFolds = 5

// division says in which fold each session is.
type division struct {
	by    string
	folds []string // by session
}

// crossValidate fits a profile on all folds but one and scores that one, for
// every fold: each call is predicted by a profile that has not seen its
// repository, session or epoch. The residuals of the bands come from predictions of the other
// folds.
func crossValidate(ctx context.Context, o validate.Options, base *profile.Profile, sessions []*traces.Session, by string) (*validate.Report, error) {
	d, err := divide(base, sessions, by)
	if err != nil {
		return nil, err
	}
	return d.validate(ctx, o, sessions, func(_ string, rest []*traces.Session) (*profile.Profile, error) {
		p, _, err := fit(ctx, o.Config, base, rest, nil)
		return p, err
	})
}

// validate scores every fold with the profile that fit makes of all other folds.
func (d *division) validate(
	ctx context.Context, o validate.Options, sessions []*traces.Session,
	fit func(fold string, rest []*traces.Session) (*profile.Profile, error),
) (*validate.Report, error) {
	profiles, err := d.fit(sessions, fit)
	if err != nil {
		return nil, err
	}
	fold := map[string]string{}
	var scored []*traces.Session
	for i, s := range sessions {
		fold[s.ID] = d.folds[i]
		if profiles[d.folds[i]] != nil {
			scored = append(scored, s)
		}
	}
	of := func(s *traces.Session) *profile.Profile { return profiles[fold[s.ID]] }
	o.ConfigFor = func(s *traces.Session) sim.Config { return o.Config.WithProfile(of(s)) }
	o.DrawnFor = func(s *traces.Session) sim.Config { return validate.Drawn(o.Config, of(s)) }
	o.Profile = fmt.Sprintf("fitted on the other folds of %d by %s", len(profiles), d.by)
	replications := o.Replications
	o.Replications, o.Calls = 0, true
	r, err := validate.Run(ctx, o, scored)
	if err != nil || replications == 0 {
		return r, err
	}
	for name, p := range profiles {
		setResiduals(p, slices.DeleteFunc(r.Calls(), func(c validate.Call) bool { return fold[c.Session] == name }))
		p.NewResidual = p.Residual
	}
	o.Replications = replications
	return r, r.Replicate(ctx, o, scored)
}

// fit returns the profile that predicts each fold, none for a fold without
// others to learn from.
func (d *division) fit(
	sessions []*traces.Session, fit func(fold string, rest []*traces.Session) (*profile.Profile, error),
) (map[string]*profile.Profile, error) {
	profiles := map[string]*profile.Profile{}
	for _, fold := range slices.Compact(slices.Sorted(slices.Values(d.folds))) {
		var rest []*traces.Session
		for i, s := range sessions {
			if d.folds[i] != fold {
				rest = append(rest, s)
			}
		}
		if len(rest) == 0 {
			continue
		}
		p, err := fit(fold, rest)
		if err != nil {
			return nil, err
		}
		profiles[fold] = p
	}
	return profiles, nil
}

// divide names the fold of each session; epochs come from a profile.
func divide(p *profile.Profile, sessions []*traces.Session, by string) (*division, error) {
	d := &division{by: by, folds: make([]string, len(sessions))}
	switch by {
	case bySession:
		for i := range sessions {
			d.folds[i] = fmt.Sprint(i % evenFolds)
		}
		return d, nil
	case byEpoch:
		for i, s := range sessions {
			d.folds[i] = validate.EpochOf(p, s)
		}
	case byRepository:
		root := commonRoot(sessions)
		for i, s := range sessions {
			d.folds[i] = repositoryOf(s, root)
		}
	default:
		return nil, fmt.Errorf("unknown folds %q; known: %s", by, strings.Join([]string{byRepository, bySession, byEpoch}, ", "))
	}
	if len(sessions) > 0 && !slices.ContainsFunc(d.folds, func(f string) bool { return f != d.folds[0] }) {
		return nil, fmt.Errorf("folds by %s: the sessions are of one: %s", by, d.folds[0])
	}
	return d, nil
}

// repositoryOf names the folder below root that has a session's file, else the
// folder the session says it ran in.
func repositoryOf(s *traces.Session, root string) string {
	if len(s.Files) > 0 {
		if first, _, below := strings.Cut(strings.TrimPrefix(filepath.ToSlash(s.Files[0]), root), "/"); below {
			return first
		}
	}
	return s.Project
}

// commonRoot returns the folder above all sessions, with a slash at its end.
// The folders in it are the repositories, in the layout of agents and archives.
func commonRoot(sessions []*traces.Session) string {
	root, known := "", false
	for _, s := range sessions {
		if len(s.Files) == 0 {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(s.Files[0])) + "/"
		if !known {
			root, known = dir, true
		}
		for !strings.HasPrefix(dir, root) {
			root = root[:strings.LastIndex(strings.TrimSuffix(root, "/"), "/")+1]
		}
	}
	return root
}
