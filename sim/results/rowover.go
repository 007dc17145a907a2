package results

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// passOver leaves in l the names that are known and counts the others. What a row
// splits by source stays whole: an unknown source is one of the others. What else
// belongs to a sum is returned.
func (l *rowLine) passOver(p PassedOver) beyond {
	var over beyond
	other := SourceOther.String()
	for _, n := range strange(p, "calls_by_source", l.CallsBySource, NumSources, sourceName) {
		l.CallsBySource[other] += n
	}
	for _, u := range strange(p, "tokens_by_source", l.TokensBySource, NumSources, sourceName) {
		sum := prompt.Usage(l.TokensBySource[other])
		sum.Add(prompt.Usage(u))
		l.TokensBySource[other] = usageLine(sum)
	}
	for _, costs := range strange(p, "cost_usd_by_source", l.CostBySource, NumSources, sourceName) {
		if l.CostBySource[other] == nil {
			l.CostBySource[other] = map[string]float64{}
		}
		for class, usd := range costs {
			l.CostBySource[other][class] += usd
		}
	}
	for _, n := range strange(p, "misses_by_class", l.MissesByClass, prompt.NumMissClasses, missName) {
		over.misses += n
	}
	strange(p, "counts", l.Counts, NumCounts, countName)
	for _, seconds := range strange(p, "added_latency_seconds_by_part", l.Waits, NumWaits, waitName) {
		over.waits += seconds
	}
	strange(p, "seconds_at_level", l.SecondsAt, NumLevels, levelName)
	return over
}

// strange takes the names that are none of n out of m, counts them and returns
// their figures in the order of the names.
func strange[T any](p PassedOver, member string, m map[string]T, n int, name func(int) string) []T {
	known := map[string]bool{}
	for i := range n {
		known[name(i)] = true
	}
	var figures []T
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !known[k] {
			p[member+"."+k]++
			figures = append(figures, m[k])
			delete(m, k)
		}
	}
	return figures
}

// unmeasured returns the names that are those of metrics and groups, and counts
// the others: a cell need not say that it goes without a metric nobody knows.
func (p PassedOver) unmeasured(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if _, ok := LookupMetric(name); ok || slices.Contains(Groups(), name) {
			return false
		}
		p["cells.unmeasured."+name]++
		return true
	})
}

// metrics returns the names that are those of metrics, and counts the others: a
// later version knows more. It is nil for no list.
func (p PassedOver) metrics(names []string) []string {
	known := map[string]bool{}
	for _, m := range Metrics() {
		known[m.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if !known[name] {
			p["metrics."+name]++
		}
		return !known[name]
	})
}
