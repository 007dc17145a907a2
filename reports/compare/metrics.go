package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/sim/results"
)

// summary returns the metrics in the table of a run.
func summary() []string {
	return []string{"cost_usd", "cache_hit_ratio", "misses", "compactions", "chain_max", "peak_context_tokens", "added_latency_seconds"}
}

// chooseMetrics returns the metrics with names in the order of publication, all
// for no names.
func chooseMetrics(names []string) ([]results.Metric, error) {
	all := results.Metrics()
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, m := range all {
		known[i] = m.Name
	}
	var errs []error
	for i, name := range names {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, fmt.Errorf("unknown metric %q%s", name, nearest.Hint(name, known)))
		case slices.Contains(names[:i], name):
			errs = append(errs, fmt.Errorf("metric %q is named twice", name))
		}
	}
	return slices.DeleteFunc(all, func(m results.Metric) bool { return !slices.Contains(names, m.Name) }), errors.Join(errs...)
}

// kind is how the values of sessions make that of all of them.
type kind uint8

const (
	added   kind = iota
	divided      // a sum over another sum
	largest
	least
)

func kindOf(metric string) kind {
	switch metric {
	case "chain_max", "peak_context_tokens":
		return largest
	case "percent_left_least":
		return least
	}
	if divisionOf(metric) != nil {
		return divided
	}
	return added
}

// divisionOf returns the two sums whose ratio a metric is, nil for others.
func divisionOf(metric string) func(*results.Row) (part, base int64) {
	switch metric {
	case "cache_hit_ratio":
		return func(r *results.Row) (int64, int64) { return r.Usage.Read, r.Usage.Input() }
	case "call_hit_ratio":
		return func(r *results.Row) (int64, int64) { return int64(r.HitCalls), int64(r.LaterCalls) }
	case "percent_left":
		return func(r *results.Row) (int64, int64) { return r.Left.Sum, 100 * int64(r.Left.Calls) }
	}
	return nil
}
