// Package claudecode reads the transcripts of Claude Code: JSON lines, one per
// content block, in files of their own for sub-agents in some versions and
// inside the parent's file in others.
//
// Reading has three stages. A source (file) is scanned into records, which
// drops all text but keeps its digest and length. The records of a session,
// from whatever files, are split into streams (main conversation, sub-agents),
// ordered into a tree and its threads, and grouped into rounds. Then the
// recorded token totals are laid over the blocks: see fit.go.
package claudecode
