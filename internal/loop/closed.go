package loop

import (
	"context"

	"github.com/compactsim/compactsim/internal/study/recall"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// held are the loops that a closed one is compared with, by what their agents fetch: how often agents fetch what they
// lack is fitted and has an interval. Draws are shared: what an agent fetches at a smaller share it also fetches at a
// larger one, so a cohort runs again only where one of its agents acts differently.
type held [RefetchAlways]*Loop

// hold adds to the rows of a cohort what it costs in an open loop and at both ends of the fitted interval.
func (b *batch) hold(ctx context.Context, h *held, cell int, cohort []int, rows []results.Row) error {
	c := b.cells[cell]
	if !b.Held || c.Agent.Refetch != RefetchFitted {
		return nil
	}
	var apart uint8
	for i := range rows {
		n, usd := &rows[i].Needs, rows[i].CostUSD()
		n.Closed = recall.Closed{OpenUSD: usd, LowUSD: usd, HighUSD: usd}
		apart |= n.Apart
		n.Apart = 0
	}
	var sessions []*traces.Session
	for _, i := range cohort {
		sessions = append(sessions, b.sessions[i])
	}
	for how := range RefetchAlways {
		if apart&(1<<how) == 0 {
			continue
		}
		if h[how] == nil {
			h[how] = NewLoop(c.against(how))
			h[how].ctx = ctx
		}
		h[how].config.Strategy, h[how].config.Lifetimes = c.Strategy, c.Lifetimes
		again, err := h[how].RunCohort(sessions)
		if err != nil {
			return err
		}
		for i := range again {
			closed := &rows[i].Needs.Closed
			*[...]*float64{RefetchNever: &closed.OpenUSD, RefetchLow: &closed.LowUSD, RefetchHigh: &closed.HighUSD}[how] = again[i].CostUSD()
		}
	}
	return nil
}

// against returns c with another agent, for its cost alone.
func (c Config) against(how Refetch) Config {
	c.Agent.Refetch, c.Verify, c.Breaks, c.Record, c.Observer = how, false, false, nil, nil
	if how == RefetchNever {
		c.Agent, c.Needs = Agent{}, nil
	}
	return c
}
