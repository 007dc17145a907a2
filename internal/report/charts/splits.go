package reports

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// splits shows the parts of the main figures. Parts that are zero in every cell
// and tables without parts are left out.
func (t *tables) splits() []*document.Table {
	tokens := []string{results.NameUncachedTokens, results.NameReadTokens, results.NameWrite5mTokens,
		results.NameWrite1hTokens, results.NameWriteOtherTokens, results.NameOutputTokens}
	var list []*document.Table
	for _, s := range []struct {
		title, total string
		parts        []string
	}{
		{"cost by token class", results.NameCost, append(partsOf(results.NameCost, results.ByClass), results.NameStorage)},
		{"tokens by class", "", tokens},
		{"cost by source", results.NameCost, append(partsOf(results.NameCost, results.BySource), results.NameStorage)},
		{"misses by class", results.NameMisses, partsOf(results.NameMisses, results.ByClass)},
		{"added latency by part", results.NameAddedLatency, partsOf(results.NameAddedLatency, results.ByPart)},
	} {
		columns := t.present(s.parts, s.total)
		if len(columns) == 0 {
			continue
		}
		if s.total != "" {
			columns = append(columns, t.metric("TOTAL", s.total))
		}
		list = append(list, t.table(s.title, columns, nil))
	}
	return list
}

// groups shows each group of metrics in its own table, without those that are
// zero in every cell.
func (t *tables) groups() []*document.Table {
	var list []*document.Table
	for _, group := range results.Groups() {
		var names []string
		for _, m := range results.Metrics() {
			if m.Group == group {
				names = append(names, m.Name)
			}
		}
		if columns := t.present(names, group); len(columns) > 0 {
			for i := range columns {
				columns[i].title = upper(columns[i].metric)
			}
			list = append(list, t.table(group, columns, nil))
		}
	}
	return list
}

// present returns the columns of the metrics that are not zero in every cell,
// with titles as parts of a total.
func (t *tables) present(names []string, total string) []column {
	var columns []column
	for _, name := range names {
		if anyValue(t.run, name) {
			columns = append(columns, t.metric(partTitle(name, total), name))
		}
	}
	return columns
}

// partsOf returns the names of the metrics that add up to one.
func partsOf(metric, by string) []string {
	var names []string
	for _, m := range results.Metrics() {
		if m.Of == metric && m.By == by {
			names = append(names, m.Name)
		}
	}
	return names
}

// partTitle shortens the name of a part to a column title: cost_usd_write_5m
// of cost_usd becomes WRITE 5M.
func partTitle(name, total string) string {
	name = strings.TrimPrefix(name, total+"_")
	for _, prefix := range []string{"input_", "cache_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	for _, suffix := range []string{"_tokens", "_usd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == prompt.MissEviction.String() { // of a bill: a miss without a visible cause
		name = "unexplained"
	}
	return upper(name)
}

func upper(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", " ")) }

// anyValue reports whether a metric is not zero in some cell.
func anyValue(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		v, ok := c.Value(m)
		return ok && v != 0
	})
}
