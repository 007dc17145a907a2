package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/sim/results"
)

// CSV writes one line for each cell, or with Options.PerSession for each cell
// and session: cell, strategy, a column param.NAME for each parameter, the
// session, the number of sessions and all metrics in their units. A metric
// without a sample is empty.
func CSV(w io.Writer, run *results.Run, o Options) error {
	params := paramNames(run)
	metrics := results.Metrics()
	cw := csv.NewWriter(w)
	if err := cw.Write(csvHead(params, metrics, o)); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		rows := []results.Row{c.Total}
		rows[0].Sessions = c.Sessions
		if o.PerSession {
			rows = c.Rows
		}
		for j := range rows {
			if err := cw.Write(csvLine(c, &rows[j], params, metrics, o)); err != nil {
				return fmt.Errorf("writing CSV: %w", err)
			}
		}
	}
	cw.Flush()
	if err := cw.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func csvHead(params []string, metrics []results.Metric, o Options) []string {
	head := []string{"cell", "strategy"}
	for _, p := range params {
		head = append(head, "param."+p)
	}
	if o.PerSession {
		head = append(head, "session")
	}
	head = append(head, "sessions")
	for _, m := range metrics {
		head = append(head, m.Name)
	}
	return head
}

func csvLine(c *results.Cell, r *results.Row, params []string, metrics []results.Metric, o Options) []string {
	line := []string{c.Cell, c.Strategy}
	for _, p := range params {
		line = append(line, c.Params[p])
	}
	if o.PerSession {
		line = append(line, r.Session)
	}
	line = append(line, strconv.Itoa(r.Sessions))
	for _, m := range metrics {
		text := ""
		if v, ok := c.RowValue(r, m); ok {
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		line = append(line, text)
	}
	return line
}

// paramNames returns the parameters of all cells, sorted.
func paramNames(run *results.Run) []string {
	set := map[string]bool{}
	for i := range run.Cells {
		for name := range run.Cells[i].Params {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
