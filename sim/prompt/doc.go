// Package prompt is the vocabulary of the simulator: what a request to a model
// is made of (blocks, entries, markers, edits), what comes back (usage,
// outcome), and the context that a strategy edits between calls.
//
// It knows no agent, no provider and no price. Token counts are true tokens
// (what the server would count) unless a name says estimate; times are int64
// nanoseconds on the simulated clock.
package prompt
