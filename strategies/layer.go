// Package strategies holds the ways of managing a context: the contract of a
// layer, triggers as data, one file per layer, and presets as embedded YAML.
//
// A layer implements only the hooks it needs. Hooks answer with an Outcome;
// model calls are intents the loop carries out. Layers never see prices.
package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Verdict is how a hook ended.
type Verdict uint8

// Answers of a hook.
const (
	Declined Verdict = iota // nothing to do, for the given reason
	Done                    // the layer changed the context
	Failed                  // the layer tried and could not, for the given reason
	Pending                 // waiting for the result of an intent
)

var verdictNames = [...]string{"declined", "done", "failed", "pending"}

// String returns the lower-case name used in reports.
func (v Verdict) String() string { return verdictNames[min(int(v), len(verdictNames)-1)] }

// Outcome is the answer of a hook. Reason is a constant string, so that
// answering costs nothing.
type Outcome struct {
	Verdict Verdict
	Reason  string
}

// Layer is one mechanism of context management on one thread. Its hooks are
// the further interfaces of this file that it implements.
type Layer interface {
	// Name is the name the registry knows the layer by.
	Name() string
	// Clone returns an independent copy with the same state, for a thread
	// that branches off.
	Clone() Layer
	// Reset brings the state back to that of a new thread.
	Reset()
}

// BeforeRequest is called before every request of the conversation, after the
// round's input was appended.
type BeforeRequest interface {
	BeforeRequest(*Turn) Outcome
}

// AfterResponse is called when a response has ended and was appended.
type AfterResponse interface {
	AfterResponse(*Turn) Outcome
}

// PromptTooLong is called when the server refused the request because the
// prompt does not fit the window. Done means: send again.
type PromptTooLong interface {
	PromptTooLong(*Turn) Outcome
}

// IntentResult is called with what became of the layer's intent. It may ask
// for another one and answer Pending.
type IntentResult interface {
	IntentResult(*Turn, *prompt.Result) Outcome
}

// AfterCompaction is called on every layer when one of them has compacted the
// context.
type AfterCompaction interface {
	AfterCompaction(*Turn)
}

// ThreadStart is called when the thread begins, its prefix in place.
type ThreadStart interface {
	ThreadStart(*Turn) Outcome
}

// Turn is what a layer sees of its thread at one point. It belongs to the loop
// and is only valid during the hook.
type Turn struct {
	Context *prompt.Context
	Blocks  []prompt.Block // of the session
	Tools   []string       // names by Block.Tool
	Objects []string       // paths by Block.Object
	Agent   string         // that made the recording
	Version string         // of its client
	Kind    traces.ThreadKind
	Thread  int32
	Round   int32
	Trigger traces.Trigger
	Now     int64 // ns on the session's clock
	Idle    int64 // ns since the last response ended
	// InputAt is the position of the first entry of this round's input. A
	// layer that moves it says so by setting it.
	InputAt int
	Excess  int64 // PromptTooLong: tokens above the window
	// Events are what the recording did to its context before this request.
	// A layer that does not replay the recording takes from them at most what
	// a person asked for.
	Events []traces.Event
	// Reading is the state the trigger measures are taken from.
	Reading Reading

	intent  prompt.Intent
	pending bool
	record  Boundary
	log     func(Check)
}

// BoundaryKind says what a layer did to the context.
type BoundaryKind uint8

// Things a layer does to the context.
const (
	BoundaryNone     BoundaryKind = iota
	BoundaryCompact               // messages replaced by a summary
	BoundaryMicro                 // tool results cleared
	BoundaryTruncate              // messages dropped
)

var boundaryNames = [...]string{"none", "compaction", "microcompaction", "truncation"}

// String returns the lower-case name used in reports.
func (k BoundaryKind) String() string { return boundaryNames[min(int(k), len(boundaryNames)-1)] }

// Boundary is what a compaction reports about itself. Counts are tokens.
type Boundary struct {
	Kind   BoundaryKind
	Manual bool
	// Replayed says that the recording did it: what it left is not the
	// layer's doing.
	Replayed bool
	Before   int64 // context before it, by the server's count
	After    int64 // context after it
	Chained  bool  // the compacted context already held a summary
	// Reported is what the client tells as its size afterwards: After, or
	// the usage of the summary call where the client takes that for it. Left
	// 0, it is After.
	Reported int64
	// Uncounted is how much a clearing takes off the client's count at once,
	// ahead of the next response's usage.
	Uncounted int64
	Cleared   int // tool results cleared
	Restored  int // files that came back
	Calls     int // summary calls made, failed ones included
	Retries   int // of them, repetitions with the oldest rounds dropped
	Fallbacks int // changes to another way of making the call
}

// Call asks the loop for a model call. The hook must answer Pending; the
// result comes to the layer's IntentResult.
func (t *Turn) Call(in prompt.Intent) Outcome {
	t.intent, t.pending = in, true
	return Outcome{Verdict: Pending}
}

// Compacted reports a compaction, which the loop counts and tells to every
// layer.
func (t *Turn) Compacted(b Boundary) {
	if b.Kind == BoundaryNone {
		b.Kind = BoundaryCompact
	}
	if b.Reported == 0 {
		b.Reported = b.After
	}
	t.record = b
}

// Intent returns the call a hook asked for, if any, and forgets it. It is for
// the loop.
func (t *Turn) Intent() (prompt.Intent, bool) {
	in, asked := t.intent, t.pending
	t.intent, t.pending = prompt.Intent{}, false
	return in, asked
}

// Boundary returns what a hook reported about the context, and forgets it. It
// is for the loop.
func (t *Turn) Boundary() Boundary {
	b := t.record
	t.record = Boundary{}
	return b
}

// Watch makes the turn report every trigger it evaluates; nil turns that off.
func (t *Turn) Watch(f func(Check)) { t.log = f }
