package reports

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// grid is a table before it is rendered: names on the left, figures on the
// right.
type grid struct {
	title string // "" for the main table
	head  []field
	rows  [][]field
	left  []bool // columns whose texts stand to the left; the first always
}

// field is a text with the marks of its footnotes.
type field struct{ text, mark string }

// column is one column of figures: a metric, or something derived from the
// cell when metric is empty.
type column struct {
	title, metric string
	text          func(*results.Cell) string
}

// page is everything a report for people shows, in order.
type page struct {
	head  []string
	grids []grid
	notes []string
	trust string
}

func newPage(run *results.Run, o Options) page {
	shown, rest := selected(run, o.MaxCells)
	notes := &footnotes{notes: shown.Footnotes()}
	p := page{head: headLines(run), trust: trustLine(run)}
	if rest != "" {
		p.head = append(p.head, rest)
	}
	p.grids = append(p.grids, mainGrid(run, shown, notes))
	if o.Split {
		p.grids = append(p.grids, splitGrids(shown, notes)...)
		p.grids = append(p.grids, groupGrids(shown, notes)...)
		p.grids = append(p.grids, layerGrids(shown)...)
		p.grids = append(p.grids, breakGrids(shown)...)
	}
	p.notes = notes.lines()
	return p
}

// mainGrid lists the cells of shown, compared within all of run.
func mainGrid(run, shown *results.Run, notes *footnotes) grid {
	return newGrid("", shown, notes, []column{
		metricColumn(shown, "COST", "cost_usd"),
		{title: "VS RECORDED", text: func(c *results.Cell) string {
			text, _ := vsRecorded(run, c)
			return text
		}},
		metricColumn(shown, "HIT", "cache_hit_ratio"),
		metricColumn(shown, "MISSES", "misses"),
		metricColumn(shown, "COMPACTIONS", "compactions"),
		metricColumn(shown, "CHAIN", "chain_max"),
		metricColumn(shown, "PEAK", "peak_context_tokens"),
		metricColumn(shown, "WAIT", "added_latency_seconds"),
	})
}

// newGrid lays out one row for each cell: the strategy with the parameters that
// are swept, or the name of the cell when none are. In the main grid a note on a metric
// that has no column stands with the name of its cell.
func newGrid(title string, run *results.Run, notes *footnotes, columns []column) grid {
	shown := func(metric string) bool {
		return metric != "" && slices.ContainsFunc(columns, func(c column) bool { return c.metric == metric })
	}
	g := grid{title: title, head: []field{{text: "STRATEGY"}}}
	swept := sweptNames(run)
	for _, name := range swept {
		g.head = append(g.head, field{text: Printable(name)})
	}
	for _, col := range columns {
		g.head = append(g.head, field{col.title, notes.mark(func(n results.Note) bool {
			return n.Cell == "" && n.Metric != "" && n.Metric == col.metric
		})})
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		row := []field{{Printable(label(c, swept)), notes.mark(func(n results.Note) bool {
			return title == "" && n.Cell == c.Cell && !shown(n.Metric)
		})}}
		for _, name := range swept {
			row = append(row, field{text: Printable(c.Params[name])})
		}
		for _, col := range columns {
			row = append(row, field{col.text(c), notes.mark(func(n results.Note) bool {
				return n.Cell == c.Cell && n.Metric != "" && n.Metric == col.metric
			})})
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// label is what a cell is called in a table with columns of its own for swept
// parameters.
func label(c *results.Cell, swept []string) string {
	if len(swept) > 0 {
		return c.Strategy
	}
	return c.Cell
}

// metricColumn shows a published metric; cells without a sample stay empty.
func metricColumn(run *results.Run, title, name string) column {
	m, ok := results.LookupMetric(name)
	if !ok {
		return column{title: title, metric: name, text: func(*results.Cell) string { return "" }}
	}
	var values []float64
	for i := range run.Cells {
		if v, ok := run.Cells[i].Value(m); ok {
			values = append(values, v)
		}
	}
	format := formatter(m.Unit, values)
	return column{title: title, metric: name, text: func(c *results.Cell) string {
		v, ok := c.Value(m)
		if !ok {
			return ""
		}
		return format(v)
	}}
}

// splitGrids shows what the main figures are made of. Parts that are zero in
// every cell are left out, and so are tables without parts.
func splitGrids(run *results.Run, notes *footnotes) []grid {
	tokens := []string{"input_uncached_tokens", "cache_read_tokens", "cache_write_5m_tokens",
		"cache_write_1h_tokens", "cache_write_other_tokens", "output_tokens"}
	splits := []struct {
		title, total string
		parts        []string
	}{
		{"cost by token class", "cost_usd", append(partsOf("cost_usd", results.ByClass), "storage_usd")},
		{"tokens by class", "", tokens},
		{"cost by source", "cost_usd", append(partsOf("cost_usd", results.BySource), "storage_usd")},
		{"misses by class", "misses", partsOf("misses", results.ByClass)},
		{"added latency by part", "added_latency_seconds", partsOf("added_latency_seconds", results.ByPart)},
	}
	var grids []grid
	for _, s := range splits {
		var columns []column
		for _, name := range s.parts {
			if anyValue(run, name) {
				columns = append(columns, metricColumn(run, partTitle(name, s.total), name))
			}
		}
		if len(columns) == 0 {
			continue
		}
		if s.total != "" {
			columns = append(columns, metricColumn(run, "TOTAL", s.total))
		}
		grids = append(grids, newGrid(s.title, run, notes, columns))
	}
	return grids
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
	return strings.ToUpper(strings.ReplaceAll(name, "_", " "))
}

// anyValue reports whether a metric is not zero in some cell.
func anyValue(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		v, ok := c.Value(m)
		return ok && v != 0
	})
}
