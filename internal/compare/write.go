package compare

import (
	"fmt"
	"io"
	"strings"
)

// WriteOptions select what Write shows.
type WriteOptions struct {
	// All shows every metric that a side has, not only those of the table of a
	// run and those that differ, and comparisons in which nothing differs too.
	All bool
}

// Formats returns the names that Write takes.
func Formats() []string { return []string{"table", "markdown", "csv", "json", "benchfmt"} }

// Write writes r in a format of Formats: a table for a terminal, Markdown for a
// comment on a pull request, a line for each metric, a document, or the Go
// benchmark format with a line for each session.
func Write(w io.Writer, format string, r *Report, o WriteOptions) error {
	switch format {
	case "table":
		return r.table(w, o)
	case "markdown":
		return r.markdown(w, o)
	case "csv":
		return r.csv(w, o)
	case "json":
		return r.json(w, o)
	case "benchfmt":
		return r.benchfmt(w, o)
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}
