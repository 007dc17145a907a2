package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

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
	errs = append(errs, finite("billed_usd", r.ModelError.BilledUSD), finite("recorded_usd", r.ModelError.RecordedUSD))
	return errors.Join(errs...)
}

// validate checks the name of c, its settings and its figures. A total can hide
// what is wrong with a row.
func (c *Cell) validate() error {
	if err := c.validateTotal(); err != nil {
		return err
	}
	for i := range c.Rows {
		if err := c.Rows[i].validate(); err != nil {
			return fmt.Errorf("cell %q, session %q: %w", c.Cell, c.Rows[i].Session, err)
		}
	}
	return nil
}

// validateTotal checks all of c but its rows.
func (c *Cell) validateTotal() error {
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
	return nil
}

// maxCount is the largest count that a JSON reader with 64-bit floating-point
// numbers takes exactly; a run's counts are far below.
const maxCount = 1 << 53

// maxAmount bounds costs, USD, and times, s, as maxCount does counts. Statistics
// square and cube them.
const maxAmount = maxCount

// validate refuses figures that no run can have: negative and absurd counts and
// costs, and numbers that are not finite. It is called for every row that is read or
// written, so that texts are made for what is wrong alone.
func (r *Row) validate() error {
	var seen extent
	seen.addAll(r.Sessions, r.Calls, r.Misses, r.HitCalls, r.LaterCalls, r.Compactions, r.Microcompactions, r.Recompactions,
		r.ChainMax, r.Overflows, r.OverWindow, r.FailedCompaction, r.Unpriced, r.Left.Calls, r.Left.Used)
	seen.addAll(r.CallsBySource[:]...)
	seen.addAll(r.MissesByClass[:]...)
	seen.usage(&r.Usage)
	for i := range r.UsageBySource {
		seen.usage(&r.UsageBySource[i])
	}
	seen.add(r.MissedTokens)
	seen.add(r.PeakContext)
	seen.add(r.Left.Sum)
	for _, n := range r.Counts {
		seen.add(n)
	}
	if r.Breaks != (Breaks{}) {
		for _, n := range r.Breaks.all() {
			seen.add(n)
		}
	}
	for _, m := range []map[string]int{r.Firings, r.Reasons} {
		for _, n := range m {
			seen.add(int64(n))
		}
	}
	if seen.least < 0 {
		return fmt.Errorf("negative count %d", seen.least)
	}
	if seen.most > maxCount {
		return fmt.Errorf("absurd count %d", seen.most)
	}
	return r.amounts()
}

// extent is the range of counts, from 0.
type extent struct{ least, most int64 }

func (e *extent) add(n int64) { e.least, e.most = min(e.least, n), max(e.most, n) }

func (e *extent) addAll(counts ...int) {
	for _, n := range counts {
		e.add(int64(n))
	}
}

func (e *extent) usage(u *prompt.Usage) {
	for _, n := range [...]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, u.Output} {
		e.add(n)
	}
}

// amounts returns an error for every cost and time of r that no run can have.
// Only waiting may be negative: first tokens can come earlier than recorded.
func (r *Row) amounts() error {
	var errs []error
	check := func(what, of string, v, least float64) {
		if !(v >= least && v <= maxAmount) {
			errs = append(errs, amount(what+of, v))
		}
	}
	check("storage_usd", "", r.StorageUSD, 0)
	check("added_latency_seconds", "", r.AddedLatency, -maxAmount)
	check("logged_output_usd", "", r.LoggedOutputUSD, 0)
	for i, v := range r.Waits {
		check("added latency of ", Wait(i).String(), v, -maxAmount)
	}
	for i, v := range r.SecondsAt {
		check("time at level ", Level(i).String(), v, 0)
	}
	for i := range r.CostByClass {
		check("cost of class ", Class(i).String(), r.CostByClass[i], 0)
		for s := range r.CostBySource {
			check("cost of source ", Source(s).String(), r.CostBySource[s][i], 0)
		}
	}
	return errors.Join(errs...)
}

// amount is the error for a cost or time that is not finite, absurd or negative.
func amount(what string, v float64) error {
	switch err := finite(what, v); {
	case err != nil:
		return err
	case math.Abs(v) > maxAmount:
		return fmt.Errorf("absurd %s: %v", what, v)
	}
	return fmt.Errorf("negative %s: %v", what, v)
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
