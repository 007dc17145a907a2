package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// validate returns everything that keeps r from being encoded.
func (r *Run) validate() error {
	var errs []error
	seen := map[string]bool{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if seen[c.Cell] {
			errs = append(errs, fmt.Errorf("cell %q occurs twice", c.Cell))
		}
		seen[c.Cell] = true
		errs = append(errs, c.validate())
	}
	for _, n := range r.Notes {
		if n.Cell != "" && !seen[n.Cell] {
			errs = append(errs, fmt.Errorf("note %q: unknown cell %q", n.Text, n.Cell))
		}
	}
	for _, s := range r.Workload.Quality {
		errs = append(errs, finite("share of "+s.Of+" "+s.What, s.Value))
	}
	errs = append(errs, finite("billed_usd", r.ModelError.BilledUSD), finite("recorded_usd", r.ModelError.RecordedUSD))
	return errors.Join(errs...)
}

// validate checks the name of c, its settings and its figures. A total can hide
// what is wrong with a row.
func (c *Cell) validate() error {
	if c.Cell == "" || c.Strategy == "" {
		return fmt.Errorf("cell %q of strategy %q: both need a name", c.Cell, c.Strategy)
	}
	for _, name := range c.Unmeasured {
		if _, ok := LookupMetric(name); !ok && !slices.Contains(Groups(), name) {
			return fmt.Errorf("cell %q: unknown unmeasured metric %q", c.Cell, name)
		}
	}
	if c.Sessions < 0 || c.Sessions > maxCount {
		return fmt.Errorf("cell %q: %d sessions", c.Cell, c.Sessions)
	}
	if err := c.Total.validate(); err != nil {
		return fmt.Errorf("cell %q: %w", c.Cell, err)
	}
	for i := range c.Rows {
		if err := c.Rows[i].validate(); err != nil {
			return fmt.Errorf("cell %q, session %q: %w", c.Cell, c.Rows[i].Session, err)
		}
	}
	return nil
}

// maxCount is the largest count that a JSON reader with 64-bit floating-point
// numbers takes exactly; a run's counts are far below.
const maxCount = 1 << 53

// validate refuses figures that no run can have: negative and absurd counts,
// and numbers that are not finite.
func (r *Row) validate() error {
	counts := []int64{
		int64(r.Sessions), int64(r.Calls), int64(r.Misses), r.MissedTokens, int64(r.HitCalls), int64(r.LaterCalls),
		int64(r.Compactions), int64(r.Microcompactions), int64(r.Recompactions), int64(r.ChainMax), r.PeakContext,
		int64(r.Overflows), int64(r.OverWindow), int64(r.FailedCompaction), int64(r.Unpriced),
	}
	for _, u := range append(r.UsageBySource[:], r.Usage) {
		counts = append(counts, u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, u.Output)
	}
	for _, n := range slices.Concat(r.CallsBySource[:], r.MissesByClass[:], []int{r.Left.Calls, r.Left.Used}) {
		counts = append(counts, int64(n))
	}
	counts = append(append(counts, r.Counts[:]...), r.Left.Sum)
	counts = append(counts, r.Breaks.all()...)
	for _, m := range []map[string]int{r.Firings, r.Reasons} {
		for _, n := range m {
			counts = append(counts, int64(n))
		}
	}
	if n := slices.Min(counts); n < 0 {
		return fmt.Errorf("negative count %d", n)
	}
	if n := slices.Max(counts); n > maxCount {
		return fmt.Errorf("absurd count %d", n)
	}
	errs := []error{finite("storage_usd", r.StorageUSD), finite("added_latency_seconds", r.AddedLatency),
		finite("logged_output_usd", r.LoggedOutputUSD)}
	for i, v := range r.Waits {
		errs = append(errs, finite("added latency of "+Wait(i).String(), v))
	}
	for i, v := range r.SecondsAt {
		errs = append(errs, finite("time at level "+Level(i).String(), v))
	}
	for i := range r.CostByClass {
		errs = append(errs, finite("cost of class "+Class(i).String(), r.CostByClass[i]))
		for s := range r.CostBySource {
			errs = append(errs, finite("cost of source "+Source(s).String(), r.CostBySource[s][i]))
		}
	}
	return errors.Join(errs...)
}

func finite(what string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v", what, v)
	}
	return nil
}

// unknown is the error for a name that is not among the known ones.
func unknown(what, name string, known []string) error {
	return fmt.Errorf("unknown %s %q (known: %s)", what, name, strings.Join(known, ", "))
}
