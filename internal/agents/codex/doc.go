// Package codex reads the rollouts of the Codex CLI: JSON lines of a time
// stamp, a type and a payload, one file per session.
//
// Reading has three stages. A file is scanned into items, which drops all text
// but keeps its digest and length. The items between two token counts are the
// input of a call and its reply: a token_count line with new totals is what
// makes a call. Then the recorded totals are laid over the blocks: see fit.go.
//
// A rollout does not log the ids of responses. A call is named by the id the
// server gave to the first item of its reply, which copies of the rollout (a
// forked session begins with its parent's history) repeat; without one by the
// session and the number of the call.
package codex
