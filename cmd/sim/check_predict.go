package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
)

// foretold are the bills of the sessions of a check, predicted by the built-in profile and as
// they were recorded, whatever the scenario changes and a run learns from them.
type foretold struct {
	ctx      context.Context
	plan     scenarios.Plan
	config   sim.Config
	workers  int
	sessions []*traces.Session
	usd      map[string]float64 // predicted, by session
}

// foretell puts what is predicted into a run and the input of its check.
func (f *checkFlags) foretell(
	ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session, run *results.Run, in *check.Input, hide hiding,
) error {
	p := &foretold{ctx: ctx, plan: scenarios.Plan{Prices: plan.Prices, Registry: plan.Registry, Seed: 1},
		workers: f.read.Workers, sessions: sessions}
	var err error
	if p.config, err = p.plan.Config(measures.StrategyRecorded, nil); err != nil {
		return err
	}
	p.config.Latency = costmodel.Latency{} // calls are predicted at their recorded times
	if p.config.Profile, err = profile.Default(); err != nil {
		return err
	}
	bills, err := p.bills(run, in)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		own, ok := in.Sessions[s.ID]
		if !ok {
			continue
		}
		if s, err = s.Load(); err != nil {
			return err
		}
		facts := validate.FactsOf(s)
		facts.AddPrices(s, func(model string) (results.Cost, bool) {
			price, err := plan.Prices.Lookup(model, s.StartTime())
			if err != nil {
				return results.Cost{}, false
			}
			rate := price.Standard()
			return rate.PerMTok(0), true
		})
		p.know(&own, facts, bills[s.ID], hide)
		in.Sessions[s.ID] = own
	}
	in.Price = p.price
	for i := range in.Causes {
		if hide.on() {
			in.Causes[i].Call = ""
		}
	}
	return nil
}

// know sets what is known of the bill and the client of a session. Without a prediction the bill
// stands for it.
func (p *foretold) know(s *check.Session, facts validate.Facts, bill *validate.Expect, hide hiding) {
	if s.Facts = facts; hide.on() { // they name models
		maps.DeleteFunc(s.Facts, func(name string, _ [2]float64) bool { return validate.Named(name) })
	}
	if bill == nil {
		return
	}
	if changes, calls := bill.HeadChanges(); calls > 0 {
		s.Facts[validate.FactHeadChanges] = [2]float64{float64(changes), float64(calls)}
	}
	s.Excess = map[string]float64{"first calls": bill.FirstUSD}
	for k := range validate.NumCauses {
		s.Excess[k.Name()] = bill.Excess[k].USD
	}
	s.Predicted = map[string]results.Cost{}
	for model, cost := range bill.Models {
		s.Predicted[hide.model(model)] = cost
	}
}

// bills puts bill and prediction into the billed rows, and why calls cost more into the input. It
// returns them by session.
func (p *foretold) bills(run *results.Run, in *check.Input) (map[string]*validate.Expect, error) {
	bills, err := validate.Against(p.ctx, p.config, p.workers, p.sessions)
	if err != nil {
		return nil, err
	}
	p.usd = map[string]float64{}
	bySession := map[string]*validate.Expect{}
	var all [validate.NumCauses]validate.Excess
	for i := range bills {
		bySession[bills[i].Session] = &bills[i]
		p.usd[bills[i].Session] = bills[i].MeanUSD
		for k := range all {
			all[k].Add(&bills[i].Excess[k])
		}
	}
	for i := range run.Cells {
		if run.Cells[i].Strategy == measures.StrategyBilled {
			fillPrediction(&run.Cells[i], bySession)
		}
	}
	for k := validate.CauseNone + 1; k < validate.NumCauses; k++ {
		if e := &all[k]; e.USD > 0 {
			read, same := e.Read()
			likely, suspected := e.Likely()
			in.Causes = append(in.Causes, check.Cause{Text: k.String(), Calls: e.Calls, USD: e.USD, Read: read, Same: same,
				Likely: likely.Phrase(), Suspected: suspected, Call: e.Dearest.Session + e.Dearest.Name})
		}
	}
	slices.SortStableFunc(in.Causes, func(a, b check.Cause) int { return cmp.Compare(b.USD, a.USD) })
	return bySession, nil
}

// fillPrediction fills in what the sessions of a billed cell were billed and predicted to be.
func fillPrediction(c *results.Cell, bills map[string]*validate.Expect) {
	for i := range c.Rows.Len() {
		if e := bills[c.Rows.Session(i)]; e != nil {
			c.Rows.Edit(i, func(r *results.Row) {
				r.Figures[measures.PredictedUSD], r.Figures[measures.PredictedOfUSD] = e.MeanUSD, e.BilledUSD
			})
			c.Total.Figures[measures.PredictedUSD] += e.MeanUSD
			c.Total.Figures[measures.PredictedOfUSD] += e.BilledUSD
		}
	}
}

// price is a check.Price: the sessions replayed with one fact of the client as it was.
func (p *foretold) price(fact string, was func(id string) float64) (more map[string]float64, ok bool, err error) {
	switch fact {
	case validate.FactLifetime, validate.FactLifetimeAgent:
		more, err = p.priceLifetime(fact == validate.FactLifetimeAgent, was)
	case validate.FactCompactedAt:
		more, err = p.priceCompaction(was(""))
	default:
		return nil, false, nil
	}
	return more, err == nil, err
}

// priceLifetime returns what each session is predicted to cost more than if a share of its calls asked for an hour.
func (p *foretold) priceLifetime(subAgents bool, was func(id string) float64) (map[string]float64, error) {
	more := maps.Clone(p.usd)
	for _, hour := range []bool{false, true} {
		var asking []*traces.Session
		for _, s := range p.sessions {
			head := s.Head()
			asking = append(asking, head.Without(func() (*traces.Session, error) { return validate.Asking(s, subAgents, hour) }))
		}
		bills, err := validate.Against(p.ctx, p.config, p.workers, asking)
		if err != nil {
			return nil, err
		}
		for i := range bills {
			share := was(bills[i].Session)
			if !hour {
				share = 1 - share
			}
			more[bills[i].Session] -= share * bills[i].MeanUSD
		}
	}
	return more, nil
}

// priceCompaction returns what each session costs more as recorded than if it were summarised at so many
// tokens; 0 where neither is. Its agent reads again what it read in the recording, and no more.
func (p *foretold) priceCompaction(tokens float64) (map[string]float64, error) {
	other, err := p.plan.Config("auto-compact/167k", []string{"agent.refetch=never",
		fmt.Sprintf("full-compact.trigger.fixed=%.0f", tokens), "full-compact.trigger.reserve=null", "full-compact.trigger.reserve_output=false", "full-compact.trigger.output_cap=0"})
	if err != nil {
		return nil, err
	}
	other.Latency, other.Profile = p.config.Latency, p.config.Profile
	costs := make([]float64, len(p.sessions))
	err = parallel.Do(p.ctx, p.workers, len(p.sessions), func(i int) error {
		s, err := p.sessions[i].Load()
		if err != nil {
			return err
		}
		now, err := sim.NewLoop(p.config).Run(s)
		if err != nil {
			return err
		}
		was, err := sim.NewLoop(other).Run(s)
		if now.N(measures.Compactions)+was.N(measures.Compactions) > 0 {
			costs[i] = now.CostUSD() - was.CostUSD()
		}
		return err
	})
	more := map[string]float64{}
	for i, c := range costs {
		more[p.sessions[i].ID] = c
	}
	return more, err
}
