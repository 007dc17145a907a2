package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
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
			errs = append(errs, unknownMetric(name, known))
		case slices.Contains(names[:i], name):
			errs = append(errs, fmt.Errorf("metric %q is named twice", name))
		}
	}
	return slices.DeleteFunc(all, func(m results.Metric) bool { return !slices.Contains(names, m.Name) }), errors.Join(errs...)
}

// unknownMetric names the metrics that may be meant: those that hold the name, or
// the nearest one.
func unknownMetric(name string, known []string) error {
	hint := nearest.Hint(name, known)
	holding := slices.DeleteFunc(slices.Clone(known), func(x string) bool { return name == "" || !strings.Contains(x, strings.ToLower(name)) })
	if len(holding) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", document.Few(holding))
	}
	return fmt.Errorf("unknown metric %q%s; docs/schema.md describes all there are", name, hint)
}
