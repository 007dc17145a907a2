package strategies

import (
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Client is who made the recording.
type Client struct {
	Agent   string // as in traces.Session
	Version string
	Variant string // as in traces.Session
	Entry   string // how it was started, as in traces.Session
}

// Turn is what a layer sees of its thread at one point. It belongs to the loop
// and is only valid during the hook.
type Turn struct {
	Context *prompt.Context
	Blocks  []prompt.Block // of the session
	Tools   []string       // names by Block.Tool
	Objects []string       // paths by Block.Object
	Client
	Model string // of the round
	// Waits says that the client's version compacts conversations of the model by itself only where the server refuses a
	// request (client.WaitsForRefusal), and that the recording shows nothing else.
	Waits bool
	// Announced is what the client tells the model of its own accord behind a compaction.
	Announced signs.Announced
	// Files says what the recording shows of files.
	Files struct {
		// PerByte returns the tokens of a byte of an object's contents, 0 for unknown; nil where no recording shows any.
		PerByte func(object int32) float64
		// Newer reports whether one file, by its object, is newer on disk than another, which the session has not changed
		// either; nil where the recording shows none.
		Newer func(x, y int32) bool
	}
	Listing int32    // of all skills when the conversation opens, tokens; 0 if the recording shows none
	User    *User    // what sessions of one user share; nil where there is none
	Carried *Carried // what the thread's client keeps beside the messages; nil where each layer keeps its own
	// Profile is what recordings show of the client; nil where there is none.
	Profile *profile.Profile
	Kind    traces.ThreadKind
	Session int32 // index among the sessions of the user, as in User
	Epoch   int64 // when the session began, unix ns; 0 when unknown
	Thread  int32
	Round   int32
	Trigger traces.Trigger
	// Parent is the thread this one started from, -1 for none.
	Parent int32
	// Running are the sub-agents started from this thread that are still at work, or have
	// ended in the background and were not yet reported (000:558).
	Running int32
	// Forked says that the thread began with its parent's context.
	Forked bool
	// Gap says that the thread is between a response and the next input: only then may Timer answer Pending.
	Gap  bool
	Now  int64 // ns on the session's clock
	Idle int64 // ns since the last response ended
	// Life is how long an entry of the lifetime class the thread uses now
	// stays in the cache unused, as documented, ns; TTL is the class.
	Life int64
	TTL  exchange.TTL
	// Usage is the usage of the thread's last response; zero before the first.
	Usage prompt.Usage
	// Deleted are the tokens the server has deleted from the thread's requests
	// so far (cache_deleted_input_tokens), cumulative.
	Deleted int64
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

	Kin  *Kin // the strategies that the simulation stands for; nil for its own alone
	Host      // set once by the loop

	intent     prompt.Intent
	pending    bool
	await      int64
	background []prompt.Intent
	record     Boundary
	log        func(Check)
}

// Call asks the loop for a model call. The hook must answer Pending; the
// result comes to the layer's IntentResult.
func (t *Turn) Call(in prompt.Intent) Outcome {
	t.intent, t.pending = in, true
	return Outcome{Verdict: Pending}
}

// Compacted reports a compaction, which the loop counts and passes to every
// layer.
func (t *Turn) Compacted(b Boundary) {
	if b.Kind == boundaryNone {
		b.Kind = BoundaryCompact
	}
	if b.Reported == 0 {
		b.Reported = b.After
	}
	if a := &t.record; a.Kind == BoundaryCompact && b.Kind == BoundaryMicro { // what the same hook clears behind a compaction belongs to that
		a.Reported += b.After - a.After
		a.After, a.Cleared = b.After, a.Cleared+b.Cleared
		return
	}
	t.record = b
}

// Background asks for a call beside the conversation, which goes on meanwhile.
// The result comes to the layer's BackgroundResult; Ordinal separates calls of
// one layer at one point. Context and layer state may have changed by then:
// refer to entries by id.
func (t *Turn) Background(in prompt.Intent) { t.background = append(t.background, in) }

// Await makes the conversation wait for a background call of the layer: the
// hook is called again when one has ended, and at the time until (ns on the
// session's clock) at the latest. Only BeforeRequest may wait so.
func (t *Turn) Await(until int64) Outcome {
	t.await = until
	return Outcome{Verdict: Waiting}
}

// Awaited returns until when a hook wants to wait, and forgets it. Only the loop calls
// it.
func (t *Turn) Awaited() int64 {
	until := t.await
	t.await = 0
	return until
}

// TakeBackground returns the background calls a hook asked for, and forgets them. The
// list is valid until the next hook. Only the loop calls it.
func (t *Turn) TakeBackground() []prompt.Intent {
	list := t.background
	t.background = t.background[:0]
	return list
}

// Host is what the loop does for a layer besides calls. Layers use it through the
// turn.
type Host interface {
	// Count adds to the counts of the row.
	Count(id measures.ID, n int64)
	// Refuse counts that a layer could have acted and did not, by reason.
	Refuse(layer, reason string) Outcome
	// Delete asks the server to leave the entry with an id out of this and all
	// later requests without changing the cached prefix (cache_edits). The
	// context keeps it.
	Delete(id int32)
	// Undelete takes a deletion back: the next request sends the entry whole.
	Undelete(id int32)
	// IsDeleted reports whether a deletion of the entry is in force.
	IsDeleted(id int32) bool
	// SetMemory sets the content of the index of memory files. It is in a memoised
	// section: requests show it after the next compaction.
	SetMemory(tokens int32, content prompt.Digest)
	// Post sends a message to other threads of the session.
	Post(m Message)
	// Draw returns a uniform number in [0, 1) that belongs to this round, the
	// layer and the ordinal: an inserted call or another layer shifts nothing.
	Draw(layer string, ordinal uint8) float64
}

// Message is what one agent sends to another.
type Message struct {
	To     int32 // the thread that reads it, or ToSiblings
	Tokens int32
	// Mailbox says that it goes to a file, which the reader looks into at its next
	// prompt; else it joins the input of the reader's next round.
	Mailbox bool
}

// ToSiblings addresses every other sub-agent at work of the same parent.
const ToSiblings int32 = -2

// Warm reports whether the client takes the thread's cache for warm: it has had
// a response, and the lifetime has not passed since.
func (t *Turn) Warm() bool { return t.Usage.Input() > 0 && t.Idle <= t.Life }

// Intent returns the call a hook asked for, if any, and forgets it. Only the loop calls
// it.
func (t *Turn) Intent() (prompt.Intent, bool) {
	in, asked := t.intent, t.pending
	t.intent, t.pending = prompt.Intent{}, false
	return in, asked
}

// Reported reports whether a hook reported something about the context since the last call
// of Boundary. Only the loop calls it.
func (t *Turn) Reported() bool { return t.record.Kind != boundaryNone }

// Boundary returns what a hook reported about the context, and forgets it. Only the loop
// calls it.
func (t *Turn) Boundary() Boundary {
	b := t.record
	t.record = Boundary{}
	return b
}

// Watch makes the turn report every trigger it evaluates; nil turns that off.
func (t *Turn) Watch(f func(Check)) { t.log = f }

// User is what the sessions of one user share beside the cache: the sessions of one project, where
// the memory files lie. The zero value is a user without a past.
type User struct {
	// Ends are the times at which sessions of the user last had a response, ns
	// since the epoch, by the order of the sessions; 0 for a session that has not begun.
	Ends []int64
	// Live are the sessions that have begun and not ended.
	Live []bool
	// Dream is the lock of the consolidation that all sessions share.
	Dream dreamLock
	// Memory is the index of the memory files that all sessions share.
	Memory memoryIndex
}

// dreamLock is the lock file of the background consolidation: it holds the time of the last
// consolidation, and whoever runs one now.
type dreamLock struct {
	Last   int64 // ns since the epoch: the lock's mtime; 0 for never
	Holder int32 // 1 + index of the session that holds the lock, 0 for none
	Before int64 // mtime before the dream under way, which another session may still see
}

// memoryIndex is the file that lists the memory files, a line each (MEMORY.md).
type memoryIndex struct {
	Lines  int32
	Change uint32 // how often it has changed
}

// lives reports whether a session has begun and not ended.
func (u *User) lives(session int32) bool {
	return session >= 0 && int(session) < len(u.Live) && u.Live[session]
}

// since counts the sessions, except but, that had a response after time, ns since the
// epoch; but is -1 to count all.
func (u *User) since(time int64, but int32) int {
	n := 0
	for i, end := range u.Ends {
		if end > time && int32(i) != but {
			n++
		}
	}
	return n
}
