package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/report/check"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/study/validate"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// foretold are the bills of the sessions of a check, predicted by the built-in profile and as
// they were recorded, whatever the scenario changes and a run learns from them.
type foretold struct {
	ctx      context.Context
	plan     scenarios.Plan
	config   loop.Config
	workers  int
	sessions []*traces.Session
	usd      float64 // all of them
	level    float64 // tokens at which they compact now
}

// foretell puts what is predicted into a run and the input of its check.
func (f *checkFlags) foretell(
	ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session, run *results.Run, in *check.Input, hide hiding,
) error {
	p := &foretold{ctx: ctx, plan: scenarios.Plan{Prices: plan.Prices, Registry: plan.Registry, Seed: 1},
		workers: f.read.workers, sessions: sessions}
	var err error
	if p.config, err = p.plan.Config(results.StrategyRecorded, nil); err != nil {
		return err
	}
	p.config.Latency = costmodel.Latency{} // calls are predicted at their recorded times
	if p.config.Profile, err = profile.Default(); err != nil {
		return err
	}
	if in.Causes, err = p.bills(run); err != nil {
		return err
	}
	if in.Facts, err = validate.FactsOf(sessions); err != nil {
		return err
	}
	p.level = levelOf(in.Facts[validate.FactCompactedAt])
	if in.Price = p.price; hide.on() { // calls and models are named
		in.Causes = nil
		maps.DeleteFunc(in.Facts, func(name string, _ [][2]float64) bool { return validate.Named(name) })
	}
	return nil
}

// bills puts bill and prediction into the billed rows, and returns why calls cost more.
func (p *foretold) bills(run *results.Run) ([]check.Cause, error) {
	bills, err := validate.Against(p.ctx, p.config, p.workers, p.sessions)
	if err != nil {
		return nil, err
	}
	bySession := map[string]*validate.Expect{}
	var all [validate.NumCauses]validate.Excess
	for i := range bills {
		bySession[bills[i].Session] = &bills[i]
		p.usd += bills[i].MeanUSD
		for k := range all {
			all[k].Add(&bills[i].Excess[k])
		}
	}
	for i := range run.Cells {
		if run.Cells[i].Strategy == results.StrategyBilled {
			predicted(&run.Cells[i], bySession)
		}
	}
	var causes []check.Cause
	for k := validate.CauseNone + 1; k < validate.NumCauses; k++ {
		if e := &all[k]; e.USD > 0 {
			causes = append(causes, check.Cause{Text: k.String(), Calls: e.Calls, USD: e.USD, Read: e.Read, Call: e.Dearest.Session + e.Dearest.Name})
		}
	}
	slices.SortStableFunc(causes, func(a, b check.Cause) int { return cmp.Compare(b.USD, a.USD) })
	return causes, nil
}

// predicted fills in what the sessions of a billed cell were billed and predicted to be.
func predicted(c *results.Cell, bills map[string]*validate.Expect) {
	for i, row := range c.Rows {
		if e := bills[row.Session]; e != nil {
			own := *row // the run keeps its rows for other uses
			own.Figures[results.PredictedUSD], own.Figures[results.PredictedOfUSD] = e.MeanUSD, e.BilledUSD
			c.Rows[i] = &own
			c.Total.Figures[results.PredictedUSD] += e.MeanUSD
			c.Total.Figures[results.PredictedOfUSD] += e.BilledUSD
		}
	}
}

// price is a check.Price: the sessions replayed with one fact of the client as it was.
func (p *foretold) price(fact string, was float64) (more, of float64, ok bool, err error) {
	switch fact {
	case validate.FactLifetime, validate.FactLifetimeAgent:
		var asking []*traces.Session
		for _, s := range p.sessions {
			own, err := validate.Asking(s, fact == validate.FactLifetimeAgent, was >= 0.5)
			if err != nil {
				return 0, 0, false, err
			}
			asking = append(asking, own)
		}
		bills, err := validate.Against(p.ctx, p.config, p.workers, asking)
		before := 0.0
		for i := range bills {
			before += bills[i].MeanUSD
		}
		return p.usd - before, p.usd, err == nil, err
	case validate.FactCompactedAt:
		now, err := p.compacting(p.level)
		if err != nil {
			return 0, 0, false, err
		}
		before, err := p.compacting(was)
		return now - before, now, err == nil, err
	}
	return 0, 0, false, nil
}

// compacting returns what the sessions cost if they are summarised at so many tokens, USD.
func (p *foretold) compacting(tokens float64) (usd float64, err error) {
	config, err := p.plan.Config("auto-compact/167k", []string{
		fmt.Sprintf("full-compact.trigger.fixed=%.0f", tokens), "full-compact.trigger.reserve=null", "full-compact.trigger.reserve_output=false", "full-compact.trigger.output_cap=0"})
	if err != nil {
		return 0, err
	}
	config.Latency, config.Profile = costmodel.Latency{}, p.config.Profile
	costs := make([]float64, len(p.sessions))
	err = parallel.Do(p.ctx, p.workers, len(p.sessions), func(i int) error {
		s, err := p.sessions[i].Load()
		if err != nil {
			return err
		}
		row, err := loop.NewLoop(config).Run(s)
		if err == nil {
			costs[i] = row.CostUSD()
		}
		return err
	})
	for _, c := range costs {
		usd += c
	}
	return usd, err
}

// levelOf returns the mean of a fact over its occurrences.
func levelOf(parts [][2]float64) float64 {
	var sum, n float64
	for _, p := range parts {
		sum, n = sum+p[0], n+p[1]
	}
	return sum / max(n, 1)
}
