// Package reports writes the results of a run as tables and charts.
//
//	err := reports.Write(os.Stdout, run, reports.Options{}, "table")
//
// A report is written for a terminal ("table"), or as "markdown", "csv" or
// "json". Columns follow the metrics that results publishes. Reports for people
// have a frame: what was replayed above, footnotes below, and last the trust
// line, which says how far the model is from the bill of the same sessions. "?" and "~" mark
// differences that other sessions may not show (docs/compare.md).
package reports

import (
	"io"

	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/results"
)

// Options select what a report shows beyond one line for each cell.
type Options = charts.Options

// Write writes what the cells of a run cost, as "table", "markdown", "csv" or "json": a line for each, footnotes and the
// trust line. CSV has a line for each cell, or for each cell and session, with
// all metrics in their units; JSON is the published summary, see
// results.Document.
func Write(w io.Writer, run *results.Run, o Options, format string) error {
	return charts.Run(run, o).Write(w, format)
}

// Drawings returns the charts of a run, each with a file name: the cost of its
// cells, its sweeps and, given the calls of some cells, the context of one
// session and hits over time. Each draws itself as "svg", "png", "pdf" or "tex".
func Drawings(run *results.Run, calls []results.CellCalls) []charts.Drawing {
	return charts.Drawings(run, calls)
}
