package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Calls of a run are kept for a few cells and sessions only: a record takes
// about 400 bytes.
const (
	maxCallCells = 4       // as many as a chart of calls tells apart
	maxCalls     = 200_000 // recorded calls of the sessions, for each cell
)

// Calls simulates again what charts of single calls show: the recorded cell and
// the cheapest others, on the longest sessions.
func (p *Plan) Calls(ctx context.Context, corpus *traces.Corpus, run *results.Run) ([]results.CellCalls, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	sessions := longest(withCalls(corpus))
	var calls []results.CellCalls
	for _, name := range foremost(run) {
		i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		config, err := p.config(&d.Cells[i])
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", name, err)
		}
		cell := results.CellCalls{Cell: name}
		config.Record = func(r *results.CallRecord) { cell.Calls = append(cell.Calls, *r) }
		loop := sim.NewLoop(config)
		for _, s := range sessions {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if _, err := loop.Run(s); err != nil {
				return nil, err
			}
		}
		calls = append(calls, cell)
	}
	return calls, nil
}

// foremost returns the names of the recorded cell and of the cheapest others,
// in the order of the run.
func foremost(run *results.Run) []string {
	rank := func(c *results.Cell) float64 {
		if c.Strategy == results.StrategyRecorded {
			return -1
		}
		return c.Total.CostUSD()
	}
	var cells []*results.Cell
	for i := range run.Cells {
		if run.Cells[i].Strategy != results.StrategyBilled {
			cells = append(cells, &run.Cells[i])
		}
	}
	slices.SortStableFunc(cells, func(a, b *results.Cell) int { return cmp.Compare(rank(a), rank(b)) })
	cells = cells[:min(len(cells), maxCallCells)]
	var names []string
	for i := range run.Cells {
		if slices.Contains(cells, &run.Cells[i]) {
			names = append(names, run.Cells[i].Cell)
		}
	}
	return names
}

// longest returns the sessions with the most calls, at least one, as many as
// maxCalls allows, in the order given.
func longest(sessions []*traces.Session) []*traces.Session {
	order := slices.Clone(sessions)
	slices.SortStableFunc(order, func(a, b *traces.Session) int { return cmp.Compare(b.NumCalls(), a.NumCalls()) })
	n, total := 0, 0
	for n < len(order) && (n == 0 || total+order[n].NumCalls() <= maxCalls) {
		total += order[n].NumCalls()
		n++
	}
	kept := order[:n]
	return slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !slices.Contains(kept, s) })
}
