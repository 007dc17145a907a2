package scenarios

import (
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/recall"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// held are the agents that one in a closed loop is held against: how often agents fetch what they lack is fitted, and
// has an interval. Draws are shared, so that what one with a smaller share fetches is fetched with a larger one too, and
// only the sessions are run again in which one of them does otherwise.
var held = []sim.Refetch{sim.RefetchNever, sim.RefetchLow, sim.RefetchHigh}

// closed adds to the rows of cells in a closed loop what they cost in an open one, and at both ends of the interval of
// the fit. Summaries made for real are not made again.
func (p *Plan) closed(
	ctx context.Context, d *Design, configs []sim.Config, sessions []*traces.Session, cells []results.Cell,
	runner sim.Runner,
) error {
	if p.Summarize != nil {
		return nil
	}
	for i := range d.Cells {
		if d.Cells[i].Scenario.Agent.Refetch != sim.RefetchFitted {
			continue
		}
		rows := map[string]*results.Row{}
		for j := range cells[i].Rows {
			r := &cells[i].Rows[j]
			usd := r.CostUSD()
			r.Needs.Closed = recall.Closed{OpenUSD: usd, LowUSD: usd, HighUSD: usd}
			rows[r.Session] = r
		}
		for _, how := range held {
			if err := hold(ctx, configs[i], how, rows, sessions, runner); err != nil {
				return fmt.Errorf("the ends of the interval of what is fetched again: %w", err)
			}
		}
		for j := range cells[i].Rows {
			cells[i].Rows[j].Needs.Apart = 0
		}
	}
	return nil
}

// hold adds to rows, by session, what those cost in which an agent does otherwise, and what shares a clock with them.
func hold(
	ctx context.Context, c sim.Config, how sim.Refetch, rows map[string]*results.Row,
	sessions []*traces.Session, runner sim.Runner,
) error {
	cohorts := runner.Cohorts
	if cohorts == nil {
		for i := range sessions {
			cohorts = append(cohorts, []int{i})
		}
	}
	var again []*traces.Session
	runner.Cohorts = nil
	for _, cohort := range cohorts {
		apart := func(i int) bool {
			r := rows[sessions[i].ID]
			return r == nil || r.Needs.Apart&(1<<how) != 0
		}
		if !slices.ContainsFunc(cohort, apart) {
			continue
		}
		var group []int
		for _, i := range cohort {
			group = append(group, len(again))
			again = append(again, sessions[i])
		}
		runner.Cohorts = append(runner.Cohorts, group)
	}
	if len(again) == 0 {
		return nil
	}
	c.Agent.Refetch, c.Verify, c.Breaks, c.Record = how, false, false, nil
	if how == sim.RefetchNever {
		c.Agent, c.Needs = sim.Agent{}, nil
	}
	runner.Keep = func(_ int, row *results.Row) error {
		r := rows[row.Session]
		if r == nil {
			return nil
		}
		switch usd := row.CostUSD(); how {
		case sim.RefetchNever:
			r.Needs.Closed.OpenUSD = usd
		case sim.RefetchLow:
			r.Needs.Closed.LowUSD = usd
		case sim.RefetchHigh:
			r.Needs.Closed.HighUSD = usd
		}
		return nil
	}
	_, err := runner.Run(ctx, again, []sim.Config{c})
	return err
}

// closes reports whether a cell is in a closed loop.
func (d *Design) closes() bool {
	for i := range d.Cells {
		if d.Cells[i].Scenario.Agent.Refetch != sim.RefetchNever {
			return true
		}
	}
	return false
}
