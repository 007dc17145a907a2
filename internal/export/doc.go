// Package export writes the rows of runs as tables for other programs: JSON
// lines, CSV and Parquet with the same columns, and a pseudonymised form of a
// run for whoever is not to see where it comes from.
//
// A table has one row for each run, cell and session. Its columns are those of
// the metrics that package results publishes, behind what names the row and
// ahead of parameters and the counts of layers; docs/schema.md lists them. A
// figure without a sample is null in JSON and Parquet and empty in CSV, never
// 0. Equal runs give equal bytes in every format.
//
// What the figures depend on is in the key-value metadata of a Parquet file.
// JSON lines and CSV have no place for it: Table.Describe writes it for a file
// beside them.
package export
