package scenarios

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	schedule "github.com/compactsim/compactsim/internal/bound"
	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// family is what the bounds of several cells have in common: their surroundings,
// and what a compaction does.
type family struct {
	scenario *Scenario
	params   strategies.CompactParams
	bounds   []bounds // by session
}

type bounds struct{ compact, clear schedule.Bound }

// boundNote says what the bounds of all families add up to.
func boundNote(families []*family) results.Note {
	var sums [3][]float64
	for _, f := range families {
		var sum [3]float64
		for i := range f.bounds {
			b := &f.bounds[i]
			for k, usd := range [...]float64{b.compact.Below, b.compact.Reached, b.clear.Below} {
				sum[k] += usd
			}
		}
		for k := range sums {
			sums[k] = append(sums[k], sum[k])
		}
	}
	span := func(list []float64) string {
		low, high := document.USD(slices.Min(list), 2), document.USD(slices.Max(list), 2)
		if low == high {
			return low
		}
		return low + " … " + high
	}
	return results.Note{Metric: "regret_usd", Text: fmt.Sprintf("knowing the future, no schedule of full compaction "+
		"costs less than %s, the best found costs %s; none that only clears tool results costs less than %s",
		span(sums[0]), span(sums[1]), span(sums[2]))}
}

// bound adds to rows what the best schedules of their sessions cost, where the
// scenario asks for it, and returns notes on it. A cell of full compaction alone
// is held against it.
func (p *Plan) bound(
	ctx context.Context, d *Design, sessions []*traces.Session, cells []results.Cell,
) (notes []results.Note, err error) {
	if !d.Scenario.Bound {
		return nil, nil
	}
	if d.Scenario.Sessions.Cohort != cohortSession {
		return nil, errors.New("bound: sessions.cohort lets sessions share a cache, and the bound is that of a session alone")
	}
	at := map[string]int{}
	for i, s := range sessions {
		at[s.ID] = i
	}
	var families []*family
	for i := range d.Cells {
		f, err := p.familyOf(ctx, &families, &d.Cells[i], sessions)
		if err != nil {
			return nil, err
		}
		alone := d.Cells[i].Strategy.SchedulesAlone() && p.Summarize == nil
		for j := range cells[i].Rows {
			r := &cells[i].Rows[j]
			b := &f.bounds[at[r.Session]]
			r.BoundUSD, r.ReachedUSD, r.ClearBoundUSD, r.Bounded = b.compact.Below, b.compact.Reached, b.clear.Below, 1
			whole := r.OverWindow == 0 && r.Counts.Unsimulated == 0
			if alone && whole && r.CostUSD() < b.compact.Below*(1-1e-9) {
				return nil, fmt.Errorf("%w: session %s under %s costs $%.6f, less than the bound of $%.6f",
					sim.ErrInvariant, r.Session, d.Cells[i].Name, r.CostUSD(), b.compact.Below)
			}
		}
	}
	return []results.Note{boundNote(families)}, nil
}

// familyOf returns the bounds of a cell, those of another one where they are the
// same.
func (p *Plan) familyOf(
	ctx context.Context, known *[]*family, cell *Cell, sessions []*traces.Session,
) (*family, error) {
	params, ok := cell.Strategy.Params(strategies.CompactName).(strategies.CompactParams)
	if !ok {
		layer, _ := p.Registry.Definition(strategies.CompactName)
		params = *layer.Params().(*strategies.CompactParams)
	}
	params = params.Unscheduled()
	for _, f := range *known {
		if f.scenario == cell.Scenario && reflect.DeepEqual(f.params, params) {
			return f, nil
		}
	}
	f := &family{scenario: cell.Scenario, params: params, bounds: make([]bounds, len(sessions))}
	*known = append(*known, f)
	c, err := p.config(cell)
	if err != nil {
		return nil, err
	}
	c.Summarizer = &cell.Scenario.Summarizer // no call is made for real
	return f, parallel.Do(ctx, p.Workers, len(sessions), func(i int) error {
		compact, err := schedule.Compact(c, params, sessions[i])
		if err != nil {
			return err
		}
		clear, err := schedule.Clear(c, sessions[i])
		if err != nil {
			return err
		}
		f.bounds[i] = bounds{*compact, *clear}
		return nil
	})
}
