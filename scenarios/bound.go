package scenarios

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	schedule "github.com/compactsim/compactsim/sim/bound"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// family is a set of cells with the same bounds: their surroundings and their
// compactions are the same.
type family struct {
	cell   *Cell // the first cell of this kind
	params strategies.CompactParams
	cells  int
	bounds []bounds // by session
}

type bounds struct{ compact, clear schedule.Bound }

// boundNote returns the note that gives the sum of the bounds, as a range over all families.
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
	return results.Note{Metric: measures.NameRegret, Text: fmt.Sprintf("even with the future known, no schedule of full compaction "+
		"costs less than %s (the best one found costs %s), and none that only clears tool results less than %s",
		span(sums[0]), span(sums[1]), span(sums[2]))}
}

// lossPrices are the prices of a lost need of weight 1 at the points of the front, USD:
// from a third of a cent, where cost decides, to one at which nothing is given up.
var lossPrices = []float64{0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 30}

// bound adds to the rows of a run what the best schedules of their sessions cost, and to
// the run a note and the front of cost and recall, if the scenario asks for it. A cell of
// full compaction alone that costs less than its bound is an error.
func (p *Plan) bound(
	ctx context.Context, d *Design, sessions []*traces.Session, cells []results.Cell, run *results.Run,
) error {
	if !d.Scenario.Bound {
		return nil
	}
	families, of := d.families(p.Registry)
	main := mainFamily(families)
	for _, f := range families {
		if err := f.solve(ctx, p, sessions, f == main); err != nil {
			return err
		}
	}
	at := map[string]int{}
	for i, s := range sessions {
		at[s.ID] = i
	}
	for i := range d.Cells {
		alone := d.Cells[i].Strategy.SchedulesAlone() && p.Summarize == nil && d.Cells[i].Scenario.Agent == sim.Agent{}
		for k, r := range cells[i].Rows.All() {
			b := &of[i].bounds[at[r.Session]]
			r.Figures[measures.BoundUSD], r.Figures[measures.BoundReachedUSD], r.Figures[measures.ClearBoundUSD],
				r.Figures[measures.Bounded] = b.compact.Below, b.compact.Reached, b.clear.Below, 1
			cells[i].Rows.Edit(k, func(kept *results.Row) { *kept = *r })
			whole := r.N(measures.OverWindow) == 0 && r.N(measures.UnsimulatedCalls) == 0
			if alone && whole && r.CostUSD() < b.compact.Below*(1-1e-9) {
				return fmt.Errorf("%w: session %s under %s costs $%.6f, less than the bound of $%.6f",
					sim.ErrInvariant, r.Session, d.Cells[i].Name, r.CostUSD(), b.compact.Below)
			}
		}
	}
	run.Notes = append(run.Notes, boundNote(families))
	run.Front = main.front()
	return nil
}

// families returns the families of the cells of a design, and the family of
// each cell.
func (d *Design) families(registry *strategies.Registry) (families []*family, of []*family) {
	for i := range d.Cells {
		cell := &d.Cells[i]
		params, ok := cell.Strategy.Params(standard.Compact).(strategies.CompactParams)
		if !ok {
			layer, _ := registry.Definition(standard.Compact)
			params = *layer.Params().(*strategies.CompactParams)
		}
		params = params.Unscheduled()
		at := slices.IndexFunc(families, func(f *family) bool {
			return f.cell.Scenario == cell.Scenario && reflect.DeepEqual(f.params, params)
		})
		if at < 0 {
			at = len(families)
			families = append(families, &family{cell: cell, params: params})
		}
		families[at].cells++
		of = append(of, families[at])
	}
	return families, of
}

// mainFamily returns the family with the most cells, the first of equal ones,
// among those whose compactions replace all messages; nil when there is none.
func mainFamily(families []*family) *family {
	var main *family
	for _, f := range families {
		if f.params.KeepsNothing() && (main == nil || f.cells > main.cells) {
			main = f
		}
	}
	return main
}

// solve finds the bounds of a family and, if front is set, the points of its front.
func (f *family) solve(ctx context.Context, p *Plan, sessions []*traces.Session, front bool) error {
	f.bounds = make([]bounds, len(sessions))
	c, err := p.config(f.cell)
	if err != nil {
		return err
	}
	c.Summarizer = &f.cell.Scenario.Summarizer // no call is made for real
	var prices []float64
	if front {
		prices = lossPrices
	} else if c.Agent == (sim.Agent{}) {
		c.Needs = nil
	}
	return parallel.Do(ctx, p.Workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return err
		}
		compact, err := schedule.Compact(c, f.params, s, prices...)
		if err != nil {
			return err
		}
		clear, err := schedule.Clear(c, s)
		if err != nil {
			return err
		}
		f.bounds[i] = bounds{*compact, *clear}
		return nil
	})
}

// front adds up the points of all sessions; nil when no session has needs. A
// session without texts loses nothing at any price.
func (f *family) front() *results.Front {
	if f == nil {
		return nil
	}
	front := &results.Front{}
	for i, price := range append([]float64{0}, lossPrices...) {
		var total results.Row
		below := 0.0
		for j := range f.bounds {
			points := f.bounds[j].compact.Front
			at := &points[min(i, len(points)-1)]
			total.Add(&at.Row)
			below += at.Below
		}
		front.Add(price, below, &total)
	}
	if front.Needs == 0 {
		return nil
	}
	return front
}
