package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/chains"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Chains runs the plan and follows every compaction. Sessions of a cohort stay
// together; compactions are in the order of sessions, whatever the workers.
func (p *Plan) Chains(ctx context.Context, corpus *traces.Corpus) (*results.Run, []studies.Chains, error) {
	d, err := p.design()
	if err != nil {
		return nil, nil, err
	}
	sessions := withCalls(corpus)
	w := watch{sessions: sessions, seen: make([][]seen, len(d.Cells))}
	watched := *p
	watched.Design, watched.observe = d, w.observer
	run, err := watched.Run(ctx, corpus)
	if run == nil || err != nil && !errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	var list []studies.Chains
	for i := range d.Cells {
		c := studies.Chains{Cell: d.Cells[i].Name, Strategy: d.Cells[i].Strategy.Name, Compactions: w.compactions(i)}
		c.LostUSD = lost(run, &c)
		list = append(list, c)
	}
	return run, list, err
}

// ForemostChains follows the compactions of the cells of a run that charts of
// single calls show: the recorded cell and the cheapest others.
func (p *Plan) ForemostChains(ctx context.Context, corpus *traces.Corpus, run *results.Run) ([]studies.Chains, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	names, few := run.Foremost(anyCell), *d
	few.Cells = slices.DeleteFunc(slices.Clone(d.Cells), func(c Cell) bool { return !slices.Contains(names, c.Name) })
	planned := *p
	planned.Design, planned.Done = &few, nil
	_, list, err := planned.Chains(ctx, corpus)
	return list, err
}

// watch gathers the compactions of all cells and sessions.
type watch struct {
	mu       sync.Mutex
	sessions []*traces.Session
	seen     [][]seen // by cell and session, once a cell has begun
}

// seen is where a session was followed.
type seen struct {
	by *chains.Observer
	at int // in its cohort
}

// observer returns the observer of a cell over a cohort of sessions.
func (w *watch) observer(cell int, cohort []int) sim.Observer {
	list := make([]*traces.Session, len(cohort))
	for i, at := range cohort {
		list[i] = w.sessions[at]
	}
	o := chains.NewObserver(list)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[cell] == nil {
		w.seen[cell] = make([]seen, len(w.sessions))
	}
	for i, at := range cohort {
		w.seen[cell][at] = seen{o, i}
	}
	return o
}

func (w *watch) compactions(cell int) []studies.Compaction {
	list := []studies.Compaction{}
	for _, s := range w.seen[cell] {
		if s.by != nil {
			list = append(list, s.by.Compactions(s.at)...)
		}
	}
	return list
}

// dust is less than any call costs: what adding up in another order leaves, USD.
const dust = 1e-9

// lost returns what the summary calls of a cell cost that led to no compaction,
// USD.
func lost(run *results.Run, c *studies.Chains) float64 {
	for i := range run.Cells {
		if run.Cells[i].Cell != c.Cell {
			continue
		}
		usd := run.Cells[i].Total.CostBySource[results.SourceCompact].Total()
		for j := range c.Compactions {
			usd -= c.Compactions[j].CallCost.Total()
		}
		if usd > dust {
			return usd
		}
	}
	return 0
}

// maxCalls bounds the recorded calls of the sessions that are kept for each cell: a
// record takes about 400 bytes.
const maxCalls = 20_000

// Calls simulates again what charts of single calls show: the recorded cell and
// the cheapest others, on the longest sessions.
func (p *Plan) Calls(ctx context.Context, corpus *traces.Corpus, run *results.Run) ([]results.CellCalls, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	sessions := longest(withCalls(corpus))
	var calls []results.CellCalls
	for _, name := range run.Foremost(anyCell) {
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

func anyCell(string) bool { return true }

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
