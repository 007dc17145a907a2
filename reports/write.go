package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// Options select what a report shows beyond one line for each cell.
type Options struct {
	Split      bool // tables of cost and tokens by token class, cost by source, misses by class
	PerSession bool // CSV: a row for each cell and session instead of each cell
	// MaxCells is the most cells that tables for people list, 0 for all: of
	// more they show the cheapest and the dearest.
	MaxCells int
}

// Formats returns the names that Write takes.
func Formats() []string { return []string{"table", "markdown", "csv", "json"} }

// Write writes run in a format of Formats.
func Write(w io.Writer, format string, run *results.Run, o Options) error {
	switch format {
	case "table":
		return Table(w, run, o)
	case "markdown":
		return Markdown(w, run, o)
	case "csv":
		return CSV(w, run, o)
	case "json":
		return JSON(w, run)
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}

// JSON writes the published summary of run, see results.Document.
func JSON(w io.Writer, run *results.Run) error {
	d, err := run.Document()
	if err != nil {
		return err
	}
	return results.WriteDocument(w, d)
}
