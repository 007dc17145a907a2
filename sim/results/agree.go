package results

import (
	"errors"
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
)

// beyond is what parts with names that are not known add to the sums of a row.
// Calls, tokens and costs of an unknown source are those of SourceOther instead.
type beyond struct {
	misses int
	waits  float64 // s
}

// agree returns an error for every figure that r holds twice, as a sum and in
// parts, in two ways, and for every share of more than the whole. Such a row was
// changed by hand or cut, and each figure would lead to another verdict. It is
// for readers: a program that writes has nothing to gain from keeping back what
// it computed.
func (r *Row) agree(over beyond) error {
	var errs []error
	same := func(what, by string, whole, parts int64) {
		if whole != parts {
			errs = append(errs, fmt.Errorf("%s: %d, but by %s %d", what, whole, by, parts))
		}
	}
	calls, misses := 0, over.misses
	for _, n := range r.CallsBySource {
		calls += n
	}
	for _, n := range r.MissesByClass {
		misses += n
	}
	same("calls", BySource, int64(r.Calls), int64(calls))
	same("misses", ByClass, int64(r.Misses), int64(misses))
	var tokens prompt.Usage
	for i := range r.UsageBySource {
		tokens.Add(r.UsageBySource[i])
	}
	if tokens != r.Usage {
		errs = append(errs, fmt.Errorf("tokens: %+v, but by source %+v", r.Usage, tokens))
	}
	for c, usd := range r.CostByClass {
		parts := sum{}
		for s := range r.CostBySource {
			parts.add(r.CostBySource[s][c])
		}
		if !parts.is(usd) {
			errs = append(errs, fmt.Errorf("cost of class %s: %v USD, but by source %v", Class(c), usd, parts.of))
		}
	}
	waits := sum{}
	waits.add(over.waits)
	for _, s := range r.Waits {
		waits.add(s)
	}
	if !waits.is(r.AddedLatency) {
		errs = append(errs, fmt.Errorf("added_latency_seconds: %v, but by part %v", r.AddedLatency, waits.of))
	}
	return errors.Join(append(errs, r.shares())...)
}

// shares returns an error for shares of more than the whole.
func (r *Row) shares() error {
	switch {
	case r.HitCalls > r.LaterCalls:
		return fmt.Errorf("hit_calls: %d of %d later_calls", r.HitCalls, r.LaterCalls)
	case r.Left.Sum > 100*int64(r.Left.Calls) || r.Left.Used > 100:
		return fmt.Errorf("percent_left: %d%% in sum and %d%% used over %s", r.Left.Sum, r.Left.Used, plural(r.Left.Calls, "call"))
	}
	return nil
}

// sum is a sum of floating-point numbers that knows how far its rounding may go.
type sum struct{ of, size float64 }

func (s *sum) add(v float64) { s.of, s.size = s.of+v, s.size+math.Abs(v) }

// is reports whether another order of adding could give whole. Rounding is below
// the number of terms × 2⁻⁵³ of their size, and no row has ten million calls.
func (s *sum) is(whole float64) bool {
	return math.Abs(whole-s.of) <= 1e-9*max(s.size, math.Abs(whole))
}
