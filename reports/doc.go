// Package reports turns results into documents and charts.
//
// A report is a document (internal/document) that is written as text for a
// terminal, Markdown, CSV or JSON:
//
//	err := reports.Run(run, reports.Options{}).Write(os.Stdout, "table")
//
// Columns follow the metrics that results publishes. What people read carries one
// frame: what was replayed above, footnotes below, and last the trust line, which
// says how far the model is from what was billed on the same sessions. Savings
// smaller than that are marked with ~.
package reports
