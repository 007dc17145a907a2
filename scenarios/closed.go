package scenarios

import (
	"context"
	"fmt"

	"github.com/compactsim/compactsim/internal/recall"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// held are the agents that one in a closed loop is held against: how often agents fetch what they lack is fitted, and
// has an interval. Draws are shared, so that what one with a smaller share fetches is fetched with a larger one too.
var held = []sim.Refetch{sim.RefetchNever, sim.RefetchLow, sim.RefetchHigh}

// closed adds to the rows of cells in a closed loop what they cost in an open one, and at both ends of the interval of
// the fit. Summaries made for real are not made again.
func (p *Plan) closed(
	ctx context.Context, d *Design, sessions []*traces.Session, cells []results.Cell, runner sim.Runner,
) error {
	if p.Summarize != nil {
		return nil
	}
	at := map[string]int{}
	for i, s := range sessions {
		at[s.ID] = i
	}
	for i := range d.Cells {
		if d.Cells[i].Scenario.Agent.Refetch != sim.RefetchFitted {
			continue
		}
		var configs []sim.Config
		for _, how := range held {
			c, err := p.config(&d.Cells[i])
			if err != nil {
				return err
			}
			c.Agent.Refetch, c.Verify, c.Breaks = how, false, false
			if how == sim.RefetchNever {
				c.Agent, c.Needs = sim.Agent{}, nil
			}
			configs = append(configs, c)
		}
		rows, err := runner.Run(ctx, sessions, configs)
		if err != nil {
			return fmt.Errorf("the ends of the interval of what is fetched again: %w", err)
		}
		for j := range cells[i].Rows {
			r := &cells[i].Rows[j]
			s := at[r.Session]
			r.Needs.Closed = recall.Closed{
				OpenUSD: rows[0][s].CostUSD(), LowUSD: rows[1][s].CostUSD(), HighUSD: rows[2][s].CostUSD(),
			}
		}
	}
	return nil
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
