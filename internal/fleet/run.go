package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// Runner simulates fleets. Registry and Prices must be set.
type Runner struct {
	Registry *strategies.Registry
	Prices   sim.Prices
	// Workers is how many cores work: on the sessions of users while they are
	// drawn, then on clocks. Each strategy and each comparison has one clock for all
	// sessions that may meet in a cache; a clock that is most of what is left has all
	// cores, else it has one. 0 is one per core; the result does not depend on it.
	Workers int
	Verify  bool // check the invariants at every call
	// Done, when not nil, is called with the sessions simulated so far, of all that
	// are to be: it must be safe for concurrent use.
	Done func(finished, total int)

	oneClock bool // every event in order of time, as a reference
	lanes    int  // of each clock; 0 for as many as are of use
}

// Run draws a fleet and simulates it under each of its strategies, and once more
// for everything it is to be compared without.
func (r *Runner) Run(ctx context.Context, f *File) (*studies.Fleet, error) {
	p, err := f.Generate(ctx, r.Workers)
	if err != nil {
		return nil, err
	}
	return r.Simulate(ctx, p)
}

// cell is one run of the fleet.
type cell struct {
	strategy *strategies.Strategy
	without  variant
	persons  []sim.Person
	rows     []results.Row
	meter    *meter
}

// Simulate simulates a population under the strategies of its fleet. When the context
// is cancelled, or something fails, what is finished comes with the error: strategies
// with all their clocks, and of the comparisons those that are. A clock that has
// stopped half-way tells nothing. The result is nil when no strategy is finished.
func (r *Runner) Simulate(ctx context.Context, p *Population) (*studies.Fleet, error) {
	cells, err := r.cells(p)
	if err != nil {
		return nil, err
	}
	at, err := p.file.pricesAt()
	if err != nil {
		return nil, fmt.Errorf("prices_at: %w", err)
	}
	err = r.pool(ctx, p, cells, at)
	done := finished(cells)
	if err == nil {
		return r.report(p, done), nil
	}
	err = fmt.Errorf("fleet %s: %w", p.file.Name, err)
	if len(done) == 0 {
		return nil, err
	}
	out := r.report(p, done)
	out.Notes = append(out.Notes, fmt.Sprintf("stopped early: %d of %d strategies are finished; comparisons that are not are left out", len(out.Cells), len(p.file.Strategies)))
	return out, err
}

// report makes the result of a population from its runs, with the models that have
// no price.
func (r *Runner) report(p *Population, cells []cell) *studies.Fleet {
	out := p.report(cells)
	seen := map[string]bool{}
	for _, s := range p.Sessions {
		for _, model := range s.Models {
			if seen[model] {
				continue
			}
			seen[model] = true
			if _, err := r.Prices.Lookup(model, s.StartTime()); err != nil {
				out.Unpriced = append(out.Unpriced, model)
			}
		}
	}
	slices.Sort(out.Unpriced)
	return out
}

// finished returns the runs that are through, comparisons only with the run that they
// are compared with.
func finished(cells []cell) []cell {
	var list []cell
	base := false
	for i := range cells {
		c := &cells[i]
		if c.without == "" {
			base = c.meter != nil
		}
		if base && c.meter != nil {
			list = append(list, *c)
		}
	}
	return list
}

// cells returns the runs to make, strategy by strategy, each as it is first.
func (r *Runner) cells(p *Population) ([]cell, error) {
	var list []cell
	persons := map[variant][]sim.Person{}
	var errs []error
	fits := p.file.fits()
	for _, name := range p.file.Strategies {
		s, err := r.Registry.Strategy(name)
		if err == nil {
			err = fits(s) // a file may have been read without a registry
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, w := range p.variants() {
			if persons[w] == nil {
				persons[w] = p.persons(w)
			}
			list = append(list, cell{strategy: s, without: w, persons: persons[w], rows: make([]results.Row, len(p.Sessions))})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", p.file.Name, err)
	}
	return list, nil
}

// variants returns the fleet as it is and without what it is compared without,
// where it has that.
func (p *Population) variants() []variant {
	f := p.file
	list := []variant{""}
	for _, name := range f.Compare {
		has := len(f.Upgrades) > 0
		switch name {
		case studies.WithoutGlobalScope:
			has = f.Client.GlobalScope
		case studies.WithoutOverage:
			has = slices.ContainsFunc(p.people, func(who person) bool { return len(who.overages) > 0 })
		}
		if has && !slices.Contains(list, variant(name)) {
			list = append(list, variant(name))
		}
	}
	return list
}
