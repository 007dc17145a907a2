// Package reports turns results into something to look at: tables, Markdown,
// CSV, JSON and charts.
//
// All outputs derive their columns from the metrics that results publishes,
// and all that are for people carry the same frame: what was replayed above,
// footnotes below, and last the trust line, which says how far the model is
// from what was billed on the same sessions. Savings smaller than that are
// marked with ~.
package reports
