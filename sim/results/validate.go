package results

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// agree returns an error for every figure that r holds twice, as a sum and in parts, in
// two ways, and for every share of more than the whole. Such a row was changed by hand or
// cut, and each figure would lead to another verdict. Only readers call it: a writer has
// no reason to withhold what it computed.
func (r *Row) agree() error {
	var errs []error
	same := func(what, by string, whole, parts any) {
		errs = append(errs, fmt.Errorf("%s is %+v, but by %s %+v", what, whole, by, parts))
	}
	whole := func(id measures.ID, name, by string, parts measures.ID, n int) {
		s := sum{}
		for _, v := range r.Figures[parts : parts+measures.ID(n)] {
			s.add(v)
		}
		if !s.is(r.Figures[id]) {
			same(name, by, r.Figures[id], s.of)
		}
	}
	whole(measures.Calls, measures.NameCalls, measures.BySource, measures.CallsBySource, measures.NumSources)
	whole(measures.Misses, measures.NameMisses, measures.ByClass, measures.MissesByClass, exchange.NumMissClasses)
	var tokens prompt.Usage
	for s := range measures.Source(measures.NumSources) {
		u := r.UsageBy(s)
		tokens.Add(&u)
	}
	if all := r.Usage(); tokens != all {
		same("tokens", measures.BySource, all, tokens)
	}
	for c, usd := range r.CostByClass() {
		parts := sum{}
		for s := range measures.Source(measures.NumSources) {
			parts.add(r.CostBy(s)[c])
		}
		if !parts.is(usd) {
			same("cost_usd_by_class."+measures.ClassNames[c], measures.BySource, usd, parts.of)
		}
	}
	whole(measures.AddedLatency, measures.NameAddedLatency, measures.ByPart, measures.Waits, measures.NumWaits)
	switch {
	case r.N(measures.HitCalls) > r.N(measures.LaterCalls):
		errs = append(errs, fmt.Errorf("hit_calls is %d of %d later_calls", r.N(measures.HitCalls), r.N(measures.LaterCalls)))
	case r.N(measures.LeftSum) > 100*r.N(measures.LeftCalls) || r.N(measures.MostUsed) > 100:
		errs = append(errs, fmt.Errorf("percent_left is %d%% in sum and %d%% used over %s",
			r.N(measures.LeftSum), r.N(measures.MostUsed), document.Count(r.N(measures.LeftCalls), "call")))
	}
	return errors.Join(errs...)
}

// sum is a sum of floating-point numbers that knows how far its rounding may go.
type sum struct{ of, size float64 }

func (s *sum) add(v float64) { s.of, s.size = s.of+v, s.size+math.Abs(v) }

// is reports whether another order of adding could give whole. Rounding is below
// the number of terms × 2⁻⁵³ of their size, and no row has ten million calls.
func (s *sum) is(whole float64) bool {
	return math.Abs(whole-s.of) <= 1e-9*max(s.size, math.Abs(whole))
}

// validate returns everything that keeps r from being encoded.
func (r *Run) validate() error { return r.validateCells((*Cell).validate) }

// validateCells is validate with another way to look at a cell.
func (r *Run) validateCells(validate func(*Cell) error) error {
	var errs []error
	seen := map[string]bool{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if seen[c.Cell] {
			errs = append(errs, fmt.Errorf("cell %q occurs twice", c.Cell))
		}
		seen[c.Cell] = true
		errs = append(errs, validate(c))
	}
	for _, n := range r.Notes {
		if n.Cell != "" && !seen[n.Cell] {
			errs = append(errs, fmt.Errorf("note %q: unknown cell %q", n.Text, n.Cell))
		}
	}
	for _, s := range r.Workload.Quality {
		errs = append(errs, finite("share of "+s.Of+" "+s.What, s.Value))
	}
	e := &r.ModelError
	errs = append(errs, finite("billed_usd", e.BilledUSD), finite("recorded_usd", e.RecordedUSD),
		finite("low", e.Low), finite("high", e.High), finite("gross", e.Gross), finite("session_spread", e.Spread))
	return errors.Join(errs...)
}

// validate checks the name of c, its settings and its figures. A total can hide
// what is wrong with a row.
func (c *Cell) validate() error {
	if err := c.validateTotal(); err != nil {
		return err
	}
	for _, r := range c.Rows.All() {
		if err := rowForm.Check(r.line(c.Cell)); err != nil {
			return fmt.Errorf("cell %q, session %q: %w", c.Cell, r.Session, err)
		}
	}
	return nil
}

// validateTotal checks all of c but its rows.
func (c *Cell) validateTotal() error {
	if c.Cell == "" || c.Strategy == "" {
		return fmt.Errorf("cell %q of strategy %q: both need a name", c.Cell, c.Strategy)
	}
	if i := slices.IndexFunc(c.Unmeasured, func(name string) bool { return !known(name) }); i >= 0 {
		return fmt.Errorf("cell %q: unknown unmeasured metric %q", c.Cell, c.Unmeasured[i])
	}
	if c.Sessions < 0 || c.Sessions > maxSessions {
		return fmt.Errorf("cell %q: %d sessions", c.Cell, c.Sessions)
	}
	if err := rowForm.Check(c.Total.line(c.Cell)); err != nil {
		return fmt.Errorf("cell %q: %w", c.Cell, err)
	}
	return nil
}

// maxSessions is the largest count of sessions that is read and written.
const maxSessions = 1 << 53

func finite(what string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v", what, v)
	}
	return nil
}
