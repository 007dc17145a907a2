// Package synthetic makes coding-agent sessions to measure. A [Workload]
// describes a corpus: turns, tool mix, sizes and times as distributions. A
// [Generator] draws its sessions in the parsed form, millions of calls a
// second, and [Workload.Transcripts] writes one of them as Claude Code's JSONL,
// which reads back as the same session.
//
// Every draw is keyed by seed, purpose and place, so a change to one field of a
// workload leaves the draws of the others as they were.
//
// [FitWorkload] takes a workload from recorded sessions, and [Observe] measures
// the dimensions by which two corpora are compared.
package synthetic

import (
	"embed"
	"io/fs"
)

// The files under samples are data: nothing makes them anew. The profile of the
// same name describes each of them, and generates sessions like it.
//
//go:embed all:samples
var samples embed.FS

// Samples returns five embedded sessions for a first run without recordings,
// gzip-compressed as Claude Code's JSONL: one folder for each, named after the
// profile that describes it and laid out as a project's folder of Claude Code
// ("short-fix/<session>.jsonl.gz",
// "fan-out/<session>/subagents/agent-<id>.jsonl.gz").
func Samples() fs.FS {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		return samples
	}
	return sub
}
