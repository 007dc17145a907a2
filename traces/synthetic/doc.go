// Package synthetic makes coding-agent sessions to measure: a Profile says how
// a session behaves, Generate plans it, and the plan is written in Claude
// Code's own JSONL.
//
// A plan knows what no recording tells: the true tokens of every block. The
// usage it logs is what a prompt cache that never evicts would have billed for
// those tokens. Every draw is keyed by seed, purpose and place, so a change to
// one field of a profile leaves the draws of the others as they were.
//
// Samples are five such sessions, embedded, for a first run without recordings.
//
// A Workload describes a corpus instead of a session. Its Generator emits
// sessions in the parsed form, millions of calls a second; Transcripts writes one
// of them as JSONL that reads back as the same session. FitWorkload takes a
// workload from recordings, and Observe measures by what two corpora compare.
package synthetic

//go:generate go run ./internal/gen
