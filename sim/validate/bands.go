package validate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Bands compares the input cost of sessions, without the first calls of threads, with
// replications. Hidden calls, warm prefixes and the unexplained residual of a session are
// drawn. Losses are not drawn by their rates: the residual of Claude Code includes them, and to
// the cost of Codex the expected ones are added. Other agents' losses are drawn for a session as a whole.
type Bands struct {
	Replications int `json:"replications"`
	Sessions     int `json:"sessions"`
	Inside       int `json:"inside"` // sessions whose recorded cost lies in the 90 % band
	// MeanCorpus is the error of the expected cost of all these sessions together, as a share.
	MeanCorpus *float64 `json:"corpus_cost_error_mean"`
}

// bandLevel is the share of replications outside a band, both sides together.
const bandLevel = 0.1

// Replicate draws what is random and fills in the bands.
func (r *Report) Replicate(ctx context.Context, o Options, sessions []*traces.Session) error {
	samples := make([][]float64, len(sessions))
	err := parallel.Do(ctx, o.Workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return fmt.Errorf("validate: %w", err)
		}
		if agents.ClaudeCode(s) || s.Agent == facts.Codex || o.configFor(s).Profile == nil {
			samples[i], err = o.drawReplications(s)
		} else {
			samples[i], err = o.spread(s)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.hold(o.Replications, sessions, samples)
	return nil
}

// drawReplications simulates the replications of a session of Claude Code or Codex, or of one without a profile. The residual of
// Claude Code's cost includes losses; the residual of Codex counts from the cost with expected losses.
func (o *Options) drawReplications(s *traces.Session) ([]float64, error) {
	var samples []float64
	loss := 0.0
	if s.Agent == facts.Codex {
		calls, _, _, err := o.session(s)
		if err != nil {
			return nil, err
		}
		for i := range calls {
			if c := &calls[i]; later(c) && c.Priced {
				loss += c.LossUSD
			}
		}
	}
	config := o.DrawnFor(s)
	fitted := config.Profile
	if fitted != nil {
		p := *fitted
		p.Losses = profile.Losses{}
		config.Profile = &p
	}
	input, id := laterInput(config, s), prompt.DigestString(s.ID).Lo
	for n := range o.Replications {
		seed, residual := uint64(n+1), 0.0
		if fitted != nil {
			// The seed alone decides which residual a replication gets, not the number of
			// replications.
			src := draws.Source{Seed: seed, Session: id}
			residual = residualFor(fitted, s, draws.Unit(src.Uint64(draws.Unlogged, 0)))
		}
		usd, err := input(seed)
		if err != nil {
			return nil, err
		}
		samples = append(samples, (usd+loss)*math.Exp(residual))
	}
	return samples, nil
}

// mostLost is the share of its prefixes, beside one call's, that no session loses more than: of 201 recorded
// ones with ten calls or more none lost more than 0.16 of the tokens that it was due.
const mostLost = 0.25

// mayRead reports whether a call that is predicted to miss may read what was left after all: nobody promises when an
// automatic cache drops a prefix, and of a context that went back an agent may have sent all.
func (c *Call) mayRead() bool {
	switch c.Class {
	case ClassCompaction, ClassMicrocompact, ClassModel:
		return false
	}
	return c.Miss != exchange.MissNone && (c.Miss != exchange.MissExpiry || !c.TierKnown)
}

// lateShare is the share of a session's prefixes that an automatic cache still has after the retention that is predicted. Its
// mean is the mean of OpenAI's recorded calls after more than ten minutes: 8 of 48 read what was left.
var lateShare = distuv.Beta{Alpha: 0.5, Beta: 2.5}

// spread draws the costs of a session of another agent, of which there are too few for a
// residual. What is not known about its losses is drawn: once for all sessions of the agent at the
// provider, by how many sessions through its gateway it is known from, and once for the session; losses cost no more
// than mostLost allows. So is the share of expired prefixes that are read after all. The
// rest of the cost has the residual of clients without evidence.
func (o *Options) spread(s *traces.Session) ([]float64, error) {
	calls, _, _, err := o.session(s)
	if err != nil {
		return nil, err
	}
	var usd, loss, most, late, n float64
	for i := range calls {
		if c := &calls[i]; later(c) && c.Priced {
			usd, loss, most, n = usd+c.PredictedUSD, loss+c.LossUSD, most+c.ifRead.nothing, n+1
			if c.mayRead() {
				late += max(0, c.PredictedUSD-c.ifRead.left)
			}
		}
	}
	most = (most - usd) * min(1, mostLost+1/max(n, 1))
	p, shown := o.configFor(s).Profile, profile.ShownBy(s)
	x := &shown[0]
	known := p.TimesLost(x).Sessions
	for i := range shown[1:] { // what is known least makes the band
		known = min(known, p.TimesLost(&shown[i+1]).Sessions)
	}
	if offGrid(calls) {
		known = 1
	}
	var samples []float64
	for n := range o.Replications {
		all := draws.Source{Seed: uint64(n + 1), Session: prompt.DigestString(x.Agent + "/" + x.Provider).Lo}
		own := draws.Source{Seed: uint64(n + 1), Session: prompt.DigestString(s.ID).Lo}
		residual := profile.At(p.NewResidual, draws.Unit(own.Uint64(draws.Unlogged, 1)))
		lost := min(loss*lossFactor(known, all, own), most)
		kept := late * lateShare.Quantile(draws.Unit(own.Uint64(draws.Unlogged, 2)))
		samples = append(samples, usd*math.Exp(residual)+lost-kept)
	}
	return samples, nil
}

// lossFactor draws what a session loses in proportion to the mean of n other sessions of its
// agent: the mean is as uncertain as n such sessions leave it.
func lossFactor(n int, all, own draws.Source) float64 {
	return times(profile.SessionShape, own) / times(profile.SessionShape*float64(n), all)
}

// times draws a factor from a gamma distribution of mean 1.
func times(shape float64, src draws.Source) float64 {
	u := draws.Unit(src.Uint64(draws.Unlogged, 0))
	return distuv.Gamma{Alpha: shape, Beta: shape}.Quantile(max(u, 1e-9))
}

// hold compares the recorded cost of sessions with their samples.
func (r *Report) hold(replications int, sessions []*traces.Session, samples [][]float64) {
	b := &Bands{Replications: replications}
	var means, total float64
	for i, s := range sessions {
		cost := r.mean.cost[s.ID]
		if cost == nil || cost[1] <= 0 {
			continue
		}
		expected, actual := cost[0], cost[1]
		drawn := samples[i]
		samples[i] = slices.Sorted(slices.Values(drawn))
		low, high := stats.Quantile(samples[i], bandLevel/2), stats.Quantile(samples[i], 1-bandLevel/2)
		b.Sessions++
		// A band without width includes costs within a hundredth of a cent per dollar.
		slack := 1e-4 * actual
		inside := actual >= low-slack && actual <= high+slack
		if inside {
			b.Inside++
		}
		r.addReplications(s.ID, drawn, actual, expected, inside)
		means += expected
		total += actual
	}
	r.Bands, r.BandCoverage = b, share(float64(b.Inside), b.Sessions)
	if total > 0 {
		b.MeanCorpus = ratio(means-total, total)
	}
}

// centre returns samples of what sessions cost together, scaled so that their mean is the expected cost, USD. In the band of one session
// the residual of its client and late reads are what most sessions do not have; added up they would move the mean,
// and their mean is in the expected cost already.
func centre(samples []float64, expected float64) []float64 {
	list := slices.Clone(samples)
	if mean := stat.Mean(samples, nil); mean > 0 && expected > 0 {
		floats.Scale(expected/mean, list)
	}
	return list
}

// laterInput returns a function that simulates a session under a seed and returns the input cost of the conversation's calls that
// are not the first of their thread, USD. All runs share one loop, whose storage the first one makes.
func laterInput(config sim.Config, s *traces.Session) func(seed uint64) (float64, error) {
	usd := 0.0
	first := map[place]bool{}
	for i := range s.Threads {
		first[place{int32(i), 0}] = s.Threads[i].Kind != traces.ThreadBranch
	}
	config.Record = func(c *results.CallRecord) {
		if c.Round >= 0 && !first[place{c.Thread, c.Round}] {
			usd += c.Cost.Total() - c.Cost[measures.ClassOutput]
		}
	}
	loop := sim.NewLoop(config)
	return func(seed uint64) (float64, error) {
		usd = 0
		loop.Seed(seed)
		if _, err := loop.Run(s); err != nil {
			return 0, fmt.Errorf("validate: %w", err)
		}
		return usd, nil
	}
}

// residualFor returns the residual of a session at a share 0…1 of its distribution: its client's,
// with or without evidence for its epoch.
func residualFor(p *profile.Profile, s *traces.Session, share float64) float64 {
	switch {
	case s.Agent == facts.Codex:
		return profile.At(p.Codex.Residual, share)
	case len(p.NewResidual) > 0 && !slices.Contains(p.Fitted, EpochOf(p, s)):
		return profile.At(p.NewResidual, share)
	}
	return profile.At(p.Residual, share)
}
