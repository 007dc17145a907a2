// Package studies holds the documents that go beyond the rows of a run:
// ablations, chains of compactions, explanations of single sessions, findings
// about claims, and fleets.
package studies
