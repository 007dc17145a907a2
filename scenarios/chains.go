package scenarios

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/chains"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Chains runs the plan and follows every compaction. Sessions of a cohort stay
// together; compactions stand in the order of sessions, whatever the workers.
func (p *Plan) Chains(ctx context.Context, corpus *traces.Corpus) (*results.Run, []studies.Chains, error) {
	d, err := p.design()
	if err != nil {
		return nil, nil, err
	}
	sessions := withCalls(corpus)
	w := newWatch(len(d.Cells), sessions)
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
	names, few := foremost(run), *d
	few.Cells = slices.DeleteFunc(slices.Clone(d.Cells), func(c Cell) bool { return !slices.Contains(names, c.Name) })
	planned := *p
	planned.Design, planned.Done = &few, nil
	_, list, err := planned.Chains(ctx, corpus)
	return list, err
}

// watch gathers the compactions of all cells and sessions.
type watch struct {
	mu    sync.Mutex
	index map[*traces.Session]int
	seen  [][]seen // by cell and session
}

// seen is where a session was followed.
type seen struct {
	by *chains.Observer
	at int // in its cohort
}

func newWatch(cells int, sessions []*traces.Session) *watch {
	w := &watch{index: map[*traces.Session]int{}, seen: make([][]seen, cells)}
	for i, s := range sessions {
		w.index[s] = i
	}
	for i := range w.seen {
		w.seen[i] = make([]seen, len(sessions))
	}
	return w
}

func (w *watch) observer(cell int, cohort []*traces.Session) sim.Observer {
	o := chains.NewObserver(cohort)
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, s := range cohort {
		w.seen[cell][w.index[s]] = seen{o, at}
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

// observer returns what makes the observers of the sessions' cohorts, nil for
// none.
func (p *Plan) observer(sessions []*traces.Session) func(int, []int) sim.Observer {
	if p.observe == nil {
		return nil
	}
	return func(cell int, cohort []int) sim.Observer {
		list := make([]*traces.Session, len(cohort))
		for i, at := range cohort {
			list[i] = sessions[at]
		}
		return p.observe(cell, list)
	}
}
