package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/report/check"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/study/validate"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// predictBills predicts what the sessions are billed, by the built-in profile and as they
// were recorded, whatever the scenario changes and a run learns from them. It puts bill and
// prediction into the billed rows, and returns why calls cost more.
func (f *checkFlags) predictBills(
	ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session, run *results.Run,
) ([]check.Cause, error) {
	plain := scenarios.Plan{Prices: plan.Prices, Registry: plan.Registry, Seed: 1}
	config, err := plain.Config(results.StrategyRecorded, nil)
	if err != nil {
		return nil, err
	}
	config.Latency = costmodel.Latency{} // calls are predicted at their recorded times
	if config.Profile, err = profile.Default(); err != nil {
		return nil, err
	}
	bills, err := validate.Against(ctx, config, f.read.workers, sessions)
	if err != nil {
		return nil, err
	}
	bySession := map[string]*validate.Expect{}
	var all [validate.NumCauses]validate.Excess
	for i := range bills {
		bySession[bills[i].Session] = &bills[i]
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
			own.PredictedUSD, own.PredictedOfUSD = e.MeanUSD, e.BilledUSD
			c.Rows[i] = &own
			c.Total.PredictedUSD += e.MeanUSD
			c.Total.PredictedOfUSD += e.BilledUSD
		}
	}
}
