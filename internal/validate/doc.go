// Package validate holds the model against recordings: every call of the
// recorded conversation is predicted and compared with what was billed.
//
// The policy is recorded: compactions, microcompactions, model switches, rewinds
// and sub-agents happen where the recording has them, and the total of every
// request is the recording's. What is predicted is how the server split it into
// read, written and uncached tokens. First calls of a thread are kept apart:
// what other sessions left in the cache decides them.
package validate
