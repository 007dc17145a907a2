package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	schedule "github.com/compactsim/compactsim/sim/bound"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/chains"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// Chains runs the plan and follows every compaction. Sessions of a cohort stay together.
// Compactions are in the order of sessions, however many workers there are.
func (p *Plan) Chains(ctx context.Context, corpus *traces.Corpus) (*results.Run, []studies.Chains, error) {
	var w *watch
	var list []studies.Chains
	var design *Design
	run, err := p.Execute(ctx, corpus, Study{
		watch: func(d *Design) *watch { w, design = newWatch(d), d; return w },
		Judge: func(run *results.Run) error { list = w.chains(design, run, corpus.Sessions); return nil },
	})
	if run == nil || err != nil && !errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	return run, list, err
}

// Keep makes the next run of the plan keep what Follow returns, single calls only if calls is set. It pays where cells are few: with many, simulating the
// foremost once more costs less than recording all.
func (p *Plan) Keep(corpus *traces.Corpus, calls bool) error {
	d, err := p.design()
	if err != nil || len(d.Cells) > 2*measures.ForemostCells {
		return err
	}
	p.kept = newFollower(d, corpus.WithCalls())
	if calls {
		p.record = p.kept.record
	}
	return nil
}

// Follow returns, for charts of single calls, what the recorded cell of a run and the cheapest others did: the calls of the
// longest sessions and every compaction. It simulates these cells once more unless their run has kept it.
func (p *Plan) Follow(
	ctx context.Context, corpus *traces.Corpus, run *results.Run,
) ([]results.CellCalls, []studies.Chains, error) {
	d, err := p.design()
	if err != nil {
		return nil, nil, err
	}
	names, sessions := run.Foremost(func(string) bool { return true }), corpus.WithCalls()
	kept := p.kept
	if kept == nil {
		few := *d
		few.Cells = slices.DeleteFunc(slices.Clone(d.Cells), func(c Cell) bool { return !slices.Contains(names, c.Name) })
		kept = newFollower(&few, sessions)
		if err := kept.again(ctx, p, sessions); err != nil {
			return nil, nil, err
		}
	}
	p.kept, p.record = nil, nil
	calls, compactions := kept.of(names, run, sessions)
	return calls, compactions, nil
}

// again simulates the cells of a follower.
func (f *follower) again(ctx context.Context, p *Plan, sessions []*traces.Session) error {
	followed := *p
	followed.record = f.record
	configs, err := followed.configs(f.design)
	if err != nil {
		return err
	}
	runner := sim.Runner{Workers: p.Workers, Cohorts: f.design.Cohorts(sessions), Observe: f.watch.observer}
	runner.Keep = func(cell int, row *results.Row) { f.watch.finish(cell, row.Session) }
	var broken *sim.Broken // the run has no row of that session either
	if _, err := runner.Run(ctx, sessions, configs); err != nil && !errors.As(err, &broken) {
		return err
	}
	return nil
}

// follower gathers the calls of the longest sessions, and all compactions, of the cells of a design.
type follower struct {
	design *Design
	watch  *watch
	mu     sync.Mutex
	at     map[string]int // cells, by name
	order  map[string]int // sessions whose calls are kept, by id
	most   int            // recorded calls of these sessions
	calls  []results.CellCalls
}

func newFollower(d *Design, sessions []*traces.Session) *follower {
	f := &follower{design: d, watch: newWatch(d), at: map[string]int{}, order: map[string]int{}}
	for i, s := range longest(sessions) {
		f.order[s.ID] = i
		f.most += s.NumCalls()
	}
	for i := range d.Cells {
		f.at[d.Cells[i].Name] = i
		f.calls = append(f.calls, results.CellCalls{Cell: d.Cells[i].Name})
	}
	return f
}

func (f *follower) record(cell string, r *results.CallRecord) {
	if _, ok := f.order[r.Session]; ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		c := &f.calls[f.at[cell]]
		if c.Calls == nil {
			c.Calls = make([]results.CallRecord, 0, f.most+f.most/8)
		}
		c.Calls = append(c.Calls, *r)
	}
}

// of returns what was gathered of some cells. Workers simulate several sessions of a cell at once: calls are put in the order
// of sessions.
func (f *follower) of(names []string, run *results.Run, sessions []*traces.Session) (list []results.CellCalls, made []studies.Chains) {
	for i, c := range f.watch.chains(f.design, run, sessions) {
		if !slices.Contains(names, c.Cell) {
			continue
		}
		calls := f.calls[i]
		slices.SortStableFunc(calls.Calls, func(a, b results.CallRecord) int { return f.order[a.Session] - f.order[b.Session] })
		list, made = append(list, calls), append(made, c)
	}
	return list, made
}

// Billed returns what was billed for each call of the longest sessions, as Follow returns
// what is simulated.
func (p *Plan) Billed(corpus *traces.Corpus) (results.CellCalls, error) {
	list := results.CellCalls{Cell: measures.StrategyBilled}
	for _, s := range longest(corpus.WithCalls()) {
		whole, err := s.Load()
		if err != nil {
			return list, fmt.Errorf("calls of the bill: %w", err)
		}
		list.Calls = append(list.Calls, calls.Of(whole, p.Prices).Records()...)
	}
	return list, nil
}

// watch gathers the compactions of all cells, by session.
type watch struct {
	mu   sync.Mutex
	open []map[string]seen // sessions being simulated
	done []map[string][]studies.Compaction
}

// seen is the observer of a session and the session's place in it.
type seen struct {
	by *chains.Observer
	at int // in its cohort
}

func newWatch(d *Design) *watch {
	w := &watch{}
	for range d.Cells {
		w.open = append(w.open, map[string]seen{})
		w.done = append(w.done, map[string][]studies.Compaction{})
	}
	return w
}

// observer returns the observer of a cell over a cohort of sessions.
func (w *watch) observer(cell int, cohort []*traces.Session) sim.Observer {
	o := chains.NewObserver(cohort)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range cohort {
		w.open[cell][s.ID] = seen{o, i}
	}
	return o
}

// finish takes the compactions of a session that has been simulated.
func (w *watch) finish(cell int, session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.open[cell][session]
	if list := s.by.Compactions(s.at); len(list) > 0 {
		w.done[cell][session] = list
	}
	delete(w.open[cell], session)
}

// chains returns the compactions of the cells of a design in the order of
// sessions, with the cost of calls that led to none, from their run.
func (w *watch) chains(d *Design, run *results.Run, sessions []*traces.Session) []studies.Chains {
	var list []studies.Chains
	for i := range d.Cells {
		c := studies.Chains{Cell: d.Cells[i].Name, Strategy: d.Cells[i].Strategy.Name, Compactions: []studies.Compaction{}}
		for _, s := range sessions {
			c.Compactions = append(c.Compactions, w.done[i][s.ID]...)
		}
		c.LostUSD = lost(run, &c)
		list = append(list, c)
	}
	return list
}

// dust is less than any call costs: the rounding error of adding up in another order, USD.
const dust = 1e-9

// lost returns the cost of a cell's summary calls that led to no compaction,
// USD.
func lost(run *results.Run, c *studies.Chains) float64 {
	for i := range run.Cells {
		if run.Cells[i].Cell != c.Cell {
			continue
		}
		usd := run.Cells[i].Total.CostBy(measures.SourceCompact).Total()
		for j := range c.Compactions {
			usd -= c.Compactions[j].CallCost.Total()
		}
		if usd > dust {
			return usd
		}
	}
	return 0
}

// maxCalls is the largest number of recorded calls kept for each cell: a record
// takes about 250 bytes.
const maxCalls = 10_000

// longest returns the sessions with the most calls, as many as maxCalls allows
// but at least one, in the order given.
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

// family is a set of cells with the same bounds: their surroundings and their
// compactions are the same.
type family struct {
	cell   *Cell // the first cell of this kind
	params strategies.CompactParams
	cells  int
	bounds []bounds // by session
}

type bounds struct {
	compact schedule.Bound
	clear   float64 // USD
}

// boundNote returns the note that gives the sum of the bounds, as a range over all families.
func boundNote(families []*family) results.Note {
	var sums [3][]float64
	for _, f := range families {
		var sum [3]float64
		for i := range f.bounds {
			b := &f.bounds[i]
			for k, usd := range [...]float64{b.compact.Below, b.compact.Reached, b.clear} {
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
	var main *family
	for _, f := range families {
		if f.params.KeepsNothing() && (main == nil || f.cells > main.cells) {
			main = f
		}
	}
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
				r.Figures[measures.Bounded] = b.compact.Below, b.compact.Reached, b.clear, 1
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
		f.bounds[i] = bounds{*compact, clear}
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
