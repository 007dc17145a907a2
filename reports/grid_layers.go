package reports

import (
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// groupGrids shows each group of metrics in a table of its own. Metrics that
// are zero in every cell are left out, and so are groups without others.
func groupGrids(run *results.Run, notes *footnotes) []grid {
	var grids []grid
	for _, group := range results.Groups() {
		var columns []column
		for _, m := range results.Metrics() {
			if m.Group == group && anyValue(run, m.Name) {
				title := strings.ToUpper(strings.ReplaceAll(m.Name, "_", " "))
				columns = append(columns, metricColumn(run, title, m.Name))
			}
		}
		if len(columns) > 0 {
			grids = append(grids, newGrid(group, run, notes, columns))
		}
	}
	return grids
}

// layerGrids shows how often each layer acted, and why layers failed or refused
// to, a line for each layer and reason. A table without lines is left out.
func layerGrids(run *results.Run) []grid {
	firings := listGrid("firings by layer", run, []string{"LAYER", "FIRINGS"},
		func(t *results.Row) map[string]int { return t.Firings },
		func(name string) []string { return []string{name} })
	reasons := listGrid("why layers did not act", run, []string{"LAYER", "REASON", "TIMES"},
		func(t *results.Row) map[string]int { return t.Reasons },
		func(name string) []string {
			layer, reason, _ := strings.Cut(name, ": ")
			return []string{layer, reason}
		})
	return slices.DeleteFunc([]grid{firings, reasons}, func(g grid) bool { return len(g.rows) == 0 })
}

// listGrid lays out a line for each cell and each of its counts by name, in the
// order of the names. split makes texts for the columns ahead of the count.
func listGrid(title string, run *results.Run, head []string, counts func(*results.Row) map[string]int, split func(string) []string) grid {
	g := grid{title: title, head: []field{{text: "STRATEGY"}}}
	swept := sweptNames(run)
	for _, name := range append(slices.Clone(swept), head...) {
		g.head = append(g.head, field{text: Printable(name)})
	}
	g.left = make([]bool, len(g.head))
	for i := 1 + len(swept); i < len(g.head)-1; i++ {
		g.left[i] = true
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		list := counts(&c.Total)
		for _, name := range slices.Sorted(maps.Keys(list)) {
			row := []field{{text: Printable(label(c, swept))}}
			for _, p := range swept {
				row = append(row, field{text: Printable(c.Params[p])})
			}
			for _, text := range split(name) {
				row = append(row, field{text: Printable(text)})
			}
			g.rows = append(g.rows, append(row, field{text: Grouped(float64(list[name]), 0)}))
		}
	}
	return g
}
