// Package reports turns results into documents and charts, see package reports that
// others can import: it has what this one says of runs.
package reports
