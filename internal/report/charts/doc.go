// Package reports turns results into documents and charts. The public package
// reports exports what it has for runs.
package reports
