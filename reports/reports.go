// Package reports writes the results of a run as tables and charts.
//
//	err := reports.Run(run, reports.Options{}).Write(os.Stdout, "table")
//
// A report is written for a terminal ("table"), or as "markdown", "csv" or
// "json". Columns follow the metrics that results publishes. Reports for people
// have a frame: what was replayed above, footnotes below, and last the trust
// line, which says how far the model is from the bill of the same sessions. A
// difference whose interval over sessions contains 0 is marked with ~.
package reports

import (
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/results"
)

// Options select what a report shows beyond one line for each cell.
type Options = charts.Options

// Run reports what the cells of a run cost: a line for each, footnotes and the
// trust line. CSV has a line for each cell, or for each cell and session, with
// all metrics in their units; JSON is the published summary, see
// results.Document.
func Run(run *results.Run, o Options) *document.Document { return charts.Run(run, o) }

// Drawings returns the charts of a run, each with a file name: the cost of its
// cells, its sweeps and, given the calls of some cells, the context of one
// session and hits over time. Each draws itself as "svg", "png", "pdf" or "tex".
func Drawings(run *results.Run, calls []results.CellCalls) []charts.Drawing {
	return charts.Drawings(run, calls)
}
