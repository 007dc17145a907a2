// Package calls is the table of a session's recorded calls: one line each, with what was
// billed, what the previous call had left in the cache and this one did not read, why, and
// beside it what the cache model expects of the same request.
//
//	table := calls.Of(session, prices)
//	row, err := loop.Predict(table, config) // the columns of the model, where they are asked for
//
// What a call had in the cache and did not read is missed, and costs the difference between
// writing and reading it. The causes are those the recording shows: logged events, the model,
// and the pause compared with the billed lifetime. Audits, validations, explanations and the
// counts of misses of billed rows are projections of this table.
package calls

import (
	"math"

	"github.com/compactsim/compactsim/internal/results/confusion"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Table has the recorded calls of a session.
type Table struct {
	Session *traces.Session
	Threads [][]Call // by thread and round
	// Summaries are the logged summary calls of compactions, in the order of
	// Session.Summaries. They belong to no thread.
	Summaries []Call
}

// Call is one recorded call.
type Call struct {
	Session  *traces.Session
	Thread   *traces.Thread
	Index    int32         // of the thread
	Round    int32         // of the thread
	Recorded *traces.Round // usage, file and line
	Source   results.Source
	// Before is the call that left the context which this one continues: the previous one of
	// its thread, or for the first of a branch the one it leaves; nil for none.
	Before  *Call
	At, End int64 // unix ns of request and end of response; 0 when unknown
	Back    bool  // the clock ran back just before it
	Untimed bool
	Gap     int64      // ns of the pause of people and tools before it; −1 for first calls and if unknown
	Tier    prompt.TTL // lifetime of what was in the cache before it
	Acted   Events     // what the agent did to its context before the request
	Out     bool       // outside the reported period: it is compared, and costs nothing

	Model    *Price
	Cost     results.Cost // USD, by class
	PerToken results.Cost // USD a token, by class
	Left     int64        // tokens the previous call of the thread had left in the cache
	Missed   int64        // of these, tokens sent again and not read
	MissUSD  float64      // paid for writing them instead of reading

	Reason confusion.Reason // of the client's break detector

	Predicted *Prediction // nil until loop.Predict, and for a call that the model does not reach

	// Plain says that writes to the cache are billed as plain input (agents.Unwritten).
	Plain bool

	ahead int64 // tokens before the first block that was cleared; −1 if unknown
	think bool  // the client switched thinking on or off and keeps the messages of both apart
}

// Events is a set of kinds of event.
type Events uint8

// Has reports whether a kind is in the set.
func (e Events) Has(k traces.EventKind) bool { return e&(1<<k) != 0 }

// First reports whether the call is the first of its thread.
func (c *Call) First() bool { return c.Round == 0 }

// Automatic reports whether the provider caches by itself, in steps, and bills
// no writes.
func (c *Call) Automatic() bool { return agents.Automatic(c.Session) }

// Name returns the name of the call (traces.CallName).
func (c *Call) Name() string { return traces.CallName(c.Session.ID, c.Recorded.File, c.Recorded.Line) }

// File returns the file of the call's line, "" if unknown.
func (c *Call) File() string {
	if int(c.Recorded.File) < len(c.Session.Files) {
		return c.Session.Files[c.Recorded.File]
	}
	return ""
}

// Fresh returns the price of a token that was not read, USD, as the call paid it.
func (c *Call) Fresh() float64 {
	u := &c.Recorded.Usage
	n := u.Uncached + u.Writes()
	if n == 0 {
		return c.PerToken[results.ClassUncached]
	}
	return (c.Cost[results.ClassUncached] + c.written()) / float64(n)
}

// written returns what the call paid for writing, USD.
func (c *Call) written() float64 {
	return c.Cost[results.ClassWrite5m] + c.Cost[results.ClassWrite1h] + c.Cost[results.ClassWriteOther]
}

// WritePrice returns the price of a written token in a call, USD; for a call
// that wrote nothing, the price of the lifetime in force.
func (c *Call) WritePrice() float64 {
	if n := c.Recorded.Usage.Writes(); n > 0 {
		return c.written() / float64(n)
	}
	if c.Tier == prompt.TTL1h {
		return c.PerToken[results.ClassWrite1h]
	}
	return c.PerToken[results.ClassWrite5m]
}

// Leaves returns the tokens a call leaves in the cache: what it read and wrote, or all that
// was sent where the provider caches by itself and logs no writes.
func (c *Call) Leaves() int64 {
	u := &c.Recorded.Usage
	if c.Plain || c.Automatic() {
		return u.Input()
	}
	return u.Read + u.Writes()
}

// Billed returns the lifetime that a call was billed for, or that of what it read when it
// wrote nothing.
func (c *Call) Billed() prompt.TTL {
	switch u := &c.Recorded.Usage; {
	case u.Write1h > 0:
		return prompt.TTL1h
	case u.Writes() > 0:
		return prompt.TTL5m
	}
	return c.Tier
}

// Switched reports whether the call goes to another model than the one before it.
func (c *Call) Switched() bool { return c.Before != nil && c.Recorded.Model != c.Before.Recorded.Model }

// Continues reports whether the call goes on where the one before it ended: by the same model,
// within the lifetime, with the context as it was left.
func (c *Call) Continues() bool {
	edited := c.Acted.Has(traces.EventCompact) || c.Acted.Has(traces.EventMicrocompact) || c.Acted.Has(traces.EventShrink)
	back := c.Thread.Kind == traces.ThreadBranch && c.First()
	return c.Before != nil && !edited && !back && !c.Switched() && c.Recorded.Wait <= profile.Life(c.Tier)
}

// Prompted reports whether the call answers a person, a refused tool call with words included.
func (c *Call) Prompted() bool {
	return c.Recorded.Trigger == traces.TriggerPrompt || c.Session.Content(c.Recorded).Person
}

// near is the tolerance of Near, as a share of the context.
const near = 0.01

// Near reports whether a read, tokens, is within 1 % of the context of the recorded one.
func (c *Call) Near(read int64) bool {
	u := &c.Recorded.Usage
	return math.Abs(float64(read-u.Read)) <= near*float64(u.Input())
}
